import { isDeepStrictEqual } from "node:util";
import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Logger } from "../../shared/logger.ts";
import { currencyOf, formatMajor } from "../../shared/money.ts";
import type { Clock } from "../../shared/time.ts";
import type { AttemptStore } from "../attempts/attempt-store.ts";
import { compareReports } from "../matching/comparison.ts";
import { doubtOfStray } from "../matching/doubt.ts";
import type { Known, Look } from "../matching/facts.ts";
import {
  type Conclusion,
  judge,
  type StrayFinding,
  strayFindings,
  type Verdict,
} from "../matching/table.ts";
import type { Attempt } from "../attempts/payment.ts";
import type { StrayRow, TerminalLog } from "../attempts/terminal-log.ts";
import type { Baseline, TerminalFacts, TransactionReport } from "../terminal/terminal.ts";
import type { Inquiries, Question } from "./inquiries.ts";
import type { LateCharges } from "./late-charges.ts";
import { mayBeItsReversal, unknownSale } from "./unknown-sale.ts";

interface StrayParts {
  readonly attempts: Pick<AttemptStore, "orderOfReport" | "newest" | "unfinished" | "events">;
  readonly terminalLog: TerminalLog;
  readonly terminal: TerminalFacts;
  readonly clock: Clock;
  readonly log: Logger;
  /** Time between the two looks that show that the terminal keeps the sale. */
  readonly confirmAfterMs: number;
  readonly inquiries: Inquiries;
  readonly lateCharges: LateCharges;
  /** The order that a stored reversal gives back; see {@link findReversed}. */
  readonly reversed: (now: Baseline) => string | undefined;
  /** The sale that {@link reversed} would tell as given back. */
  readonly givenBack: (now: Baseline) => Attempt | undefined;
  /** The terminal has stored a sale that no order can be told of: a journal may have been lost. */
  readonly unmatched: (now: Baseline) => void;
}

/**
 * Results that the terminal reports although nothing runs (docs/design.md 3.4). The driver refuses
 * them on the wire; here they are stored and told, and the terminal is asked whether it has kept
 * them in spite of that. Nothing is sold meanwhile, because the next sale would hide the answer.
 */
export class StrayReports {
  readonly #parts: StrayParts;
  readonly #open = new Map<string, StrayRow>();
  #asked = 0;

  constructor(parts: StrayParts) {
    this.#parts = parts;
  }

