import { BrokenInvariant, invariant } from "../../shared/invariant.ts";
import type { Logger } from "../../shared/logger.ts";
import { type Clock, sleep } from "../../shared/time.ts";
import type { AttemptStore } from "../attempts/attempt-store.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import {
  type Attempt,
  type InDoubtState,
  isInDoubt,
  type ReversalInDoubtState,
} from "../attempts/payment.ts";
import {
  type Conclusion,
  type Doubt,
  judge,
  judgeReversalDoubt,
  type Observation,
  type Verdict,
} from "../attempts/recovery-policy.ts";
import type { TerminalFacts } from "../terminal/terminal.ts";
import { REVERSAL_BEGINS } from "./reversal-run.ts";
import { type LookAtTerminal, RETRY_MAX_MS, RETRY_MIN_MS } from "./terminal-look.ts";

/** The event of an attempt whose first complete run ended without proof (docs/design.md 3.5). */
const UNSETTLED = "recovery-unsettled";

interface RecoveryParts {
  readonly attempts: AttemptStore;
  readonly terminal: TerminalFacts;
  readonly clock: Clock;
  readonly log: Logger;
  /** Time between the two reads that prove a charge whose acknowledgement is not proven. */
  readonly confirmAfterMs: number;
  readonly look: LookAtTerminal;
  /** Called whenever {@link Recovery.isAsking} may have changed. */
  readonly asking: () => void;
  /** Called when an attempt has become charged or reversed, so that it is handed over. */
  readonly settled: (attempt: Attempt) => void;
}

/**
 * Finds out what became of attempts in doubt by asking the terminal, never by repeating anything
 * financial (docs/design.md 3.1, 3.2, 3.5). One attempt at a time, oldest first.
 */
export class Recovery {
  readonly #parts: RecoveryParts;
  readonly #queue = new Map<string, Doubtful>();
  readonly #abort = new AbortController();
  #runner: Promise<void> | undefined;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /**
   * At start: an attempt that an earlier process left running is put in doubt, because nobody heard
   * its end. The terminal is asked about every attempt in doubt.
   */
  begin(): void {
    for (const attempt of this.#parts.attempts.unfinished()) {
      if (attempt.state.phase === "sent" || attempt.state.phase === "reversing") {
        new AttemptWriter(attempt, this.#parts).advance(
          { input: "interrupted" },
          "interrupted",
          {},
        );
      }
      void this.recover(attempt.transactionId);
    }
  }

