import { BrokenInvariant } from "../../shared/invariant.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import {
  type Attempt,
  isCharged,
  isNotCharged,
  isPaying,
  type Judgement,
} from "../attempts/payment.ts";
import { judgeReport } from "../attempts/payment-machine.ts";
import { isInDoubt } from "../attempts/phase-table.ts";
import { isReference, namesOurs, referenceOf } from "../attempts/reference-policy.ts";
import { type Answer, effectsOf, textOfProof } from "../matching/answer.ts";
import { finalOf, type Learned } from "../matching/assumptions.ts";
import {
  ambiguousWith,
  attemptsNamed,
  contradicting,
  echoFact,
  isSameResult,
  lateResult,
  type OneWayLine,
  resultInPayment,
  SETTLED_RESULT,
} from "../matching/one-way.ts";
import type { OneWayResult, TransactionReport } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import {
  alarmDifference,
  alarmIfTwice,
  alarmMismatch,
  chargeLate,
  putInDoubt,
} from "./corrections.ts";
import type { Inquiries } from "./inquiries.ts";
import { aboutWhom, alarmOf } from "./unmatched.ts";

/**
 * Handles the results of a one-way terminal (docs/rules/25-one-way.md): finds the order of each
 * result with the rules in matching/one-way.ts, learns from the result about the terminal, and
 * writes what follows from a late result. A late result is on disk before the driver answers with
 * ACK. Methods throw when the journal fails, unless their comment says otherwise.
 */
export class OneWay {
  readonly #parts: ArbiterParts;
  readonly #inquiries: Inquiries;

  constructor(parts: ArbiterParts, inquiries: Inquiries) {
    this.#parts = parts;
    this.#inquiries = inquiries;
  }

  get learned(): Learned {
    const { matcher, terminal } = this.#parts;
    return matcher.learned(terminal.state.identity);
  }

  /** Whether a result that came during the payment `running` is the result of this payment. */
  isOf(running: Attempt, { report, ...rest }: OneWayResult): boolean {
    const result = { ...rest, report: this.withContradictions(report) };
    const answer = resultInPayment(result, running, this.#parts.journal, this.#line);
    const { transactionId, request } = running;
    if (answer.answer === "many") {
      this.#parts.log.warn(
        { transactionId, orderId: request.orderId, amountMinor: report.amountMinor },
        `a result was not used, as another order may have made it: ${answer.because}`,
      );
    }
    return answer.answer === "one" && answer.candidate.attempt.transactionId === transactionId;
  }

  /** Returns the report with the list of what contradicts the request or an earlier result. */
  withContradictions(report: TransactionReport, running?: Attempt): TransactionReport {
    const before = running && "last" in running.state ? running.state.last?.report : undefined;
    return contradicting(report, this.learned, before);
  }

  /**
   * Learns from an order's result whether this terminal returns our reference and register number.
   * Does not throw when the journal fails, because the next result shows the same facts again.
   */
  learn(report: TransactionReport): void {
    if (report.resultCode === null) return;
    try {
      const { learned } = this;
      if (namesOurs(report)) learned.saw(echoFact(report));
      if (report.isOurRegister) learned.saw("echoes-register");
      else if (report.differs?.includes("register number") && !report.contradicts) {
        learned.contradicted("echoes-register");
      }
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      const text = "could not write to the journal what a result shows of the terminal";
      this.#parts.log.warn({ err: error }, text);
    }
  }

  /**
   * Learns from an operator's settlement. After a result that agrees with it but lacks our
   * reference, no further result is awaited, and the terminal's results need not carry our
   * reference. After a charge with another register number, the register number need not agree.
   */
  settled({ state: before, transactionId, request }: Attempt, { state }: Attempt): void {
    const { learned } = this;
    const own = "last" in before ? before.last?.report : undefined;
    if (isCharged(state) && own?.contradicts?.includes("register number")) {
      learned.contradicted("echoes-register");
    }
    const isGood = isCharged(state);
    const chargedMinor = isGood ? state.report.amountMinor : request.amountMinor;
    const kept = this.#parts.journal.terminalLog
      .unmatchedSince(transactionId)
      .map((one) => one.report);
    const report = [...(own ? [own] : []), ...kept].findLast(
      (one) =>
        one.resultCode !== null &&
        one.good === isGood &&
        !namesOurs(one) &&
        (one.amountMinor === chargedMinor || (!isGood && !one.amountMinor)),
    );
    if (!report) return;
    this.#noteSettledResult(transactionId, report);
    if (learned.has(echoFact(report))) learned.contradicted(echoFact(report));
  }

