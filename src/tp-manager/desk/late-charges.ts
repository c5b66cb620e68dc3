import type { Logger } from "../../shared/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { AttemptStore } from "../attempts/attempt-store.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { compareReports, sameTerminal } from "../attempts/comparison-policy.ts";
import { askedOf, canBeSaleOf, doubtOfLateReport } from "../attempts/doubt-policy.ts";
import { PAYMENT_UNKNOWN } from "../attempts/event-table.ts";
import type { Known, Look } from "../attempts/evidence-policy.ts";
import { judge } from "../attempts/ladder-policy.ts";
import { canHaveLeft } from "../attempts/never-sent.ts";
import { type Attempt, isNotCharged } from "../attempts/payment.ts";
import { judgeReport } from "../attempts/payment-machine.ts";
import { isFromPayment } from "../attempts/payment-time-policy.ts";
import { isInDoubt } from "../attempts/phase-table.ts";
import type { StrayRow, TerminalLog } from "../attempts/terminal-log.ts";
import type { LastTransaction, TerminalFacts, TransactionReport } from "../terminal/terminal.ts";
import { mayBeItsReversal } from "./unknown-sale.ts";

type Stray = Pick<StrayRow, "atMs" | "report" | "identity">;

interface LateParts {
  readonly attempts: AttemptStore;
  readonly terminalLog: Pick<TerminalLog, "telecollectionSince" | "strays">;
  readonly terminal: TerminalFacts;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when an attempt has become charged, so that it is handed over. */
  readonly settled: (attempt: Attempt) => void;
}

/** The newest attempts; a late report belongs to one of the last minutes. */
const ATTEMPTS_LOOKED_AT = 20;
/** The newest ones; a sale in doubt is of the last minutes. */
const STRAYS_LOOKED_AT = 10;
/** Ends by the terminal's own word, or by what its storage proved. */
const byTerminal = ["end-aborted", "end-completed", "end-refused", "recovery-not-charged"];

/**
 * The order that a late report belongs to (docs/design.md 3.19): one that was told as not charged,
 * because the terminal had ended its payment.
 */
export class LateCharges {
  readonly #parts: LateParts;

  constructor(parts: LateParts) {
    this.#parts = parts;
  }

