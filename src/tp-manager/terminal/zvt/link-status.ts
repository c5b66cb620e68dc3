import type { Clock, Timer } from "../../../shared/time.ts";
import { type LinkState, TerminalUnavailable } from "../terminal.ts";

/** How a wait for the wire or the link is limited. */
export interface WaitLimits {
  readonly waitMs: number;
  readonly signal?: AbortSignal;
}

/** How the link stands and why, for those who want to know and those who wait for it. */
export class LinkStatus {
  readonly #clock: Clock;
  readonly #address: string;
  readonly #changed: (link: LinkState, problem: string | null) => void;
  readonly #waiting = new Set<() => void>();
  #link: LinkState = "disconnected";
  #problem: string | null = "not started";
  #closed = false;

  constructor(
    clock: Clock,
    address: string,
    changed: (link: LinkState, problem: string | null) => void,
  ) {
    this.#clock = clock;
    this.#address = address;
    this.#changed = changed;
  }

  get link(): LinkState {
    return this.#link;
  }

  /** Why the link is not up; null when it is. */
  get problem(): string | null {
    return this.#problem;
  }

  set(link: LinkState, problem: string | null): void {
    if (link === this.#link && problem === this.#problem) return;
    this.#link = link;
    this.#problem = problem;
    this.#changed(link, problem);
    this.#wake();
  }

  /** Nobody will see the link come up any more. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** Throws {@link TerminalUnavailable} when the link is not up in time, or `signal.reason`. */
  async whenUp({ waitMs, signal }: WaitLimits): Promise<void> {
    const deadlineMs = this.#clock.monotonicMs() + waitMs;
    while (this.#link !== "connected") {
      signal?.throwIfAborted();
      const leftMs = deadlineMs - this.#clock.monotonicMs();
      if (this.#closed || leftMs <= 0) throw this.unavailable();
      await this.#nextChange(leftMs, signal);
    }
  }

  /** The error for a caller who needs a link now. */
  unavailable(): TerminalUnavailable {
    if (this.#closed) return new TerminalUnavailable("closed", "shutting down");
    const why = this.#problem ?? "no connection";
    return new TerminalUnavailable(
      this.#link === "registering" ? "not-registered" : "disconnected",
      `the terminal at ${this.#address} is not connected: ${why}`,
    );
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves when the link changes, the time is over, or the signal aborts. */
  #nextChange(waitMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.clear();
        signal?.removeEventListener("abort", done);
        this.#waiting.delete(done);
        resolve();
      };
      const timer: Timer = this.#clock.startTimer("zvt wait for link", waitMs, done);
      signal?.addEventListener("abort", done, { once: true });
      this.#waiting.add(done);
    });
  }
}
