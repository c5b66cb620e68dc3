import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../../shared/catalog/errors.ts";
import type { Clock } from "../../../shared/time.ts";
import { checkHost, securityHeaders } from "./access.ts";
import { hostCheck, isOwnPage, sourceHeaders } from "./origin-check.ts";
import { SESSION_IDLE_MS, type Session, Sessions } from "./sessions.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * What may be called without a session: a "file" holds no data; a "log-in" begins a session and
     * needs the page's own origin.
     */
    open?: "file" | "log-in";
  }
  interface FastifyRequest {
    /** The session of the request; null: it has none, or was not checked yet. */
    session: Session | null;
  }
}

/**
 * Installs the checks of requests from pages that this program serves (docs/console.md 2): each
 * brings a session's token in place of a login, and comes from a page of this port. A browser adds
 * neither by itself, so no other page can use a session. Returns the sessions, which end with the
 * server.
 */
export function installSessionDoor(
  app: FastifyInstance,
  { port, clock }: { readonly port: number; readonly clock: Clock },
  idleMs = SESSION_IDLE_MS,
): Sessions {
  const sessions = new Sessions(clock, idleMs);
  const isOurHost = hostCheck(port);
  app.addHook("preClose", (done) => {
    sessions.endAll();
    done();
  });
  app.decorateRequest("session", null);
  app.addHook("onRequest", (request, reply, done) => {
    void reply.headers(securityHeaders);
    checkHost(request, isOurHost);
    const { open } = request.routeOptions.config;
    if (open !== "file" && !isOwnPage(sourceHeaders(request), open === "log-in")) {
      throw new AppError("ORIGIN_REFUSED");
    }
    if (open === undefined) letIn(app, sessions, request, reply);
    done();
  });
  return sessions;
}

function letIn(
  app: FastifyInstance,
  sessions: Sessions,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const isActive = request.headers["user-active"] === "yes";
  const session = sessions.find(tokenOf(request), isActive);
  if (!session) throw new AppError("UNAUTHORIZED", "The session is over: log in again.");
  app.connections.trust(request.raw.socket);
  request.role = session.role;
  request.session = session;
  if (!request.routeOptions.config.call?.streams) return;
  const { raw } = reply;
  const cut = () => raw.end();
  session.over.addEventListener("abort", cut);
  raw.once("close", () => session.over.removeEventListener("abort", cut));
}

/** Returns the token of a request; empty: there is none. */
export function tokenOf({ headers }: FastifyRequest): string {
  return /^Bearer ([\w-]{1,100})$/.exec(headers.authorization ?? "")?.[1] ?? "";
}