  /**
   * The attempts in doubt for whose amount no new sale begins, because a result of this amount
   * could belong to any of these attempts or to the new sale. The newest comes first.
   */
  get ambiguousOrders(): readonly Attempt[] {
    const { namesNoPayment = false, sharesLine = false } = this.#parts.terminal.capabilities;
    if (!sharesLine) return [];
    const line = { ...this.#line, namesNothing: namesNoPayment };
    return ambiguousWith(this.#parts.journal, line);
  }

  /** Handles a late result. Returns whether the result is on disk, false if the journal fails. */
  take({ report: received, ...rest }: OneWayResult): boolean {
    const { log, journal } = this.#parts;
    try {
      const report = this.withContradictions(received);
      const answer = lateResult({ ...rest, report }, journal, this.#line);
      if (answer.answer === "known") {
        const { orderId } = answer;
        log.warn({ orderId }, "the terminal reported a result again that is already stored");
        return true;
      }
      const attempt = answer.answer === "one" ? answer.candidate.attempt : undefined;
      // The result waits: its attempt's payment still runs, and its outcome is not written yet.
      if (attempt && isPaying(attempt.state)) return false;
      const because = answer.answer === "one" ? textOfProof(answer.proof) : "";
      if (attempt && this.#follow(attempt, report, because)) this.learn(report);
      else this.#withoutOrder(report, answer);
      return true;
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      log.error({ err: error, alarm: "journal" }, "could not write a late result to the journal");
      return false;
    }
  }

  /**
   * Ends an attempt whose result is on disk but whose outcome is not, because the process or the
   * disk failed between the two writes. The result counts, because a terminal whose results cannot
   * be refused never takes a result back.
   */
  endStored(attempt: Attempt): Attempt {
    const { state, baseline } = attempt;
    const { cannotRefuse } = this.#parts.terminal.capabilities;
    // A terminal with an identity or a storage has another protocol, so its attempt is not touched.
    const { identity = {}, last } = baseline ?? {};
    const isOfIts = last?.kind === "not-told" && Object.values(identity).every((name) => !name);
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
   * At start, asks the operator about approvals that an earlier version of the connector stored
   * apart from the attempts that they name. The operator may have settled these attempts since.
   */
  begin(): void {
    const { clock, journal } = this.#parts;
    const { terminalLog, attempts } = journal;
    const kept = new Set(terminalLog.heldReferences().filter(isReference));
    for (const attempt of attemptsNamed(kept, attempts)) {
      if (!isNotCharged(attempt.state)) continue;
      const because = "it was kept apart from the order";
      const rows = terminalLog.heldAs(referenceOf(attempt.transactionId));
      const [first] = rows;
      if (first) this.#askPerson(attempt, first.report, because);
      for (const { id } of rows) {
        if (id !== null) terminalLog.endUnmatched(id, clock.now(), "known", because);
      }
    }
  }

  /** Writes what follows from a late result. Returns false if the attempt awaits no such result. */
  #follow(attempt: Attempt, received: TransactionReport, because: string): boolean {
    const { state, request, transactionId } = attempt;
    // A result that carries its attempt's reference can lack the amount and the currency.
    const report = {
      ...received,
      amountMinor: received.amountMinor ?? request.amountMinor,
      currencyNumeric: received.currencyNumeric ?? request.currency.numeric,
    };
    const { amountMinor, currency } = request;
    const judgement = judgeReport({ amountMinor, currencyNumeric: currency.numeric }, report);
    const writer = new AttemptWriter(attempt, this.#parts);
    if (isInDoubt(state)) {
      if ("sale" in state) return false;
      this.#settleInDoubt(writer, report, judgement, because);
    } else if (isCharged(state) && judgement !== "agrees") {
      writer.note("told-after-charge", { report, judgement });
      const text =
        "the terminal reported another result of an order that it had reported as charged";
      writer.log("error", { alarm: "report-mismatch" }, text);
    } else if (isNotCharged(state) && judgement === "agrees") {
      chargeLate(attempt, { report, because }, "the terminal reported a sale late", this.#parts);
    } else if (isNotCharged(state) && judgement === "disagrees") {
      // The terminal approved another amount or currency than was requested.
      writer.advance({ input: "found-in-doubt", report, judgement, because });
      this.#inquiries.reconsider();
      alarmMismatch(writer, report, "the order had been answered as not charged");
      alarmIfTwice(attempt, this.#parts);
    } else if (isCharged(state) || isNotCharged(state)) {
      if ("settled" in state && state.settled) this.#noteSettledResult(transactionId, report);
    } else return false;
    return true;
  }

  #settleInDoubt(
    writer: AttemptWriter,
    report: TransactionReport,
    judgement: Judgement,
    because: string,
  ): void {
    const { state } = writer.advance({ input: "late-result", report, judgement, because });
    if (judgement === "disagrees") alarmMismatch(writer, report, "it cannot be refused");
    const text = `the terminal reported the result late; the attempt is now ${state.phase}`;
    writer.log("warn", { judgement }, text);
    this.#inquiries.reconsider();
    if (!isCharged(state)) return;
    alarmDifference(writer, report);
    this.#parts.settled();
  }

  /** Notes a result that agrees with an operator's settlement; the order awaits no other result. */
  #noteSettledResult(transactionId: string, report: TransactionReport): void {
    const { clock, journal } = this.#parts;
    const note = { atMs: clock.now(), kind: SETTLED_RESULT, detail: { report } } as const;
    journal.attempts.addEvent(transactionId, note);
  }

  /** Makes the order unknown until a person settles it, or an approval with its reference comes. */
  #askPerson(attempt: Attempt, report: TransactionReport, because: string): void {
    const found = { report, judgement: "disagrees", because } as const;
    putInDoubt(attempt, found, "reports a sale that is its own or another's", this.#parts);
    this.#inquiries.reconsider();
  }

  #withoutOrder(report: TransactionReport, answer: Answer): void {
    const { terminal, clock, log } = this.#parts;
    const { terminalLog } = this.#parts.journal;
    const { good, resultCode, amountMinor } = report;
    const detail = { good, resultCode, amountMinor };
    const because = answer.answer === "many" ? answer.because : "";
    for (const { attempt } of good ? effectsOf(answer) : []) {
      this.#askPerson(attempt, report, because);
    }
    // A refusal is stored as well, so that its repetition is not taken for a later order's result.
    const [newest] = terminalLog.unmatched(1);
    if (!good && newest && isSameResult(newest.report, report)) return;
    const { identity } = terminal.state;
    const unmatched = { atMs: clock.now(), report, identity, isOfNoOrder: false };
    const id = terminalLog.keepUnmatched(unmatched);
    if (!good) {
      log.warn(
        detail,
        "the terminal reported a failed result that belongs to no order; nobody was charged",
      );
    }
    if (!good || id === undefined) return;
    const finding = "the terminal reported it, and no order agrees with it";
    terminalLog.endUnmatched(id, clock.now(), "held", finding);
    const text = "the terminal reported a sale that no order, or more than one, agrees with";
    log.error({ ...alarmOf(report, answer, "held"), ...detail }, text + aboutWhom(answer));
  }

  get #line(): OneWayLine {
    const { terminal, matcher, clock } = this.#parts;
    const { sharesLine: isShared = false } = terminal.capabilities;
    const { assumptions: holds } = matcher;
    return { isShared, holds, learned: this.learned, nowMs: clock.now() };
  }
}
