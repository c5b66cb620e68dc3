import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../shared/catalog/errors.ts";
import { endsProcess, invariant } from "../../shared/invariant.ts";
import { within } from "../../shared/time.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { CancelledInTime, storage } from "../attempts/failures.ts";
import { type Attempt, isCharged, isNotCharged, isReversed } from "../attempts/payment.ts";
import { chargedOf, isInDoubt, isRunning } from "../attempts/phase-table.ts";
import { reversalReferenceOf } from "../attempts/reference-policy.ts";
import { judgeReversal, saysReversedBefore } from "../attempts/reversal-machine.ts";
import type { SaleToReverse } from "../matching/fresh-number.ts";
import type { Matcher } from "../matching/matcher.ts";
import {
  type Baseline,
  type CancelAnswer,
  type GoodsDecision,
  TerminalUnavailable,
  type TransactionReport,
} from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import { alarmReversedBefore } from "./corrections.ts";
import type { Inquiries } from "./inquiries.ts";
import type { OneWay } from "./one-way.ts";
import { observe, orderOf, PaymentRun, writeEnd } from "./payment-run.ts";
import type { Reconciler } from "./reconciler.ts";
import type { Recovery } from "./recovery.ts";
import type { IdentityCheck } from "./terminal-identity.ts";
import type { Held, TerminalLease } from "./terminal-lease.ts";
import type { Unmatched } from "./unmatched.ts";

/** The arbiter's own objects, which its commands use together. */
export interface ArbiterTools {
  readonly lease: TerminalLease;
  readonly inquiries: Inquiries;
  readonly identityCheck: IdentityCheck;
  /** Judges results of a one-way terminal; undefined: the terminal answers queries. */
  readonly oneWay: OneWay | undefined;
  readonly recovery: Recovery;
  readonly unmatched: Unmatched;
  readonly reconciler: Reconciler;
}

/** Notes the terminal's last stored transaction, which the next command would overwrite. */
export function noteStored(now: Baseline, { unmatched, recovery }: ArbiterTools): void {
  // Recovery probes again: an unmatched sale may belong to an attempt that stayed unknown.
  if (unmatched.found(now)) recovery.askAgain();
}

/** The callbacks for the payment of one order while this payment has the terminal. */
interface PaymentWork {
  /** Writes the write-ahead record; the command, which gets a cancel after `limitMs`, is next. */
  begin(baseline: Baseline, limitMs: number | undefined): Attempt;
  /** Called when a two-phase sale is approved and waits for the decision about the goods. */
  approved(attempt: Attempt): void;
  /** Called when the outcome of the attempt is on disk. Must not throw. */
  ended(attempt: Attempt): void;
  /** Records that the attempt failed before a financial command was sent to the terminal. */
  refused(why: AppError): Attempt;
}

/**
 * The commands that may charge a card or give money back: a payment and the reversal of a sale.
 * Each takes a lease and is sent once; its outcome is then on disk, or the attempt is in doubt
 * (docs/rules/03-repeats.md, docs/rules/05-evidence.md).
 */
export class FinancialCommands {
  readonly #parts: ArbiterParts;
  readonly #tools: ArbiterTools;

  constructor(parts: ArbiterParts, tools: ArbiterTools) {
    this.#parts = parts;
    this.#tools = tools;
  }

