import { hash, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../../../shared/catalog/errors.ts";
import type { Clock, Timer } from "../../../shared/time.ts";
import type { Role } from "../call.ts";
import { checkHost, isOwnPage, securityHeaders } from "./access.ts";

/** After this time without a key press or pointer movement a session ends. */
export const SESSION_IDLE_MS = 15 * 60_000;
/** The most sessions; a new session ends the session that was idle longest. */
const SESSIONS_MAX = 32;
const TOKEN_BYTES = 32;

interface Session {
  readonly login: string;
  readonly role: Role;
  /** Aborted when the session is over, so that its open streams end. */
  readonly over: AbortSignal;
}

interface Kept extends Session {
  readonly end: AbortController;
  lastActiveMs: number;
  timer: Timer;
}

/**
 * The sessions of pages that this program serves (docs/console.md 2). They are in memory only, so a
 * restart ends all sessions. Of each token only a digest is stored.
 */
export class Sessions {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #byDigest = new Map<string, Kept>();

  constructor(clock: Clock, idleMs = SESSION_IDLE_MS) {
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  /** Opens a session and returns its secret token, which cannot be read again later. */
  open(login: string, role: Role): string {
    const [oldest] = [...this.#byDigest].sort(([, a], [, b]) => a.lastActiveMs - b.lastActiveMs);
    if (oldest && this.#byDigest.size >= SESSIONS_MAX) this.#end(oldest[0]);
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const digest = digestOf(token);
    const end = new AbortController();
    this.#byDigest.set(digest, { login, role, over: end.signal, end, ...this.#active(digest) });
    return token;
  }

  /** Returns a token's session. `active`: a person has used key or pointer since the last call. */
  find(token: string, active: boolean): Session | undefined {
    const digest = digestOf(token);
    const found = this.#byDigest.get(digest);
    if (!found) return undefined;
    // The timer may be late after a sleep of the machine, so the time is checked here too.
    if (this.#clock.monotonicMs() - found.lastActiveMs >= this.#idleMs) {
      this.#end(digest);
      return undefined;
    }
    if (active) {
      found.timer.clear();
      Object.assign(found, this.#active(digest));
    }
    return found;
  }

  close(token: string): void {
    this.#end(digestOf(token));
  }

  endAll(): void {
    for (const digest of [...this.#byDigest.keys()]) this.#end(digest);
  }

  #active(digest: string): Pick<Kept, "lastActiveMs" | "timer"> {
    return {
      lastActiveMs: this.#clock.monotonicMs(),
      timer: this.#clock.startTimer("idle session", this.#idleMs, () => this.#end(digest)),
    };
  }

  #end(digest: string): void {
    const kept = this.#byDigest.get(digest);
    this.#byDigest.delete(digest);
    kept?.timer.clear();
    kept?.end.abort();
  }
}

function digestOf(token: string): string {
  return hash("sha256", token, "base64");
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** What needs no session. "file": it has no data. "log-in": it needs the page's own origin. */
    open?: "file" | "log-in";
  }
  interface FastifyRequest {
    /** The session of the request; null: none, or not checked yet. */
    session: Session | null;
  }
}

/**
 * Installs the checks of requests from this program's own pages (docs/console.md 2): each brings a
 * session's token in place of a login, and comes from a page of this port. A browser adds neither
 * by itself, so no other page can use a session. Returns the sessions, which end with the server.
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

function endStream(over: AbortSignal, stream: ServerResponse): void {
  const cut = () => stream.end();
  over.addEventListener("abort", cut);
  stream.once("close", () => over.removeEventListener("abort", cut));
}

/** Returns the token of a request; "" when the request has no token. */
export function tokenOf({ headers }: FastifyRequest): string {
  return /^Bearer ([\w-]{1,100})$/.exec(headers.authorization ?? "")?.[1] ?? "";
}
