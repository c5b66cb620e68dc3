import { AppError } from "../../shared/catalog/errors.ts";
import { invariant } from "../../shared/invariant.ts";
import { within } from "../../shared/time.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { CancelledInTime, storage } from "../attempts/failures.ts";
import { type Attempt, isCharged } from "../attempts/payment.ts";
import { isInDoubt, phaseTable } from "../attempts/phase-table.ts";
import { judgeReversal, saysReversedBefore } from "../attempts/reversal-machine.ts";
import type { SaleToReverse } from "../matching/fresh-number.ts";
import type { Baseline, GoodsDecision, TransactionReport } from "../terminal/terminal.ts";
import type { ArbiterTools } from "./arbiter-parts.ts";
import { alarmReversedBefore } from "./corrections.ts";
import type { OneWay } from "./one-way.ts";
import { observe, orderOf, PaymentRun, writeEnd } from "./payment-run.ts";
import type { Reconciler } from "./reconciler.ts";
import type { Recovery } from "./recovery.ts";
import type { IdentityCheck } from "./terminal-identity.ts";
import type { Held, TerminalLease } from "./terminal-lease.ts";

/** For those that take a lease. */
export interface CommandParts extends ArbiterTools {
  readonly lease: TerminalLease;
  readonly identityCheck: IdentityCheck;
  readonly recovery: Recovery;
  /** Called with what the terminal has stored, which a sale or an end of day hides. */
  readonly noteStored: (now: Baseline) => void;
  readonly oneWay: OneWay;
  readonly reconciler: Reconciler;
}

/** Calls of the arbiter to the order that is paid, made while the payment has the terminal. */
interface PaymentWork {
  /** Writes the write-ahead record. The command leaves at once afterwards. */
  begin(baseline: Baseline): Attempt;
  /** A two-phase sale was approved and waits for its goods. */
  approved(attempt: Attempt): void;
  /** The end is on disk. Must not throw. */
  ended(attempt: Attempt): void;
  /** Nothing financial has left: the attempt is recorded as failed. */
  refused(why: AppError): Attempt;
}

/**
 * The commands that may charge a card or give money back: a payment, the reversal of a sale. Each
 * takes a lease, leaves once, and ends on disk or in doubt (docs/rules/03-repeats.md,
 * docs/rules/05-evidence.md).
 */
export class FinancialCommands {
  readonly #parts: CommandParts;

  constructor(parts: CommandParts) {
    this.#parts = parts;
  }

