import { createHash, randomBytes } from "node:crypto";
import type { Clock, Timer } from "../../../shared/time.ts";
import type { Role } from "./credentials.ts";

/** Without a key or a pointer for so long a session is over. */
export const SESSION_IDLE_MS = 15 * 60_000;
/** More pages than one machine has; the one that rested longest makes room. */
const SESSIONS_MAX = 32;
const TOKEN_BYTES = 32;

export interface Session {
  readonly login: string;
  readonly role: Role;
  /** Aborted when the session is over: what it keeps open ends with it. */
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

  /** A new session; the answer is its token, which nobody can guess and which is answered once. */
  open(login: string, role: Role): string {
    const [oldest] = [...this.#byDigest].sort(([, a], [, b]) => a.lastActiveMs - b.lastActiveMs);
    if (oldest && this.#byDigest.size >= SESSIONS_MAX) this.#end(oldest[0]);
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const digest = digestOf(token);
    const end = new AbortController();
    const lastActiveMs = this.#clock.monotonicMs();
    const timer = this.#watch(digest, this.#idleMs);
    this.#byDigest.set(digest, { login, role, over: end.signal, end, lastActiveMs, timer });
    return token;
  }

  /** The session of a token. `active`: a person has touched key or pointer since the last call. */
  find(token: string, active: boolean): Session | undefined {
    const digest = digestOf(token);
    const found = this.#byDigest.get(digest);
    if (!found) return undefined;
    // A machine that slept has fired no timer.
    if (this.#leftMs(found) <= 0) {
      this.#end(digest);
      return undefined;
    }
    if (active) found.lastActiveMs = this.#clock.monotonicMs();
    return found;
  }

  close(token: string): void {
    this.#end(digestOf(token));
  }

  endAll(): void {
    for (const digest of [...this.#byDigest.keys()]) this.#end(digest);
  }

  #leftMs({ lastActiveMs }: Kept): number {
    return lastActiveMs + this.#idleMs - this.#clock.monotonicMs();
  }

  /** One timer for each session, set anew when it was active meanwhile. */
  #watch(digest: string, delayMs: number): Timer {
    return this.#clock.startTimer("idle session", delayMs, () => {
      const kept = this.#byDigest.get(digest);
      if (!kept) return;
      const leftMs = this.#leftMs(kept);
      if (leftMs > 0) kept.timer = this.#watch(digest, leftMs);
      else this.#end(digest);
    });
  }

  #end(digest: string): void {
    const kept = this.#byDigest.get(digest);
    this.#byDigest.delete(digest);
    kept?.timer.clear();
    kept?.end.abort();
  }
}

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