  /**
   * The oldest order whose first complete run has not ended. Nothing may be sold before it has,
   * because the next sale would overwrite the terminal's answer (docs/design.md 3.5).
   */
  get blockedBy(): string | undefined {
    return [...this.#queue.values()].find(({ blocks }) => blocks)?.orderId;
  }

  /** Resolves when the terminal has been asked about every attempt in the queue. */
  async whenIdle(): Promise<void> {
    while (this.#runner !== undefined) await this.#runner;
  }

  /** The terminal has something to be asked about, for the first time or again. */
  get isAsking(): boolean {
    return this.#queue.size > 0;
  }

  /**
   * Asks the terminal about one attempt in doubt. Resolves when the run has ended, with or without
   * proof; a run that is under way is shared. Never rejects.
   */
  recover(transactionId: string): Promise<void> {
    const known = this.#queue.get(transactionId);
    if (known) return known.ended.promise;
    const attempt = this.#parts.attempts.read(transactionId);
    if (!attempt || !doubtOf(attempt) || this.#abort.signal.aborted) return Promise.resolve();
    const events = this.#parts.attempts.events(transactionId);
    // A run about the sale proves nothing of its reversal, so only later runs count.
    const since = events.findLastIndex(({ kind }) => kind === REVERSAL_BEGINS);
    const wasAsked = events.slice(since + 1).some(({ kind }) => kind === UNSETTLED);
    return this.#enqueue(attempt, !wasAsked);
  }

  /**
   * A command has just ended in doubt, or its end could not be written, so that the journal still
   * says "sent". The attempt blocks sales even while the journal cannot be read
   * (docs/design.md 3.5); the journal is told as soon as it takes a record again.
   */
  doubted(attempt: Attempt): void {
    if (!this.#queue.has(attempt.transactionId)) void this.#enqueue(attempt, true);
  }

  #enqueue({ transactionId, request }: Attempt, blocks: boolean): Promise<void> {
    const doubtful: Doubtful = {
      orderId: request.orderId,
      blocks,
      lostSinceMs: this.#parts.clock.monotonicMs(),
      ended: Promise.withResolvers<void>(),
    };
    this.#queue.set(transactionId, doubtful);
    this.#parts.asking();
    this.#runner ??= this.#run();
    return doubtful.ended.promise;
  }

  async close(): Promise<void> {
    this.#abort.abort(new Error("the connector stops"));
    await this.#runner;
    for (const { ended } of this.#queue.values()) ended.resolve();
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        const next = this.#queue.entries().next();
        if (next.done) return;
        const [transactionId, doubtful] = next.value;
        await this.#settle(transactionId, doubtful);
        this.#queue.delete(transactionId);
        this.#parts.asking();
        doubtful.ended.resolve();
      }
    } catch (error) {
      // Only the ordered stop ends a run early; any other error is a fault and must be seen.
      if (!this.#abort.signal.aborted) throw error;
    } finally {
      this.#runner = undefined;
    }
  }

  async #settle(transactionId: string, { orderId, lostSinceMs }: Doubtful): Promise<void> {
    const { attempts, clock, log } = this.#parts;
    await this.#interrupted(transactionId);
    let earlier: Observation | null = null;
    for (;;) {
      const observation = await this.#look(transactionId);
      // Read after the look, because an operator may have settled the attempt meanwhile.
      const attempt = attempts.read(transactionId);
      const state = attempt && doubtOf(attempt);
      if (!attempt || !state) return;
      const verdict = this.#judge(attempt, state, lostSinceMs, observation, earlier);
      const about = { transactionId, orderId, verdict: verdict.verdict };
      log.warn(about, `recovery: ${verdict.because}`);
      if (verdict.verdict !== "look-again") {
        this.#conclude(new AttemptWriter(attempt, this.#parts), verdict, observation);
        return;
      }
      this.#note(transactionId, "recovery-look", verdict, observation);
      earlier = observation;
      await sleep(clock, "recovery look", verdict.waitMs, this.#abort.signal);
    }
  }

  /** Writes that a command was interrupted, trying until the journal takes the record. */
  async #interrupted(transactionId: string): Promise<void> {
    const { attempts, clock, log } = this.#parts;
    for (let retryMs = RETRY_MIN_MS; ; retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)) {
      try {
        const attempt = attempts.read(transactionId);
        if (attempt?.state.phase !== "sent" && attempt?.state.phase !== "reversing") return;
        const writer = new AttemptWriter(attempt, this.#parts);
        writer.advance({ input: "interrupted" }, "interrupted", {});
        return;
      } catch (error) {
        if (error instanceof BrokenInvariant) throw error;
        log.error({ transactionId, err: error, alarm: "journal" }, "the journal takes nothing");
      }
      await sleep(clock, "journal retry", retryMs, this.#abort.signal);
    }
  }

  #judge(
    attempt: Attempt,
    state: InDoubtState | ReversalInDoubtState,
    lostSinceMs: number,
    observation: Observation,
    earlier: Observation | null,
  ): Verdict {
    const { terminal, confirmAfterMs } = this.#parts;
    const baseline = state.phase === "in-doubt" ? attempt.baseline : state.baseline;
    invariant(baseline, "an attempt in doubt has a baseline");
    const doubt: Doubt = {
      baseline,
      amountMinor: attempt.request.amountMinor,
      partMinor: partOf(state),
      currencyNumeric: attempt.request.currency.numeric,
      sentAtMs: attempt.startedAtMs,
      lostSinceMs,
      paymentLimitMs: terminal.capabilities.paymentLimitMs,
      last: state.last,
    };
    return state.phase === "in-doubt"
      ? judge(doubt, observation, earlier, confirmAfterMs)
      : judgeReversalDoubt(doubt, state.sale.report, observation, earlier, confirmAfterMs);
  }

  async #look(transactionId: string): Promise<Observation> {
    const { attempts } = this.#parts;
    const look = await this.#parts.look({ transactionId }, this.#abort.signal);
    const { last } = look;
    const knownAs =
      last.kind === "transaction" ? attempts.orderOfReport(last.report, transactionId) : undefined;
    const foundByNext = attempts.nextBaseline(transactionId)?.last ?? null;
    return { ...look, knownAs: knownAs ?? null, foundByNext };
  }

  #conclude(writer: AttemptWriter, verdict: Conclusion, observation: Observation): void {
    const detail = { because: verdict.because, observation };
    switch (verdict.verdict) {
      case "charged": {
        const input = { input: "proved-charged", report: verdict.report } as const;
        const before = writer.attempt;
        const attempt = writer.advance(input, "recovery-charged", detail);
        tellBeyondGoods(writer, before);
        this.#parts.settled(attempt);
        return;
      }
      case "not-charged": {
        const input = { input: "proved-not-charged", message: verdict.because } as const;
        writer.advance(input, "recovery-not-charged", detail);
        return;
      }
      case "reversed": {
        const input = { input: "proved-reversed", report: verdict.report } as const;
        this.#parts.settled(writer.advance(input, "recovery-reversed", detail));
        return;
      }
      case "not-reversed":
        writer.advance({ input: "proved-not-reversed" }, "recovery-not-reversed", detail);
        return;
      case "unsettled": {
        const { transactionId, request } = writer.attempt;
        this.#note(transactionId, UNSETTLED, verdict, observation);
        this.#parts.log.error(
          { transactionId, alarm: "payment-unknown" },
          `order ${request.orderId} stays unknown: ${verdict.because}`,
        );
        return;
      }
    }
  }

  #note(transactionId: string, kind: string, verdict: Verdict, observation: Observation): void {
    this.#parts.attempts.addEvent(transactionId, {
      atMs: this.#parts.clock.now(),
      kind,
      detail: { because: verdict.because, observation },
    });
  }
}