  /**
   * Pays an order, or throws TERMINAL_IN_DOUBT, STOPPING, UPDATING or TERMINAL_BUSY at once.
   * Resolves with the attempt and its outcome; rejects with STORAGE_FAILED when the outcome could
   * not be written to the disk.
   */
  pay(orderId: string, payment: PaymentWork): Promise<Attempt> {
    const { lease, identityCheck, oneWay, reconciler } = this.#tools;
    const { log } = this.#parts;
    const ended = lease.use("payment", orderId, {
      needs: "pay",
      prepare: async (preparing) => {
        try {
          const baseline = await identityCheck.prepare(preparing);
          noteStored(baseline, this.#tools);
          return baseline;
        } catch (error) {
          this.#askWhatRuns(error instanceof TerminalUnavailable && error.reason === "busy");
          throw error;
        }
      },
      run: async ({ cancel }, baseline, held) => {
        const { paymentTimeoutMs } = this.#parts.settings;
        const begun = payment.begin(baseline, cancel && paymentTimeoutMs);
        const about = { transactionId: begun.transactionId, orderId, attempt: begun.number };
        const run = new PaymentRun(begun, this.#parts, oneWay);
        held.run = run;
        void run.approved.promise.then(payment.approved);
        const finished = run.finish();
        log.info(about, "the payment begins");
        const end = await this.#ended(begun, run.writer, finished, payment.ended);
        reconciler.sold(end);
        log.info(about, `the payment ended in the phase ${end.state.phase}`);
        // A late result that waited for this write is judged now.
        this.#parts.terminal.endWritten?.();
        return end;
      },
      refused: payment.refused,
    });
    return ended.then((attempt) => this.#borneOut(attempt));
  }

  /**
   * Resolves with the attempt after one or two probes of the terminal's storage have checked the
   * reported outcome (docs/rules/22-heard-end.md). The wait ends early when the line is lost.
   */
  async #borneOut(attempt: Attempt): Promise<Attempt> {
    const { clock, journal, settings } = this.#parts;
    const { state, transactionId } = attempt;
    if (!("heard" in state)) return attempt;
    const limitMs = settings.prepareMs + settings.confirmAfterMs;
    await within(clock, "heard end", limitMs, this.#tools.recovery.recover(transactionId));
    return journal.attempts.read(transactionId) ?? attempt;
  }

  /**
   * Reverses a sale of an order, or throws at once: the errors of {@link pay}, or NOT_SUPPORTED.
   * `saleOf` chooses the sale or throws. It is called when the reversal already has the terminal.
   */
  reverse(orderId: string, saleOf: (baseline: Baseline) => SaleToReverse): Promise<Attempt> {
    const { lease, identityCheck } = this.#tools;
    const { log, proof } = this.#parts;
    return lease.use("reversal", orderId, {
      needs: "reverse",
      // The stored sale is not passed to `noteStored`: if no order knows the sale, the reversal is
      // refused as unsafe anyway (docs/rules/16-fresh.md).
      prepare: (preparing) => identityCheck.prepare(preparing),
      run: async (terminal, baseline) => {
        const sale = saleOf(baseline);
        storage(() => proof?.assertKept(), "yes");
        const { transactionId } = sale.attempt;
        log.info({ transactionId, orderId }, "the reversal begins");
        const writer = new AttemptWriter(sale.attempt, this.#parts);
        const run = runReversal(writer, sale.reversedBefore, baseline, terminal, this.#parts);
        return await this.#ended(sale.attempt, writer, run);
      },
    });
  }

  /**
   * Resolves with the outcome of a financial command. Recovery probes the terminal if the outcome
   * is in doubt. If the outcome could not be written to the disk, rejects with an error that says
   * so. `ended` is called first, because the hand-off that it begins takes time.
   */
  async #ended(
    begun: Attempt,
    { unwritten }: AttemptWriter,
    run: Promise<Attempt>,
    ended: PaymentWork["ended"] = () => {},
  ): Promise<Attempt> {
    const { log, clock, settled } = this.#parts;
    const { recovery } = this.#tools;
    const end = await run.catch((error: unknown) => {
      const { transactionId } = begun;
      const isFault = endsProcess(error, clock);
      void recovery.doubted(begun, isFault ? undefined : unwritten);
      if (isFault) throw error;
      const text = "the outcome of a financial command could not be written to the disk";
      log.error({ transactionId, err: error, alarm: "journal" }, text);
      throw new AppError("STORAGE_FAILED", undefined, { charged: "unknown", cause: error });
    });
    ended(end);
    if (isInDoubt(end.state)) void recovery.doubted(end);
    else recovery.learn();
    if (isReversed(end.state)) settled();
    return end;
  }

  /** A busy terminal may still carry out a command in doubt; some can be asked about each. */
  #askWhatRuns(isBusy: boolean): void {
    if (isBusy && this.#parts.terminal.recall) this.#tools.recovery.askAgain();
  }
}

/**
 * Reverses one charged attempt on the terminal: reserves the sale, writes the write-ahead record,
 * and sends the command once (docs/rules/07-returns.md). A sale that the terminal has already
 * reversed becomes reversed without a command (docs/rules/16-fresh.md). Resolves with the attempt
 * after the reversal; rejects only when the outcome could not be written.
 */
async function runReversal(
  writer: AttemptWriter,
  reversedBefore: SaleToReverse["reversedBefore"],
  baseline: Baseline,
  terminal: Held<"reverse">,
  { matcher, clock, terminal: { recall } }: ArbiterParts,
): Promise<Attempt> {
  const { state, request, transactionId } = writer.attempt;
  invariant(isCharged(state), "only a charged attempt is reversed");
  const sale = state.report;
  invariant(sale.receiptNumber !== null, "a reversal names a receipt");
  if (reversedBefore) {
    const because = "the terminal's last transaction is the reversal of this sale";
    const found = writer.advance({ input: "found-reversed", report: reversedBefore, because });
    alarmReversedBefore(writer, because);
    return found;
  }
  const named = recall && { reference: reversalReferenceOf(transactionId, clock.now()) };
  writer.advance({ input: "reverse", baseline, ...named });
  const { goodsWindowSeconds: _, ...order } = orderOf(request);
  const end = await terminal.reverse(
    {
      ...order,
      ...(sale.namedAt === undefined ? {} : { namedAt: sale.namedAt }),
      ...named,
      amountMinor: sale.amountMinor ?? order.amountMinor,
      receiptNumber: sale.receiptNumber,
    },
    { report: (report) => writeReversal(writer, sale, report, matcher), ...observe(writer) },
  );
  const { state: before } = writer.attempt;
  const ended = writeEnd(writer, end, matcher.assumptions);
  const said = saysReversedBefore("last" in before ? before.last : null, end);
  if (said && !isInDoubt(ended.state)) {
    alarmReversedBefore(writer, "the terminal says that it had reversed this sale before");
  }
  return ended;
}

/**
 * Writes the terminal's report on a reversal. Each report is accepted, because a refusal could undo
 * a reversal that has happened. A report of another sale leaves the reversal in doubt.
 */
function writeReversal(
  writer: AttemptWriter,
  sale: TransactionReport,
  report: TransactionReport,
  matcher: Matcher,
): "accept" {
  const known = report.good ? matcher.knownInPayment(report, writer.attempt) : undefined;
  const judgement = known === undefined ? judgeReversal(sale, report) : "disagrees";
  const because = known === undefined ? {} : { because: known };
  writer.advance({ input: "report", report, judgement, ...because });
  if (judgement === "disagrees") {
    const { amountMinor, originalTrace, maskedPan } = report;
    const detail = { alarm: "reversal-mismatch", amountMinor, originalTrace, maskedPan } as const;
    const text = "the terminal's answer to a reversal names another sale, card or amount; ";
    writer.log("error", detail, `${text}compare the terminal's receipts, then settle the order`);
  }
  return "accept";
}

const nothingRuns: CancelAnswer = { answer: "nothing-running" };

/** Acts on the running payment: decides whether its goods came out, or cancels the payment. */
export class RunningPayment {
  readonly #parts: ArbiterParts;
  readonly #tools: ArbiterTools;

  constructor(parts: ArbiterParts, tools: ArbiterTools) {
    this.#parts = parts;
    this.#tools = tools;
  }

  /** Records whether a sale's goods came out. undefined: no payment of that order is running. */
  decide(orderId: string, decision: GoodsDecision): ReturnType<PaymentRun["decide"]> | undefined {
    const { held } = this.#tools.lease;
    if (held?.orderId !== orderId) return undefined;
    return held.run?.decide(decision, "the kiosk said so");
  }

  /**
   * Writes a decision about the goods that comes too late for the terminal, unless the kiosk has
   * decided the same before. The decision is about the newest attempt that was approved: no other
   * had goods to give. `decisive`: the attempt that decides the order's status. Raises an alarm for
   * goods of an order that is not charged.
   */
  decideLate(decisive: Attempt, decision: GoodsDecision): void {
    const { attempts } = this.#parts.journal;
    const all = attempts.ofOrder(decisive.request.orderId);
    const sold = all.findLast((each) => attempts.hadGoods(each));
    if (!sold && isRunning(decisive.state)) return;
    const attempt = sold ?? decisive;
    const writer = new AttemptWriter(attempt, this.#parts);
    const isAgain = isDeepStrictEqual(writer.goodsSaid?.input?.["decision"], decision);
    if (isAgain && !isNotCharged(attempt.state)) return;
    // A repeated decision raises an alarm that was lost because the process ended before it.
    const isOut = decision.goods !== "not-issued";
    if (isOut && chargedOf(decisive) !== "yes") writer.alarmUnpaidGoods();
    // An archived attempt has no events any more.
    if (isAgain || attempts.read(attempt.transactionId) === undefined) return;
    const approved = sold !== undefined;
    writer.advance({ input: "decide-late", decision, ...(approved && { approved }) });
  }

  awaitsGoods(orderId: string): boolean {
    const { held } = this.#tools.lease;
    return held?.orderId === orderId && held.run?.goodsAwaitedUntilMs !== undefined;
  }

  get #isAnyOpen(): boolean {
    const { attempts } = this.#parts.journal;
    return storage(() => attempts.unfinished(), "unknown").length > 0;
  }

  /** Asks the terminal to cancel the payment. Resolves when it agrees, not with the outcome. */
  async cancel(unsaid?: true): Promise<void> {
    const { held } = this.#tools.lease;
    if (!this.#parts.terminal.cancel) {
      // Without a cancel command, a payment that runs or begins can still charge its order.
      const charged = held || this.#tools.inquiries.isAsking ? "unknown" : "no";
      throw new AppError("NOT_SUPPORTED", "This terminal cannot be cancelled.", { charged });
    }
    if (held?.what === "payment" && !held.run) {
      held.preparing.abort(new CancelledInTime());
      return;
    }
    const cancelled = held?.what === "payment" ? held.run?.cancel(unsaid) : undefined;
    const answer = (await (cancelled ?? this.#tools.recovery.lost.abortAll())) ?? nothingRuns;
    switch (answer.answer) {
      case "taken":
        return;
      case "nothing-running":
        // The payment may have just ended, or an order may be in doubt.
        throw new AppError("NOTHING_TO_CANCEL", undefined, {
          charged: held?.what === "payment" || this.#isAnyOpen ? "unknown" : "no",
        });
      case "refused":
        throw new AppError("CANCEL_REFUSED", undefined, {
          details: { terminalCode: answer.code, terminalText: answer.text },
        });
      case "no-answer":
        throw new AppError("CANCEL_REFUSED", `The terminal did not answer: ${answer.text}`);
    }
  }
}
