import { type Clock, sleep } from "../../../shared/time.ts";
import { TerminalUnavailable } from "../terminal.ts";

/** How a wait for the wire or the link is limited. */
export interface WaitLimits {
  readonly waitMs: number;
  readonly signal?: AbortSignal;
}

/** Lets one command at a time onto the wire, in the order in which they were asked for. */
export class WireLock {
  readonly #clock: Clock;
  readonly #waiting: AbortController[] = [];
  #held = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get held(): boolean {
    return this.#held;
  }

  /**
   * Runs `work` when the wire is free, on a free wire at once. Rejects with
   * {@link TerminalUnavailable} "busy" after `waitMs`, or with `signal.reason`.
   */
  async run<T>({ waitMs, signal }: WaitLimits, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.#held) await this.#acquire(waitMs, signal);
    this.#held = true;
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next) next.abort();
    else this.#held = false;
  }

  async #acquire(waitMs: number, signal?: AbortSignal): Promise<void> {
    const free = new AbortController();
    this.#waiting.push(free);
    const ended = signal ? AbortSignal.any([free.signal, signal]) : free.signal;
    await sleep(this.#clock, "zvt wire", waitMs, ended).catch(() => undefined);
    // Once released to this caller, the wire is its own, also when its time ends at that moment. A
    // caller that is cancelled at that moment passes the wire on.
    if (free.signal.aborted) {
      if (!signal?.aborted) return;
      this.#release();
    } else this.#waiting.splice(this.#waiting.indexOf(free), 1);
    signal?.throwIfAborted();
    throw new TerminalUnavailable("busy", "another command is running on the terminal");
  }
}
