import { BrokenInvariant } from "../../shared/invariant.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { storage } from "../attempts/failures.ts";
import {
  type Attempt,
  isCharged,
  isNotCharged,
  isPaying,
  type Judgement,
} from "../attempts/payment.ts";
import { judgeReport } from "../attempts/payment-machine.ts";
import { isInDoubt } from "../attempts/phase-table.ts";
import { isReference, referenceOf } from "../attempts/reference-policy.ts";
import { type Answer, proofInWords } from "../matching/answer.ts";
import { finalOf } from "../matching/assumptions.ts";
import { effectsOf } from "../matching/effects.ts";
import { isSameWord } from "../matching/one-way.ts";
import type { OneWayResult, TransactionReport } from "../terminal/terminal.ts";
import type { ArbiterTools } from "./arbiter-parts.ts";
import { chargeLate, doubtLate, tellIfTwice } from "./corrections.ts";
import { type OneWay, TOLD_SETTLED } from "./one-way.ts";
import { orderOf, tellDifference, tellMismatch } from "./payment-run.ts";
import { aboutWhom, alarmOf } from "./unmatched.ts";

interface LateParts extends ArbiterTools {
  readonly oneWay: OneWay;
}

/** The consequence of an attempt's result that comes after its end. */
type Follow =
  /** The machine takes it: charged, not charged, or still in doubt. */
  | "told-late"
  /** The result says nothing new. */
  | "nothing"
  /** The result differs from that of a charge: a note and an alarm. */
  | "contradiction"
  /** Answered as not charged, and charged all the same. */
  | "charged-late"
  /** Answered as not charged, and something was approved. */
  | "doubted";

/**
 * Results that a terminal which cannot be asked tells after the end of their payment: what follows
 * of them is written (docs/rules/25-one-way.md). Each is on disk before the driver acknowledges it.
 */
export class LateResults {
  readonly #parts: LateParts;

  constructor(parts: LateParts) {
    this.#parts = parts;
  }