  /**
   * Pays an order, at once or not at all: throws TERMINAL_IN_DOUBT, STOPPING, UPDATING or
   * TERMINAL_BUSY. Resolves with the attempt as it ended; rejects with STORAGE_FAILED when that is
   * not on disk.
   */
  pay(orderId: string, payment: PaymentWork): Promise<Attempt> {
    const { log, lease, identityCheck, noteStored, oneWay, reconciler } = this.#parts;
    const ended = lease.use("payment", orderId, {
      needs: "pay",
      prepare: async (preparing) => {
        const baseline = await identityCheck.prepare(preparing);
        noteStored(baseline);
        return baseline;
      },
      run: async (_terminal, baseline, held) => {
        const begun = payment.begin(baseline);
        const about = { transactionId: begun.transactionId, orderId, attempt: begun.number };
        const run = new PaymentRun(begun, this.#parts);
        held.run = run;
        void run.approved.promise.then(payment.approved);
        const finished = run.finish();
        log.info(about, "payment begins");
        const end = await this.#ended(begun, run.writer, finished, payment.ended);
        reconciler.sold(end);
        log.info(about, `payment ended: ${end.state.phase}`);
        return oneWay.decisiveAfter(end);
      },
      refused: payment.refused,
    });
    return ended.then((attempt) => this.#borneOut(attempt));
  }

  /**
   * Resolves when one or two probes of the terminal's storage have confirmed the end that the
   * terminal reported (docs/rules/22-heard-end.md). A terminal that has lost its line meanwhile is
   * not waited for.
   */
  async #borneOut(attempt: Attempt): Promise<Attempt> {
    const { clock, attempts, recovery, prepareMs, confirmAfterMs } = this.#parts;
    const { state, transactionId } = attempt;
    if (!("heard" in state)) return attempt;
    const limitMs = prepareMs + confirmAfterMs;
    await within(clock, "heard end", limitMs, recovery.recover(transactionId));
    return attempts.read(transactionId) ?? attempt;
  }

  /**
   * Reverses a sale of an order, at once or not at all: throws as {@link pay}, and NOT_SUPPORTED.
   * `saleOf` chooses the sale, or throws, when nothing else can have the terminal any more.
   */
  reverse(orderId: string, saleOf: (baseline: Baseline) => SaleToReverse): Promise<Attempt> {
    const { log, lease, identityCheck, proof } = this.#parts;
    return lease.use("reversal", orderId, {
      needs: "reverse",
      // A sale that no order knows makes the reversal unsafe by itself (docs/rules/16-fresh.md).
      prepare: (preparing) => identityCheck.prepare(preparing),
      run: async (terminal, baseline) => {
        const sale = saleOf(baseline);
        storage(() => proof?.assertKept(), "yes");
        const { transactionId } = sale.attempt;
        log.info({ transactionId, orderId }, "reversal begins");
        const writer = new AttemptWriter(sale.attempt, this.#parts);
        const run = runReversal(
          writer,
          sale.reversedBefore,
          baseline,
          terminal,
          this.#parts.matcher,
        );
        return await this.#ended(sale.attempt, writer, run);
      },
    });
  }

  /**
   * Resolves with the end of something financial: in doubt it is asked about; not on disk it is not
   * known. `ended` is called first of all, because what it begins takes others some time.
   */
  async #ended(
    begun: Attempt,
    { unwritten }: AttemptWriter,
    run: Promise<Attempt>,
    ended: PaymentWork["ended"] = () => {},
  ): Promise<Attempt> {
    const { log, settled, recovery } = this.#parts;
    const end = await run.catch((error: unknown) => {
      const { transactionId } = begun;
      log.error({ transactionId, err: error, alarm: "journal" }, "an end is not on disk");
      void recovery.doubted(begun, unwritten);
      throw new AppError("STORAGE_FAILED", undefined, { charged: "unknown", cause: error });
    });
    ended(end);
    if (isInDoubt(end.state)) void recovery.doubted(end);
    else recovery.learn();
    if (phaseTable[end.state.phase].archive === "withdrawal") settled();
    return end;
  }
}

/**
 * Reverses one charged attempt on the terminal: reservation and write-ahead record first, then the
 * command, once (docs/rules/07-returns.md). A sale that was reversed before becomes reversed
 * without a command (docs/rules/16-fresh.md). Resolves with the attempt as it stands afterwards;
 * rejects only when its end could not be written.
 */
async function runReversal(
  writer: AttemptWriter,
  reversedBefore: SaleToReverse["reversedBefore"],
  baseline: Baseline,
  terminal: Held<"reverse">,
  matcher: ArbiterTools["matcher"],
): Promise<Attempt> {
  const { state, request } = writer.attempt;
  invariant(isCharged(state), "only a charged attempt is reversed");
  const sale = state.report;
  invariant(sale.receiptNumber !== null, "a reversal names a receipt");
  if (reversedBefore) {
    const because = "the terminal's last transaction is the reversal of this sale";
    const found = writer.advance({ input: "found-reversed", report: reversedBefore, because });
    alarmReversedBefore(writer, because);
    return found;
  }
  writer.advance({ input: "reverse", baseline });
  const { goodsWindowSeconds: _, ...order } = orderOf(request);
  const end = await terminal.reverse(
    {
      ...order,
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
 * Accepts each report on the wire, because a refusal could undo a reversal that has happened. A
 * report that does not agree leaves the reversal in doubt.
 */
function writeReversal(
  writer: AttemptWriter,
  sale: TransactionReport,
  report: TransactionReport,
  matcher: ArbiterTools["matcher"],
): "accept" {
  const known = report.good ? matcher.knownInPayment(report, writer.attempt) : undefined;
  const judgement = known === undefined ? judgeReversal(sale, report) : "disagrees";
  const because = known === undefined ? {} : { because: known };
  writer.advance({ input: "report", report, judgement, ...because });
  if (judgement === "disagrees") {
    const { amountMinor, originalTrace, maskedPan } = report;
    const detail = { alarm: "reversal-mismatch", amountMinor, originalTrace, maskedPan };
    const text = "the terminal's answer to a reversal names another sale, card or amount; ";
    writer.log("error", detail, `${text}compare the terminal's receipts, then settle the order`);
  }
  return "accept";
}

/** The payment that has the terminal, for a decision or a cancel: neither takes a lease. */
export class RunningPayment {
  readonly #parts: CommandParts;

  constructor(parts: CommandParts) {
    this.#parts = parts;
  }

  /** See {@link PaymentRun.decide}. undefined: no payment of that order is on the terminal. */
  decide(orderId: string, decision: GoodsDecision): ReturnType<PaymentRun["decide"]> | undefined {
    const { held } = this.#parts.lease;
    if (held?.orderId !== orderId) return undefined;
    return held.run?.decide(decision, "the kiosk said so");
  }

  /** The terminal holds an approved sale of the order, and nothing is decided about its goods. */
  awaitsGoods(orderId: string): boolean {
    const { held } = this.#parts.lease;
    return held?.orderId === orderId && held.run?.goodsAwaitedUntilMs !== undefined;
  }

  /** Resolves when the terminal has taken the request; the payment's own answer decides. */
  async cancel(): Promise<void> {
    const { lease, terminal, inquiries } = this.#parts;
    const { held } = lease;
    if (!terminal.cancel) {
      // A payment that runs or begins may charge its order whatever is answered here.
      const charged = held || inquiries.isAsking ? "unknown" : "no";
      throw new AppError("NOT_SUPPORTED", "This terminal cannot be cancelled.", { charged });
    }
    if (held?.what !== "payment") throw new AppError("NOTHING_TO_CANCEL");
    if (!held.run) {
      held.preparing.abort(new CancelledInTime());
      return;
    }
    const answer = await held.run.cancel();
    switch (answer.answer) {
      case "taken":
        return;
      case "not-able":
      case "nothing-running":
        throw new AppError("NOTHING_TO_CANCEL");
      case "refused":
        throw new AppError("CANCEL_REFUSED", undefined, {
          details: { terminalCode: answer.code, terminalText: answer.text },
        });
      case "no-answer":
        throw new AppError("CANCEL_REFUSED", `The terminal did not answer: ${answer.text}`);
    }
  }
}
