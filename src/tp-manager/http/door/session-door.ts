import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../../../shared/catalog/errors.ts";
import type { Clock } from "../../../shared/time.ts";
import { checkHost, securityHeaders } from "./access.ts";
import { isOwnPage } from "./origin-check.ts";
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
    /** The session of the request; null: it has none, or has not been checked yet. */
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
  app.addHook("preClose", (done) => {
    sessions.endAll();
    done();
  });
  app.decorateRequest("session", null);
  app.addHook("onRequest", (request, reply, done) => {
    void reply.headers(securityHeaders);
    checkHost(request, port);
    const { open, call } = request.routeOptions.config;
    if (open !== "file" && !isOwnPage(request.headers, open === "log-in")) {
      throw new AppError("ORIGIN_REFUSED");
    }
    if (open !== undefined) return done();
    const session = sessions.find(tokenOf(request), request.headers["user-active"] === "yes");
    if (!session) throw new AppError("UNAUTHORIZED", "The session is over: log in again.");
    app.connections.trust(request.raw.socket);
    request.role = session.role;
    request.session = session;
    if (call?.streams) endStream(session.over, reply.raw);
    done();
  });
  return sessions;
}

/** Ends a stream when the session of its reader is over. */
function endStream(over: AbortSignal, stream: ServerResponse): void {
  const cut = () => stream.end();
  over.addEventListener("abort", cut);
  stream.once("close", () => over.removeEventListener("abort", cut));
}

/** Returns the token of a request; empty: there is none. */
export function tokenOf({ headers }: FastifyRequest): string {
  return /^Bearer ([\w-]{1,100})$/.exec(headers.authorization ?? "")?.[1] ?? "";
}
