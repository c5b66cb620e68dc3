import type { Clock, Timer } from "../../shared/time.ts";
import type { Exchange, FailureCause } from "./faults.ts";

/** A result is below 2 KB, a page of a web server in between below 100 KB. */
export const ANSWER_BYTES_MAX = 256 * 1024;

interface Limits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * One message on its way. Ends once: with an answer, a fault, at the time limit or with the stop of
 * the program.
 */
export class OneExchange {
  /** From now on the other side may read bytes of the request. */
  written = false;
  /** Closes whatever carries the message, when it has ended without a whole answer. */
  onGivenUp: () => void = () => undefined;
  #ended = false;
  readonly #limits: Limits;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #timer: Timer;
  readonly #onStop = (): void => this.fail("stopped", "the program was stopped");

  constructor(limits: Limits, resolve: (exchange: Exchange) => void) {
    const { clock, timeoutMs, signal } = limits;
    this.#limits = limits;
    this.#resolve = resolve;
    this.#timer = clock.startTimer("gateway answer", timeoutMs, () =>
      this.fail("timeout", `no complete answer within ${timeoutMs} ms`),
    );
    if (signal.aborted) this.#onStop();
    else signal.addEventListener("abort", this.#onStop, { once: true });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** `body` is null when it was larger than any true answer; then its connection is closed. */
  answered(httpStatus: number, retryAfter: string | null, body: string | null): void {
    this.#end({ kind: "answered", httpStatus, retryAfter, body });
    if (body === null) this.onGivenUp();
  }

  fail(cause: FailureCause, detail: string): void {
    if (this.#ended) return;
    this.#end({ kind: "failed", cause, written: this.written, detail });
    this.onGivenUp();
  }

  /** A fault of the connection. */
  failWith(error: Error): void {
    const cause = !this.written && isCertificateFault(error) ? "certificate" : "socket";
    this.fail(cause, wordsOf(error));
  }

  #end(exchange: Exchange): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer.clear();
    this.#limits.signal.removeEventListener("abort", this.#onStop);
    this.#resolve(exchange);
  }
}

function isCertificateFault(error: Error): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code);
}

function wordsOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  // A host with several addresses fails with one error for each of them.
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [];
  const words = [error, ...causes].map(({ message }) => message).filter((text) => text !== "");
  return [code, ...new Set(words)].filter((word) => word !== undefined).join(": ");
}