interface Doubtful {
  readonly orderId: string;
  readonly blocks: boolean;
  /** When the end was lost, monotonic milliseconds: the wait of {@link judge} counts from here. */
  readonly lostSinceMs: number;
  readonly ended: PromiseWithResolvers<void>;
}

/** The amount that the terminal was told to charge when only a part of the goods came out. */
function partOf(state: InDoubtState | ReversalInDoubtState): number | null {
  const decision = state.phase === "in-doubt" ? state.goods?.decision : undefined;
  return decision?.goods === "partly-issued" ? decision.amountMinor : null;
}

/** Raises an alarm when the terminal kept more than came out: people must give money back. */
function tellBeyondGoods(writer: AttemptWriter, before: Attempt): void {
  const { state } = writer.attempt;
  if (before.state.phase === "in-doubt" && before.state.goods?.decision === null) {
    const alarm = { alarm: "charged-without-delivery" };
    writer.log("error", alarm, "the terminal kept a sale of which nobody said that goods came out");
  }
  if (state.phase !== "charged" || state.goodsMinor === undefined) return;
  const { amountMinor: chargedMinor } = state.report;
  const detail = { alarm: "charged-beyond-goods", chargedMinor, goodsMinor: state.goodsMinor };
  writer.log("error", detail, "the terminal charged more than the goods that came out were worth");
}

/** The state of an attempt that recovery can ask about; undefined for any other. */
function doubtOf({ state }: Attempt): InDoubtState | ReversalInDoubtState | undefined {
  return isInDoubt(state) ? state : undefined;
}