  /** Whether the result is on disk. Never throws for a journal that fails. */
  take(told: OneWayResult): boolean {
    const { log, oneWay } = this.#parts;
    try {
      const { report, answer } = oneWay.late(told);
      if (answer.answer === "known") {
        const { orderId } = answer;
        log.warn({ orderId }, "the terminal told a stored result again");
        return true;
      }
      const attempt = answer.answer === "one" ? answer.candidate.attempt : undefined;
      // Its payment has not written its end yet.
      if (attempt && isPaying(attempt.state)) return false;
      const because = answer.answer === "one" ? proofInWords(answer.proof) : "";
      if (attempt && this.#belongs(attempt, report, because)) oneWay.learn(report);
      else this.#withoutOrder(report, answer);
      return true;
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      log.error({ err: error, alarm: "journal" }, "the journal did not take a late result");
      return false;
    }
  }

  /**
   * A result that is on disk although its end is not, because the process or the disk failed
   * between the two. Nothing takes it back at a terminal that cannot be refused, so it is the end.
   */
  endStored(attempt: Attempt): Attempt {
    const { state, baseline } = attempt;
    const { cannotRefuse } = this.#parts.terminal.capabilities;
    // A terminal with a name or a storage was another one, with another protocol.
    const { identity = {}, last } = baseline ?? {};
    const isOfIts = last?.kind === "not-told" && Object.values(identity).every((word) => !word);
    if (!cannotRefuse || !isOfIts || !isInDoubt(state) || "sale" in state) return attempt;
    const { report, judgement } = state.last ?? {};
    if (!report || (judgement !== "agrees" && judgement !== "not-good")) return attempt;
    const needed = report.good ? "own-report" : finalOf(report.reason);
    if (!this.#parts.matcher.assumptions.has(needed)) return attempt;
    const writer = new AttemptWriter(attempt, this.#parts);
    const because = "the result was on disk before the payment's end";
    const input = { input: "late-result", report, judgement, wasStored: true, because } as const;
    const after = writer.advance(input);
    if (isCharged(after.state)) this.#parts.settled();
    return after;
  }

  /**
   * At start: approvals that a former version has kept beside the attempt that they name. A person
   * may have seen to them since, and decides.
   */
  begin(): void {
    const { terminalLog, oneWay, clock } = this.#parts;
    const kept = new Set(terminalLog.heldReferences().filter(isReference));
    for (const attempt of oneWay.named(kept)) {
      if (!isNotCharged(attempt.state)) continue;
      const because = "it was kept beside the order";
      const rows = terminalLog.heldAs(referenceOf(attempt.transactionId));
      const [first] = rows;
      if (first) this.#askPerson(attempt, first.report, because);
      for (const { id } of rows) {
        if (id !== null) terminalLog.endUnmatched(id, clock.now(), "known", because);
      }
    }
  }

  /**
   * Returns the attempt that decides the order's status once `end` is written: a result that had to
   * wait for the end may have changed it. Throws STORAGE_FAILED.
   */
  spokenFor(end: Attempt): Attempt {
    const { terminal, attempts } = this.#parts;
    if (!terminal.takeLateResults) return end;
    terminal.endWritten?.();
    if (!isNotCharged(end.state)) return end;
    return storage(() => attempts.latest(end.request.orderId) ?? end, "unknown");
  }

  /** Returns false where the result changes nothing because it is no order's. */
  #belongs(attempt: Attempt, told: TransactionReport, because: string): boolean {
    const { state, request } = attempt;
    // A result that names its attempt need not repeat what was asked.
    const report = {
      ...told,
      amountMinor: told.amountMinor ?? request.amountMinor,
      currencyNumeric: told.currencyNumeric ?? request.currency.numeric,
    };
    const judgement = judgeReport(orderOf(request), report);
    const follow = followOf(state, judgement);
    switch (follow) {
      case "told-late":
        this.#endDoubt(attempt, report, judgement, because);
        break;
      case "nothing":
        if ("settled" in state && state.settled) this.#toldSettled(attempt, report);
        break;
      case "contradiction":
        this.#contradicted(attempt, report, judgement);
        break;
      case "charged-late":
        chargeLate(attempt, { report, because }, "the terminal told a sale late", this.#parts);
        break;
      case "doubted":
        this.#doubtAgain(attempt, report, because);
        break;
      case undefined:
    }
    return follow !== undefined;
  }

  #endDoubt(
    attempt: Attempt,
    report: TransactionReport,
    judgement: Judgement,
    because: string,
  ): void {
    const { inquiries, settled } = this.#parts;
    const writer = new AttemptWriter(attempt, this.#parts);
    const after = writer.advance({ input: "late-result", report, judgement, because });
    if (judgement === "disagrees") tellMismatch(writer, report, "it cannot be refused");
    writer.log("warn", { judgement }, `the terminal told the result late: ${after.state.phase}`);
    inquiries.reconsider();
    if (!isCharged(after.state)) return;
    tellDifference(writer, report);
    settled();
  }

  /** An operator had settled the order with the same result: nothing more is waited for. */
  #toldSettled({ transactionId }: Attempt, report: TransactionReport): void {
    const { attempts, clock } = this.#parts;
    const detail = { report };
    attempts.addEvent(transactionId, { atMs: clock.now(), kind: TOLD_SETTLED, detail });
  }

  #contradicted(attempt: Attempt, report: TransactionReport, judgement: Judgement): void {
    const writer = new AttemptWriter(attempt, this.#parts);
    writer.note("told-after-charge", { report, judgement });
    const words = "the terminal told another result of an order that it had told as charged";
    writer.log("error", { alarm: "report-mismatch" }, words);
  }

  /** An approval of something else than was asked. */
  #doubtAgain(attempt: Attempt, report: TransactionReport, because: string): void {
    const writer = new AttemptWriter(attempt, this.#parts);
    writer.advance({ input: "found-in-doubt", report, judgement: "disagrees", because });
    this.#parts.inquiries.reconsider();
    tellMismatch(writer, report, "the order had been answered as not charged");
    tellIfTwice(attempt, this.#parts);
  }

  /** Unknown until a person settles it, or an approval names it that none did before. */
  #askPerson(attempt: Attempt, report: TransactionReport, because: string): void {
    const found = { report, judgement: "disagrees", because } as const;
    doubtLate(attempt, found, "tells a sale that is its own or another's", this.#parts);
    this.#parts.inquiries.reconsider();
  }

  #withoutOrder(report: TransactionReport, answer: Answer): void {
    const { terminalLog, terminal, clock, log } = this.#parts;
    const { good, resultCode, amountMinor } = report;
    const told = { good, resultCode, amountMinor };
    const { identity } = terminal.state;
    const because = answer.answer === "many" ? answer.because : "";
    for (const { attempt } of good ? effectsOf(answer) : []) {
      this.#askPerson(attempt, report, because);
    }
    // A refusal too: told again it says nothing of a later order.
    const [newest] = terminalLog.unmatched(1);
    if (!good && newest && isSameWord(newest.report, report)) return;
    const seen = { atMs: clock.now(), report, identity, isOfNoOrder: false };
    const id = terminalLog.keepUnmatched(seen);
    if (!good) log.warn(told, "the terminal told a result that is no order's; it charged nobody");
    if (!good || id === undefined) return;
    terminalLog.endUnmatched(id, clock.now(), "held", "the terminal told it, and no order fits");
    const words = "the terminal told a sale that no order asked for, or that several fit";
    log.error({ ...alarmOf(report, answer, "held"), ...told }, words + aboutWhom(answer));
  }
}

/** undefined: no result of a sale is waited for in this state, nor was one told. */
function followOf(state: Attempt["state"], judgement: Judgement): Follow | undefined {
  if (isInDoubt(state)) return "sale" in state ? undefined : "told-late";
  if (isCharged(state)) return judgement === "agrees" ? "nothing" : "contradiction";
  if (!isNotCharged(state)) return undefined;
  if (judgement === "agrees") return "charged-late";
  return judgement === "disagrees" ? "doubted" : "nothing";
}