  /** The orders that a stray could be the late report of. Throws when the journal fails. */
  candidates(stray: Stray): string[] {
    return [...new Set(this.#fitting(stray).map(({ request }) => request.orderId))];
  }

  /**
   * The terminal has kept a late report. When exactly one attempt fits, it becomes charged, and its
   * order is returned; else the orders that fit are not known any more. Throws when the journal
   * fails.
   */
  find(stray: StrayRow, look: Look): string | undefined {
    const fitting = this.#fitting(stray);
    const orders = new Set(fitting.map(({ request }) => request.orderId));
    const [newest] = this.#sent(stray);
    const isNewest = newest !== undefined && fitting[0]?.transactionId === newest.transactionId;
    const isOnly = new Set([...orders, ...this.#doubtful(stray)]).size === 1;
    if (isNewest && isOnly && this.#isProved(newest, stray, look)) {
      this.#charge(newest, stray);
      return newest.request.orderId;
    }
    for (const orderId of orders) {
      if (!this.#doubted(orderId, fitting, stray)) this.#tellTwice(orderId, fitting);
    }
    return undefined;
  }

  /**
   * Another order that what the terminal has stored can be of, beside that of `attempt` in doubt:
   * the terminal reported it when nothing ran, so it named neither; or it never reported it, and
   * had ended the other one's payment shortly before. null: there is none. Throws when the journal
   * fails.
   */
  rivalOf(attempt: Attempt, last: LastTransaction): string | null {
    const { orderId } = attempt.request;
    if (last.kind !== "transaction") return null;
    const strays = this.#parts.terminalLog
      .strays(STRAYS_LOOKED_AT)
      .filter(({ report }) => compareReports(report, last.report) !== "different");
    const orders = strays.flatMap((stray) => [...this.candidates(stray), ...this.#doubtful(stray)]);
    orders.push(...this.#turnedAwayBefore(attempt, last.report));
    return orders.find((other) => other !== orderId) ?? null;
  }

  /** Orders whose payment the terminal had ended before, and whose late sale this can be. */
  #turnedAwayBefore(attempt: Attempt, report: TransactionReport): string[] {
    const { baseline, state, startedAtMs, transactionId } = attempt;
    const own = "last" in state ? state.last?.report : undefined;
    if (!baseline || (own && compareReports(own, report) === "same")) return [];
    const { paymentLimitMs } = this.#parts.terminal.capabilities;
    const found = { atMs: startedAtMs, report, identity: baseline.identity };
    const sent = this.#sent(found);
    const before = sent.slice(sent.findIndex((each) => each.transactionId === transactionId) + 1);
    return (
      this.#fitting(found, before)
        .filter(
          (each) => wasTurnedAway(each) && this.#hasEvent(each.transactionId, ["end-aborted"]),
        )
        // A sale that was approved and taken back has told its own numbers.
        .filter((each) => !this.#hasEvent(each.transactionId, ["approved"]))
        .filter(({ endedAtMs }) => Math.abs(startedAtMs - (endedAtMs ?? 0)) <= paymentLimitMs)
        .map(({ request }) => request.orderId)
    );
  }

  /** Orders in doubt at this terminal that can have made the sale, or what looks like one. */
  #doubtful({ report, identity }: Stray): string[] {
    const { attempts, terminal } = this.#parts;
    const { paymentLimitMs } = terminal.capabilities;
    const fitting = attempts.unfinished().filter((attempt) => {
      const { state, baseline } = attempt;
      if (!isInDoubt(state) || !baseline || !sameTerminal(baseline.identity, identity))
        return false;
      if ("sale" in state) return mayBeItsReversal(attempt, report, attempts, paymentLimitMs);
      // A record that was found for more than one order is nobody's own report.
      const good = state.last?.report.good && !state.told ? state.last.report : null;
      const isAnother = good !== null && compareReports(good, report) === "different";
      return !isAnother && canBeSaleOf(attempt, state, report, paymentLimitMs);
    });
    return fitting.map(({ request }) => request.orderId);
  }

  /** Sent to this terminal, newest first. */
  #sent({ identity }: Stray): Attempt[] {
    const { attempts } = this.#parts;
    const page = { sinceMs: 0, status: null, limit: ATTEMPTS_LOOKED_AT, before: null };
    return attempts
      .list(page)
      .map(({ attempt }) => attempt)
      .filter(({ baseline }) => baseline !== null && sameTerminal(baseline.identity, identity))
      .filter((attempt) => canHaveLeft(attempts, attempt));
  }

  /** Told as not charged a short while before, for what the stray charged. */
  #fitting(stray: Stray, among = this.#sent(stray)): Attempt[] {
    const { paymentLimitMs } = this.#parts.terminal.capabilities;
    return among.filter((attempt) => {
      const { state, request, endedAtMs, transactionId } = attempt;
      const { amountMinor, currency } = request;
      const order = { amountMinor, currencyNumeric: currency.numeric };
      return (
        isNotCharged(state) &&
        judgeReport(order, stray.report) === "agrees" &&
        this.#hasEvent(transactionId, byTerminal) &&
        // A wall clock can jump either way. A sale that was only found tells its own time.
        (Math.abs(stray.atMs - (endedAtMs ?? 0)) <= paymentLimitMs ||
          isFromPayment(askedOf(attempt, paymentLimitMs), stray.report) === true)
      );
    });
  }

  #hasEvent(transactionId: string, kinds: readonly string[]): boolean {
    return this.#parts.attempts.events(transactionId).some(({ kind }) => kinds.includes(kind));
  }

  /** As a payment in doubt would be judged whose report this is; the stray was looked at twice. */
  #isProved(attempt: Attempt, { report }: StrayRow, look: Look): boolean {
    const { attempts, terminalLog, terminal } = this.#parts;
    const { transactionId, startedAtMs } = attempt;
    const known: Known = {
      foundIs: attempts.orderOfReport(report, transactionId) ?? null,
      rival: null,
      strayIs: null,
      next: null,
      soldSince: false,
      closedSince: terminalLog.telecollectionSince(startedAtMs, transactionId) !== undefined,
    };
    if (known.closedSince || attempts.nextCommand(transactionId)) return false;
    const { paymentLimitMs: limitMs } = terminal.capabilities;
    const times = { lostSinceMs: look.atMs, limitMs, printsCount: false };
    const doubt = doubtOfLateReport(attempt, report, times);
    const earlier = { ...look, sinceMs: look.atMs };
    return judge(doubt, look, known, earlier, 0).verdict === "charged";
  }

  #charge(attempt: Attempt, { report }: StrayRow): void {
    const writer = new AttemptWriter(attempt, this.#parts);
    const because = "the terminal keeps it, and had reported it after it had ended the payment";
    const charged = writer.advance({ input: "found-charged", report, because });
    const words =
      "the terminal kept a sale that it reported after it had ended the payment; the order had " +
      "been answered as not charged and is charged: see that the customer gets the goods, or " +
      "give the money back";
    writer.log("error", { alarm: "charged-late" }, words);
    this.#parts.settled(charged);
  }

  /** false: another attempt speaks for the order, because it was tried again and not in vain. */
  #doubted(orderId: string, fitting: readonly Attempt[], { report }: StrayRow): boolean {
    const attempt = fitting.find(({ request }) => request.orderId === orderId);
    const latest = this.#parts.attempts.latest(orderId);
    if (!attempt || !latest || !isNotCharged(latest.state)) return false;
    const writer = new AttemptWriter(attempt, this.#parts);
    const because = "the terminal keeps it, and it can be another order's as well";
    writer.advance({ input: "found-doubtful", report, because });
    const words =
      `order ${orderId} is unknown now: it had been answered as not charged, and the terminal ` +
      "holds a sale that can be this order's or another's: compare, and settle it";
    writer.log("error", { alarm: PAYMENT_UNKNOWN }, words);
    return true;
  }

  #tellTwice(orderId: string, fitting: readonly Attempt[]): void {
    const { attempts, log } = this.#parts;
    const first = fitting.findLast(({ request }) => request.orderId === orderId);
    const again = attempts.ofOrder(orderId).find(({ number }) => number > (first?.number ?? 0));
    if (!first || !again) return;
    log.error(
      { alarm: "order-charged-twice", orderId, transactionId: first.transactionId },
      `the terminal holds a sale that can be attempt ${first.number} of order ${orderId}, which ` +
        "was tried again meanwhile: look at the terminal's journal, and give one charge back if " +
        "there are two",
    );
  }
}

/** A decline is the bank's word: no approval follows it. */
const wasTurnedAway = ({ state }: Attempt): boolean =>
  isNotCharged(state) && state.outcome.status !== "declined";
