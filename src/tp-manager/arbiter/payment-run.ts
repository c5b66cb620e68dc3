import { isDeepStrictEqual } from "node:util";
import { BrokenInvariant, invariant } from "../../shared/invariant.ts";
import { isoTime, type Timer } from "../../shared/time.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { compareReports, mayBeAnotherSale, namesAnotherSale } from "../attempts/comparison.ts";
import {
  type Attempt,
  goodsWindowSeconds,
  isApproved,
  isCharged,
  isPaying,
  type PaymentRequest,
  saleOf,
} from "../attempts/payment.ts";
import { judgeReport } from "../attempts/payment-machine.ts";
import { referenceOf } from "../attempts/reference-policy.ts";
import { type Assumptions, finalOf } from "../matching/assumptions.ts";
import type {
  CancelAnswer,
  GoodsDecision,
  PaymentEnd,
  PaymentObserver,
  PaymentOrder,
  Prompt,
  TransactionReport,
} from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import { alarmDifference, alarmMismatch } from "./corrections.ts";
import type { OneWay } from "./one-way.ts";

/** A customer is warned this long before the end, but not before half of the payment's time. */
const TIME_WARNING_MS = 30_000;

/**
 * Runs one payment on the terminal from its baseline (docs/rules/01-baseline.md) to the outcome:
 * passes the terminal's messages to the payment machine, and writes each new state before the next.
 */
export class PaymentRun {
  readonly #parts: ArbiterParts;
  readonly #oneWay: OneWay | undefined;
  readonly writer: AttemptWriter;
  /** Resolves when the terminal approved a two-phase sale, which waits for the goods decision. */
  readonly approved = Promise.withResolvers<Attempt>();
  #timer: Timer | undefined;
  #warning: Timer | undefined;
  /** When the timer ends the payment or its wait for the goods; undefined: no timer does. */
  endsAtMs: number | undefined;
  #cancelAsked = false;
  /** Whether the terminal has ended the payment, so that a goods decision comes too late. */
  #isOver = false;

  constructor(attempt: Attempt, parts: ArbiterParts, oneWay: OneWay | undefined) {
    this.#parts = parts;
    this.#oneWay = oneWay;
    this.writer = new AttemptWriter(attempt, parts);
  }

