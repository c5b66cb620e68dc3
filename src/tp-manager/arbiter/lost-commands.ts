import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Attempt } from "../attempts/payment.ts";
import { isInDoubt, isRunning } from "../attempts/phase-table.ts";
import { recallOf } from "../attempts/reference-policy.ts";
import type { CancelAnswer, RecallOrder } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";

interface Lost {
  readonly transactionId: string;
  readonly asked: RecallOrder;
  /** Since when (monotonic ms) the command cannot be sent any more. */
  readonly sinceMs: number;
  isAborted: boolean;
}

/**
 * The commands in doubt that a terminal is asked about by id, and how their payments are cancelled
 * (docs/rules/37-by-id.md). It is kept in memory, so that a cancel leaves also without a disk.
 */
export class LostCommands {
  readonly #parts: ArbiterParts;
  readonly #byReference = new Map<string, Lost>();

  constructor(parts: ArbiterParts) {
    this.#parts = parts;
  }

  /** Returns since when (monotonic ms) the attempt's command is lost; the first call: since now. */
  sinceMs(attempt: Attempt): number {
    const { clock, terminal } = this.#parts;
    const asked = recallOf(attempt);
    const known = this.#byReference.get(asked.reference);
    if (known) return known.sinceMs;
    const { transactionId } = attempt;
    const lost = { transactionId, asked, sinceMs: clock.monotonicMs(), isAborted: false };
    if (terminal.recall) this.#byReference.set(asked.reference, lost);
    return lost.sinceMs;
  }

  /** Returns for how long (ms) the attempt's command can still run, by its time limit. */
  runsForMs(attempt: Attempt): number {
    const { clock, terminal } = this.#parts;
    const lost = this.#byReference.get(recallOf(attempt).reference);
    if (!lost || !isInDoubt(attempt.state)) return 0;
    const untilMs = lost.sinceMs + terminal.capabilities.paymentLimitMs;
    return Math.max(0, untilMs - clock.monotonicMs());
  }

  forget(attempt: Attempt): void {
    this.#byReference.delete(recallOf(attempt).reference);
  }

  /**
   * Asks the terminal to cancel each lost payment. The answer decides nothing. undefined: there is
   * none, or the terminal has no such request.
   */
  async abortAll(): Promise<CancelAnswer | undefined> {
    let last: CancelAnswer | undefined;
    for (const [reference, lost] of [...this.#byReference]) {
      if (!this.#isOpen(lost)) this.#byReference.delete(reference);
      else if (lost.asked.command === "payment") last = await this.#abort(lost);
    }
    return last;
  }

  /** Whether the command is in doubt. While the journal cannot be read, it is taken to be. */
  #isOpen({ transactionId, asked }: Lost): boolean {
    try {
      const now = this.#parts.journal.attempts.read(transactionId);
      if (!now || recallOf(now).reference !== asked.reference) return false;
      return isInDoubt(now.state) || isRunning(now.state);
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      return true;
    }
  }

  /** Cancels, once, a payment that may run after its time limit (docs/rules/06-timeout.md). */
  abortLate(attempt: Attempt): void {
    const { clock, settings, log } = this.#parts;
    const { transactionId, startedAtMs } = attempt;
    const lost = this.#byReference.get(recallOf(attempt).reference);
    if (lost?.asked.command !== "payment" || lost.isAborted) return;
    // A clock that was set back must not hide that the time is over.
    const ranMs = Math.max(clock.now() - startedAtMs, clock.monotonicMs() - lost.sinceMs);
    if (ranMs < settings.paymentTimeoutMs) return;
    lost.isAborted = true;
    this.#abort(lost).catch((error: unknown) =>
      log.error({ err: error, transactionId }, "the cancel at the time limit failed"),
    );
  }

  async #abort({ transactionId, asked }: Lost): Promise<CancelAnswer | undefined> {
    const { terminal, journal, clock, log } = this.#parts;
    const answer = await terminal.abort?.(asked);
    if (!answer) return undefined;
    try {
      const event = { atMs: clock.now(), kind: "cancel", detail: { ...answer } } as const;
      journal.attempts.addEvent(transactionId, event);
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      const detail = { err: error, transactionId, alarm: "journal" } as const;
      log.error(detail, "the cancel could not be written to the journal");
    }
    return answer;
  }
}
