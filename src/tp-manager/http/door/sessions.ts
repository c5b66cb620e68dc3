import { hash, randomBytes } from "node:crypto";
import type { Clock, Timer } from "../../../shared/time.ts";
import type { Role } from "./credentials.ts";

/** The time without a touch of key or pointer after which a session is over. */
export const SESSION_IDLE_MS = 15 * 60_000;
/** The most sessions; a new one ends the session that was idle longest. */
const SESSIONS_MAX = 32;
const TOKEN_BYTES = 32;

export interface Session {
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
 * The sessions of pages that this program serves (docs/console.md 2). They live in memory, so a
 * restart ends them all. Only a digest of a token is kept.
 */
export class Sessions {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #byDigest = new Map<string, Kept>();

  constructor(clock: Clock, idleMs = SESSION_IDLE_MS) {
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  /** Opens a session and returns its secret token, which is answered only once. */
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
    // After a sleep of the machine the timer may be late.
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

  /** Returns the current time as the last activity, and the timer that ends the idle session. */
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