  /**
   * Resolves with the attempt and its outcome. Rejects only when the outcome could not be written;
   * the journal then still has the attempt as "sent", and recovery probes the terminal.
   */
  async finish(): Promise<Attempt> {
    const { terminal, clock, settings, matcher } = this.#parts;
    const { paymentTimeoutMs } = settings;
    const oneWay = this.#oneWay;
    const { request, transactionId } = this.writer.attempt;
    if (terminal.cancel) this.#warn();
    this.#timer = clock.startTimer("payment time limit", paymentTimeoutMs, () => {
      const detail = { paymentTimeoutMs };
      if (!terminal.cancel) {
        this.writer.log("warn", detail, "time limit reached; the terminal cannot be cancelled");
        return;
      }
      this.writer.log("warn", detail, "time limit reached, asking the terminal to cancel");
      this.cancel().catch((error: unknown) =>
        this.writer.log("error", { err: error }, "the cancel at the time limit failed"),
      );
    });
    try {
      const end = await terminal.pay(
        {
          ...orderOf(request),
          get reference() {
            return referenceOf(transactionId); // computed only when a driver reads the reference
          },
          inSync: () => this.#isInSync,
        },
        {
          report: (received) => {
            const report = oneWay?.withContradictions(received, this.writer.attempt) ?? received;
            const reply = this.#report(report);
            oneWay?.learn(report);
            return reply;
          },
          ...(oneWay && { concerns: (result) => oneWay.isOf(this.writer.attempt, result) }),
          ...observe(this.writer),
        },
      );
      const ended = writeEnd(this.writer, end, matcher.assumptions, this.#cancelAsked);
      if (this.#cancelAsked && isCharged(ended.state)) {
        // The approval counts despite our cancel, so an operator must know (docs/design.md 5.13).
        const detail = { alarm: "approved-after-cancel" } as const;
        this.writer.log("error", detail, "the terminal approved a payment that was cancelled");
      }
      return ended;
    } finally {
      this.#isOver = true;
      this.#clearTimers();
    }
  }

  /** Sets when this payment ends, and announces before its end that its time is nearly over. */
  #warn(): void {
    const { announce, clock, settings } = this.#parts;
    const { transactionId, request, startedAtMs } = this.writer.attempt;
    const warnMs = Math.min(TIME_WARNING_MS, settings.paymentTimeoutMs / 2);
    this.endsAtMs = startedAtMs + settings.paymentTimeoutMs;
    const end = { endsAt: isoTime(this.endsAtMs), secondsLeft: Math.ceil(warnMs / 1000) };
    const data = { orderId: request.orderId, transactionId, ...end };
    const waitMs = settings.paymentTimeoutMs - warnMs;
    this.#warning = clock.startTimer("payment time warning", waitMs, () =>
      announce?.({ name: "time-warning", data }),
    );
  }

  #clearTimers(): void {
    this.#timer?.clear();
    this.#warning?.clear();
    this.endsAtMs = undefined;
  }

  /**
   * Whether journal and terminal agree on everything before this attempt: no other attempt is
   * unfinished, and the terminal's last transaction before this attempt is the journal's last sale.
   * Only then may the terminal be asked to undo a sale that the journal lacks
   * (docs/rules/13-receipt.md). false when the journal cannot be read.
   */
  get #isInSync(): boolean {
    const { attempts } = this.#parts.journal;
    const { transactionId, baseline } = this.writer.attempt;
    try {
      const others = attempts.unfinished().filter((open) => open.transactionId !== transactionId);
      if (others.length > 0 || !baseline) return false;
      const states = attempts.newest().map(({ state }) => state);
      const last = states.find((state) => saleOf(state) !== undefined);
      if (!last) return baseline.last.kind === "none";
      return (
        isCharged(last) &&
        baseline.last.kind === "transaction" &&
        compareReports(last.report, baseline.last.report) === "same"
      );
    } catch (error) {
      this.writer.log("error", { err: error }, "the journal could not be read");
      return false;
    }
  }

  /** Asks the terminal once to cancel; its answer decides no outcome (docs/rules/06-timeout.md). */
  async cancel(unsaid?: true): Promise<CancelAnswer> {
    if (this.#isUndecided) {
      this.decide({ goods: "not-issued" }, "cancelled before the goods came out", unsaid);
      return { answer: "taken" };
    }
    const { terminal } = this.#parts;
    invariant(terminal.cancel, "a payment is cancelled only at a terminal that can do so");
    this.#cancelAsked = true;
    const answer = await terminal.cancel();
    this.writer.note("cancel", answer);
    return answer;
  }

  /**
   * Records whether the goods of an approved sale came out, first on disk and then at the terminal.
   * Returns "taken"; "decided" when the same decision was recorded before; "other" when another
   * decision was recorded, or when the sale waits for no decision. `unsaid`: not by the kiosk.
   */
  decide(decision: GoodsDecision, why: string, unsaid?: true): "taken" | "decided" | "other" {
    const { state } = this.writer.attempt;
    const goods = isPaying(state) ? state.goods : null;
    if (!goods) return "other";
    const { unsaid: _, ...known } = goods.decision ?? {};
    if (goods.decision) return isDeepStrictEqual(known, decision) ? "decided" : "other";
    if (this.#isOver) return "other";
    const written = { ...decision, ...(unsaid && { unsaid }) };
    this.writer.advance({ input: "decide", decision: written, why });
    this.#clearTimers();
    this.#parts.terminal.decideGoods?.(decision);
    return "taken";
  }

  /** When the payment's wait for a decision about the goods ends, in epoch milliseconds. */
  get goodsAwaitedUntilMs(): number | undefined {
    const { state } = this.writer.attempt;
    if (!this.#isUndecided || !isPaying(state)) return undefined;
    // The terminal waits for the goods decision only if its last report agrees with the request.
    return state.last?.judgement === "agrees" ? state.goods?.decideByMs : undefined;
  }

  get #isUndecided(): boolean {
    return !this.#isOver && isApproved(this.writer.attempt.state);
  }

  #report(report: TransactionReport): "accept" | "refuse" | "hold" {
    const { state, request } = this.writer.attempt;
    const { matcher } = this.#parts;
    const goods = isPaying(state) ? state.goods : null;
    const first = isPaying(state) && state.last?.report.good ? state.last.report : undefined;
    if (first && report.good) {
      // Whether a receipt or trace number shows a second sale (docs/rules/20-second-sale.md).
      const isNamed = namesAnotherSale(first, report);
      // Whether the report can be another sale although no number shows this. After a goods
      // decision the terminal sends a second report of the same sale, which may lack numbers too.
      const isTimed = !goods?.decision && mayBeAnotherSale(first, report);
      if (isNamed || isTimed) this.#alarmSecondSale(report);
      // After the goods decision, our refusal of a report could undo what was decided.
      if (isNamed && !goods?.decision) {
        this.writer.advance({ input: "second-sale", report });
        return "refuse";
      }
    }
    const expectedMinor =
      goods?.decision?.goods === "partly-issued" ? goods.decision.amountMinor : request.amountMinor;
    const order = { amountMinor: expectedMinor, currencyNumeric: request.currency.numeric };
    const known = report.good ? matcher.knownInPayment(report, this.writer.attempt) : undefined;
    const judgement = known === undefined ? judgeReport(order, report) : "disagrees";
    if (judgement === "agrees" && request.delivery && !goods) return this.#hold(report);
    const because = known === undefined ? {} : { because: known };
    this.writer.advance({ input: "report", report, judgement, ...because });
    if (judgement !== "disagrees") {
      alarmDifference(this.writer, report);
      return "accept";
    }
    const { cannotRefuse } = this.#parts.terminal.capabilities;
    const fate = cannotRefuse ? "it cannot be refused" : "refused";
    alarmMismatch(this.writer, report, known === undefined ? fate : `${known}; ${fate}`);
    return "refuse";
  }

  #alarmSecondSale({ receiptNumber, traceNumber, amountMinor }: TransactionReport): void {
    const detail = {
      alarm: "second-sale-in-payment",
      receiptNumber,
      traceNumber,
      amountMinor,
    } as const;
    const text =
      "the terminal reported a second sale in one payment: see in the terminal's journal whether " +
      "the customer was charged twice, and give one charge back";
    this.writer.log("error", detail, text);
  }

  #hold(report: TransactionReport): "hold" {
    const { clock } = this.#parts;
    const windowMs = (this.writer.attempt.request.delivery?.withinSeconds ?? 0) * 1000;
    const decideByMs = clock.now() + windowMs;
    const attempt = this.writer.advance({ input: "hold", report, decideByMs });
    this.#clearTimers();
    this.endsAtMs = decideByMs;
    this.#timer = clock.startTimer("goods window", windowMs, () => this.#windowIsOver());
    this.approved.resolve(attempt);
    return "hold";
  }

  #windowIsOver(): void {
    try {
      const why = "the kiosk did not say in time whether goods came out";
      this.decide({ goods: "not-issued" }, why, true);
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      // If no decision reaches the terminal, it reverses the sale by itself (docs/zvt.md 8.2).
      const detail = { err: error, alarm: "journal" } as const;
      const text = "could not write to the journal that the time for the goods is over";
      this.writer.log("error", detail, text);
    }
  }
}

