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
    const isOpen = isInDoubt(attempt.state) || isRunning(attempt.state);
    if (terminal.recall && isOpen) this.#byReference.set(asked.reference, lost);
    return lost.sinceMs;
  }

  forget(attempt: Attempt): void {
    this.#byReference.delete(recallOf(attempt).reference);
  }

  /**
   * Asks the terminal to cancel each payment in doubt, also one that stays unknown. The answer
   * decides nothing. undefined: there is none, or the terminal has no such request.
   */
  async abortAll(): Promise<CancelAnswer | undefined> {
    let last: CancelAnswer | undefined;
    for (const one of this.#unfinished()) {
      const { command, registerId } = one.asked;
      // Without the register's name the command is one of another kind of terminal.
      const isOurs = command === "payment" && registerId !== undefined;
      if (isOurs) last = await this.#abort(one);
    }
    return last;
  }

  /** Returns the commands in doubt; while the journal cannot be read, as far as they are known. */
  #unfinished(): readonly Pick<Lost, "transactionId" | "asked">[] {
    const { journal, terminal } = this.#parts;
    if (!terminal.abort) return [];
    try {
      return journal.attempts
        .unfinished()
        .map((one) => ({ transactionId: one.transactionId, asked: recallOf(one) }));
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      return [...this.#byReference.values()];
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

  async #abort({
    transactionId,
    asked,
  }: Pick<Lost, "transactionId" | "asked">): Promise<CancelAnswer | undefined> {
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
