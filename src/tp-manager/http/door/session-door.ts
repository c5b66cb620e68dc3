import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../../shared/catalog/errors.ts";
import type { Clock } from "../../../shared/time.ts";
import { checkHost, securityHeaders } from "./access.ts";
import { hostCheck, isOwnPage, sourceHeaders } from "./origin-check.ts";
import { SESSION_IDLE_MS, type Session, Sessions } from "./sessions.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * Open without a session: "file" holds no data, "log-in" begins a session and asks for the
     * page's own origin.
     */
    open?: "file" | "log-in";
  }
  interface FastifyRequest {
    /** null: the request came by another door, or before the door. */
    session: Session | null;
  }
}

/**
 * The door of pages that this program serves (docs/console.md 2): instead of a login each request
 * brings the token of a session, and comes from a page of this very port. A browser adds neither
 * by itself, so no other page can use a session. Returns the sessions, which end with the server.
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

/** The token that a request brings; empty without one. */
export function tokenOf({ headers }: FastifyRequest): string {
  return /^Bearer ([\w-]{1,100})$/.exec(headers.authorization ?? "")?.[1] ?? "";
}