/** Returns the callbacks for the driver that are the same for every financial command. */
export function observe(writer: AttemptWriter): Omit<PaymentObserver, "report"> {
  return {
    ackArrived: () => writer.heard({ input: "acknowledged" }),
    prompt: (prompt: Prompt) => writer.prompted(prompt),
  };
}

/** Writes the end of a command. `cancelled`: we had asked the terminal to cancel the command. */
export function writeEnd(
  writer: AttemptWriter,
  said: PaymentEnd,
  assumptions: Assumptions,
  cancelled = false,
): Attempt {
  const end = believed(said, writer.attempt.state, assumptions);
  return writer.advance({ input: "end", end, ...(cancelled ? { cancelled } : {}) });
}

/** Returns the reported end; "lost" if it rests on an assumption (docs/matching.md) that is off. */
function believed(end: PaymentEnd, state: Attempt["state"], assumptions: Assumptions): PaymentEnd {
  if (end.end !== "completed" && end.end !== "aborted") return end;
  const report = "last" in state ? state.last?.report : undefined;
  const isGood = end.end === "completed" && report?.good !== false;
  const reason = end.end === "aborted" ? end.reason : (report?.reason ?? null);
  const needed = isGood ? "own-report" : finalOf(reason);
  if (assumptions.has(needed)) return end;
  const code = "code" in end ? ` with ${end.code}` : "";
  const text = `the terminal ended it${code}, which alone proves nothing here`;
  return { end: "lost", code: needed, text, ticket: end.ticket };
}

export function orderOf(request: PaymentRequest): PaymentOrder {
  const { amountMinor, currency } = request;
  const windowSeconds = goodsWindowSeconds(request);
  return {
    amountMinor,
    currencyNumeric: currency.numeric,
    currencyAlpha: currency.alpha,
    ...(windowSeconds === undefined ? {} : { goodsWindowSeconds: windowSeconds }),
  };
}