  /** At start: takes up the reports that an earlier process did not ask about. */
  begin(): void {
    for (const row of this.#parts.terminalLog.openStrays()) this.#ask(row);
  }

  /** The terminal has reported `report`, and it was refused. Never throws. */
  take(report: TransactionReport): void {
    const { log, terminal, clock } = this.#parts;
    const { good, resultCode, amountMinor, receiptNumber, traceNumber, terminalId } = report;
    const told = { good, resultCode, amountMinor, receiptNumber, traceNumber, terminalId };
    const { identity } = terminal.state;
    const seen = { atMs: clock.now(), report, identity, isUnmatched: false };
    const kept = this.#keep(seen);
    if (kept === "repeated") {
      log.warn(told, "the terminal reported the same result again although no payment runs");
      return;
    }
    log.error(
      { alarm: "unexpected-report", ...told },
      "the terminal reported a result although no payment runs; refused",
    );
    // A result that the terminal itself calls not good charged nobody.
    if (good || resultCode === null) this.#ask({ id: kept, ...seen });
  }

  /**
   * A payment is about to leave, and the terminal has told what it has stored: a sale that no order
   * knows is asked about first, because the payment would hide it (docs/design.md 3.19). Only one
   * that an order of ours could be told of late, or while one is in doubt. One that no order could
   * be told of may be of a journal that was lost, whatever is found out (docs/design.md 3.17). The
   * reversal of a sale that is told as charged likewise. Returns whether there is one. Throws for a
   * fault of the program only.
   */
  found(now: Baseline): boolean {
    const { attempts, clock, log, lateCharges } = this.#parts;
    try {
      const given = this.#parts.givenBack(now);
      const stored = now.last.kind === "transaction" ? now.last.report : undefined;
      // The terminal may still take a reversal back that it has stored (docs/design.md 3.16).
      const report = given ? stored : unknownSale(attempts, now);
      if (!report || this.#isOpen(report) || this.#wasAsked(report)) return false;
      const where = { atMs: clock.now(), report, identity: now.identity };
      const { receiptNumber, traceNumber, amountMinor } = report;
      const isUnmatched = !given && lateCharges.candidates(where).length === 0;
      if (isUnmatched && !this.#isOfDoubt(report)) return false;
      const seen = { ...where, isUnmatched };
      const kept = this.#keep(seen);
      if (kept === "repeated") return false;
      // First of all, so that it is asked about whatever fails behind this line.
      this.#ask({ id: kept, ...seen });
      // The payment is refused until the terminal was asked, and may be what it shows.
      if (isUnmatched) this.#parts.unmatched(now);
      const told = { alarm: "unexpected-report", receiptNumber, traceNumber, amountMinor };
      const what = given ? "reversal that nobody here asked for" : "sale that no order knows";
      log.error(told, `the terminal has stored a ${what}; it is asked about`);
      return true;
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      log.error({ err: error }, "the journal could not be read about the terminal's last sale");
      return false;
    }
  }

  /**
   * The very same record was asked about and told before. On a terminal that names its transactions
   * by no number nothing more can be found out, and sales go on.
   */
  #wasAsked(report: TransactionReport): boolean {
    if (report.receiptNumber !== null || report.traceNumber !== null) return false;
    const [newest] = this.#parts.terminalLog.strays(1);
    const isTold = newest?.finding === "held" || newest?.finding === "unclear";
    return isTold && isDeepStrictEqual(newest.report, report);
  }

  /** Something is in doubt, and it is not a reversal that may have stored what was found. */
  #isOfDoubt(report: TransactionReport): boolean {
    const { attempts, terminal } = this.#parts;
    const { paymentLimitMs } = terminal.capabilities;
    const open = attempts.unfinished();
    return (
      open.length > 0 &&
      !open.some((attempt) => mayBeItsReversal(attempt, report, attempts, paymentLimitMs))
    );
  }

  #isOpen(report: TransactionReport): boolean {
    return [...this.#open.values()].some((row) => compareReports(row.report, report) === "same");
  }

  /** See {@link TerminalDesk.lateReport}. A journal that cannot be read knows of no order. */
  lateReport(orderId: string): Promise<void> | undefined {
    const { lateCharges, inquiries, log } = this.#parts;
    try {
      const late = [...this.#open].find(([, row]) => lateCharges.candidates(row).includes(orderId));
      return late && inquiries.ended(late[0]);
    } catch (error) {
      log.error({ err: error }, "the journal could not be read about an unexpected report");
      return undefined;
    }
  }

  #keep(seen: Omit<StrayRow, "id">): number | null | "repeated" {
    const { terminalLog, log } = this.#parts;
    // A journal that takes no record cannot tell that this report was told before.
    const isAsked = [...this.#open.values()].some(
      ({ id, report }) => id === null && compareReports(report, seen.report) === "same",
    );
    if (isAsked) return "repeated";
    try {
      return terminalLog.keepStray(seen) ?? "repeated";
    } catch (error) {
      log.error({ err: error, alarm: "journal" }, "the journal did not take an unexpected report");
      return null;
    }
  }

  #ask(row: StrayRow): void {
    this.#asked += 1;
    const key = `stray ${this.#asked}`;
    this.#open.set(key, row);
    void this.#parts.inquiries.ask(this.#questionOf(key, row));
  }

