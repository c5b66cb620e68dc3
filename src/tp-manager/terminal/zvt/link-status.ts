import { type Clock, sleep } from "../../../shared/time.ts";
import { type LinkState, TerminalUnavailable } from "../terminal.ts";
import type { WaitLimits } from "./wire-lock.ts";

/** The state of the link, its reason, and the wait for it. */
export class LinkStatus {
  readonly #clock: Clock;
  readonly #address: string;
  readonly #changed: (link: LinkState, problem: string | null) => void;
  #nextChange = new AbortController();
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

  /** Ends every wait: the link will not come up any more. */
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
      const change = this.#nextChange.signal;
      const ended = signal ? AbortSignal.any([signal, change]) : change;
      await sleep(this.#clock, "zvt wait for link", leftMs, ended).catch(() => undefined);
    }
  }

  /** The error for a caller that needs a link now. */
  unavailable(): TerminalUnavailable {
    if (this.#closed) return new TerminalUnavailable("closed", "shutting down");
    const why = this.#problem ?? "no connection";
    return new TerminalUnavailable(
      this.#link === "registering" ? "not-registered" : "disconnected",
      `the terminal at ${this.#address} is not connected: ${why}`,
    );
  }

  #wake(): void {
    const change = this.#nextChange;
    this.#nextChange = new AbortController();
    change.abort();
  }
}