  #questionOf(key: string, row: StrayRow): Question {
    const { clock, terminal, confirmAfterMs } = this.#parts;
    const { receiptNumber, traceNumber } = row.report;
    const lostSinceMs = clock.monotonicMs();
    let isTold = false;
    let { id } = row;
    return {
      key,
      orderId: null,
      about: { receiptNumber, traceNumber },
      identity: row.identity,
      blocks: true,
      // The result may belong to an attempt in doubt.
      comesLast: true,
      isOpen: () => true,
      judge: (look, earlier) => {
        const { paymentLimitMs: limitMs } = terminal.capabilities;
        const times = { lostSinceMs, limitMs, printsCount: false };
        const doubt = doubtOfStray(row, times);
        return judge(doubt, look, this.#known(row), earlier, confirmAfterMs);
      },
      conclude: (conclusion, look) => {
        const { terminalLog } = this.#parts;
        const { finding, because } = this.#finding(conclusion, row, look);
        if (!isTold) this.#tell(row.report, { finding, because });
        isTold = true;
        id ??= terminalLog.keepStray(row) ?? null;
        if (id !== null) terminalLog.endStray(id, clock.now(), finding, because);
        this.#open.delete(key);
      },
      giveUp: (because) => ({ verdict: "unclear", because }),
      note: () => {},
    };
  }

  /** A sale that the terminal holds may be that of an order which was told otherwise. */
  #finding(conclusion: Conclusion, row: StrayRow, look: Look | null): Found {
    const found = foundIn(conclusion);
    if (found.finding !== "held" || !look) return found;
    const given = this.#parts.reversed({ ...look, clockOffsetMs: null });
    if (given !== undefined) {
      return { finding: "known", because: `it is the reversal of order ${given}, reported late` };
    }
    const orderId = this.#parts.lateCharges.find(row, look);
    if (orderId === undefined) return this.#unlessReversal(found, row.report);
    return { finding: "known", because: `it is the sale of order ${orderId}, reported late` };
  }

  /** A terminal that names no original stores a reversal like a sale. */
  #unlessReversal(found: Found, report: TransactionReport): Found {
    const { attempts, terminal } = this.#parts;
    const { paymentLimitMs } = terminal.capabilities;
    const reversal = attempts
      .unfinished()
      .find((attempt) => mayBeItsReversal(attempt, report, attempts, paymentLimitMs));
    if (!reversal) return found;
    const { orderId } = reversal.request;
    const because = `it can be the reversal of order ${orderId}, which is in doubt`;
    return { finding: "unclear", because };
  }

  /** A journal that cannot be read knows nothing; the alarm is raised all the same. */
  #known({ id, report }: StrayRow): Known {
    const { attempts, terminalLog, log } = this.#parts;
    const nothing = { foundIs: null, rival: null, strayIs: null, next: null };
    try {
      const soldSince = id === null || terminalLog.soldSinceStray(id);
      const closedSince = id === null || terminalLog.closedSinceStray(id);
      const strayIs = attempts.orderOfReport(report, "") ?? null;
      return { ...nothing, strayIs, soldSince, closedSince };
    } catch (error) {
      log.error({ err: error }, "the journal could not be read about an unexpected report");
      return { ...nothing, soldSince: true, closedSince: true };
    }
  }

  #tell(report: TransactionReport, { finding, because }: Found): void {
    const { log } = this.#parts;
    const { receiptNumber, traceNumber, amountMinor } = report;
    if (finding === "held") {
      const what = report.originalTrace === null ? "sale" : "reversal";
      log.error(
        { alarm: "sale-without-order", receiptNumber, traceNumber, amountMinor },
        `the terminal holds a ${what} that no order asked for: ` +
          `receipt ${receiptNumber ?? "unknown"}, ${amountOf(report)}`,
      );
    }
    if (finding === "unclear") {
      const words = `the terminal may hold a sale that no order asked for: ${because}`;
      log.error({ alarm: "sale-without-order-unclear", receiptNumber }, words);
    }
  }
}

interface Found {
  readonly finding: StrayFinding;
  readonly because: string;
}

/** "taken-back" is told as "reversed"; anything that is no finding is unclear. */
function foundIn({ verdict, because }: Verdict): Found {
  if (verdict === "taken-back") return { finding: "reversed", because };
  const finding = strayFindings.find((each) => each === verdict);
  return { finding: finding ?? "unclear", because };
}

function amountOf({ amountMinor, receipt }: TransactionReport): string {
  if (amountMinor === null) return "of an unknown amount";
  // docs/zvt.md 4.2: no currency means euro.
  const alpha = receipt.currencyAlphaCode || "EUR";
  return `${formatMajor(amountMinor, currencyOf(alpha)?.exponent ?? 2)} ${alpha}`;
}
