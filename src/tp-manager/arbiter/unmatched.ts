import { isDeepStrictEqual } from "node:util";
import { BrokenInvariant } from "../../shared/invariant.ts";
import { currencyOf, formatMajor } from "../../shared/money.ts";
import {
  type UnmatchedFinding,
  type UnmatchedRow,
  unmatchedFindings,
} from "../attempts/findings.ts";
import { type Answer, candidatesIn, nearIn, unproven } from "../matching/answer.ts";
import { compareReports } from "../matching/comparison.ts";
import { doubtOfUnmatched } from "../matching/doubt.ts";
import { concernsTold, toldOtherwise } from "../matching/effects.ts";
import type { Known, Look } from "../matching/facts.ts";
import { Knowledge, nothingFound } from "../matching/knowledge.ts";
import { type Conclusion, judge, type Verdict } from "../matching/table.ts";
import type { Baseline, TerminalFacts, TransactionReport } from "../terminal/terminal.ts";
import type { ArbiterTools } from "./arbiter-parts.ts";
import type { Corrections } from "./corrections.ts";
import type { Inquiries, Question } from "./inquiries.ts";

interface UnmatchedParts extends ArbiterTools {
  readonly terminal: TerminalFacts;
  readonly inquiries: Inquiries;
  readonly corrections: Corrections;
}

/**
 * Unmatched transactions, which belong to no attempt for certain (docs/rules/04-approval.md,
 * docs/rules/19-late.md): a result that it reports although nothing runs, which the driver refuses
 * on the wire, and a sale that it has stored and never reported. They are kept and told, and the
 * terminal is asked whether it keeps them. Nothing is sold meanwhile, because the next sale would
 * hide the answer.
 */
export class Unmatched {
  readonly #parts: UnmatchedParts;
  readonly #knowledge: Knowledge;
  readonly #open = new Map<string, UnmatchedRow>();
  #asked = 0;

  constructor(parts: UnmatchedParts) {
    this.#parts = parts;
    this.#knowledge = new Knowledge(parts);
  }

  /** At start: takes up the reports that an earlier process did not ask about. */
  begin(): void {
    for (const row of this.#parts.terminalLog.openUnmatched()) this.#ask(row);
  }

  /** The terminal has reported `report`, and it was refused. Never throws. */
  take(report: TransactionReport): void {
    const { log, terminal, clock } = this.#parts;
    const { good, resultCode } = report;
    const { identity } = terminal.state;
    const seen = { atMs: clock.now(), report, identity, isOfNoOrder: false };
    const kept = this.#keep(seen);
    if (kept === "repeated") {
      log.warn(namesIn(report), "the terminal reported the same result again; no payment runs");
      return;
    }
    const row = { id: kept, ...seen };
    const answer = this.#read((): Answer | null => this.#whose(row), null);
    const told = { ...alarmOf(report, answer), good, resultCode };
    const words = "the terminal reported a result although no payment runs; refused";
    log.error(told, words + aboutWhom(answer));
    // A result that the terminal itself calls not good charged nobody.
    if (good || resultCode === null) this.#ask(row);
  }

  /**
   * A payment or an end of day is about to leave, and the terminal has told what it has stored: a
   * sale that no order knows is asked about first, because the command would hide it
   * (docs/rules/19-late.md), and so is the reversal of a sale that is told as charged. Where others
   * are paid at the terminal too, the orders that can have made the sale are unknown at once, and
   * nothing waits. Returns whether the command has to wait. Throws for a fault of the program only.
   */
  found(now: Baseline): boolean {
    return shownIn(now).filter((each) => this.#shown(each, () => true)).length > 0;
  }

  /**
   * A look for another question shows what is stored: an order that was told as not charged, and
   * that can have made it, is unknown from now on, and one that nearly fits is named. Throws for a
   * fault of the program only.
   */
  looked(look: Look): void {
    for (const each of shownIn({ ...look, clockOffsetMs: null })) this.#shown(each, concernsTold);
  }

  #shown(now: Baseline, concerns: (answer: Answer) => boolean): boolean {
    const { log, matcher, corrections } = this.#parts;
    try {
      if (now.last.kind !== "transaction") return false;
      const { report } = now.last;
      if (this.#isOpen(report) || this.#wasAsked(report)) return false;
      matcher.learn(now);
      // The terminal may still take a reversal back that it has stored (docs/rules/16-fresh.md).
      if (corrections.givenBack(now)) return this.#hold(now, report, null);
      const answer = matcher.newSale(now);
      if (!answer || !concerns(answer)) return false;
      const candidates = candidatesIn(answer);
      const isReversal = candidates.length > 0 && candidates.every(({ as }) => as === "reversal");
      if (isReversal) return false;
      // Of the record that an order's own command told others can have made none.
      const isAsked = matcher.isShared
        ? answer.answer === "one"
        : candidates.length > 0 || this.#isInDoubt;
      if (isAsked) return this.#hold(now, report, answer);
      const [newest] = this.#parts.terminalLog.unmatched(1);
      if (newest && matcher.isAgain(newest, { ...now, report })) return false;
      if (answer.answer === "many") corrections.apply(answer, report);
      this.#note(now, report, answer);
      return false;
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      log.error({ err: error }, "the journal could not be read about the terminal's last sale");
      return false;
    }
  }

  /** Asks about what was found before anything is sold. false: that was done before. */
  #hold(now: Baseline, report: TransactionReport, answer: Answer | null): boolean {
    const { clock, log, matcher } = this.#parts;
    const { identity } = now;
    const isOfNoOrder = answer !== null && !matcher.explains(report, identity);
    const seen = { atMs: clock.now(), report, identity, isOfNoOrder };
    const kept = this.#keep(seen);
    if (kept === "repeated") return false;
    // First of all, so that it is asked about whatever fails behind this line.
    this.#ask({ id: kept, ...seen });
    // The payment is refused now, and may be what the terminal shows: no begin will look at it.
    if (answer) this.#parts.guard.noteSale(now);
    const what = answer ? "sale that no order knows" : "reversal that nobody here asked for";
    log.error(
      alarmOf(report, answer),
      `the terminal has stored a ${what}; it is asked about${aboutWhom(answer)}`,
    );
    return true;
  }

  /** Keeps and tells a transaction that no look can say more about, once. */
  #note(now: Baseline, report: TransactionReport, answer: Answer): void {
    const { terminalLog, clock, log, matcher } = this.#parts;
    // Where others are paid too their sales are nothing to tell.
    if (matcher.isShared && answer.answer === "none") return;
    const atMs = clock.now();
    const { identity } = now;
    const isOfNoOrder = !matcher.explains(report, identity);
    const seen = { atMs, report, identity, isOfNoOrder };
    const id = terminalLog.keepUnmatched(seen);
    const words = candidateWords(answer);
    if (id !== undefined) terminalLog.endUnmatched(id, atMs, "unclear", words);
    log.error(
      alarmOf(report, answer, "unclear"),
      `the terminal holds a sale of which nobody can say for certain whose it is: ${words}`,
    );
  }

  get #isInDoubt(): boolean {
    return this.#parts.attempts.unfinished().length > 0;
  }

  #isOpen(report: TransactionReport): boolean {
    return [...this.#open.values()].some((row) => compareReports(row.report, report) === "same");
  }

  /**
   * The very same words were asked about last, and no command that could store others has left
   * since, or nothing in them tells one record from another: nothing more can be found out, and
   * sales go on.
   */
  #wasAsked(report: TransactionReport): boolean {
    const { terminalLog } = this.#parts;
    const [newest] = terminalLog.unmatched(1);
    const isTold = newest?.finding === "held" || newest?.finding === "unclear";
    if (!isTold || !isDeepStrictEqual(newest.report, report)) return false;
    const isUnnamed = compareReports(report, report) !== "same";
    return isUnnamed || (newest.id !== null && !terminalLog.soldSinceUnmatched(newest.id));
  }

  /** See {@link TerminalArbiter.lateReport}. A journal that cannot be read knows of no order. */
  lateReport(orderId: string): Promise<void> | undefined {
    return this.#read(() => {
      const late = [...this.#open].find(([, row]) =>
        toldOtherwise(this.#whose(row)).includes(orderId),
      );
      return late && this.#parts.inquiries.ended(late[0]);
    }, undefined);
  }

  #read<T>(read: () => T, otherwise: T): T {
    try {
      return read();
    } catch (error) {
      const words = "the journal could not be read about an unmatched transaction";
      this.#parts.log.error({ err: error }, words);
      return otherwise;
    }
  }

  #whose({ report, identity, atMs }: UnmatchedRow): Answer {
    return this.#parts.matcher.whose(report, "late", identity, atMs);
  }

  #keep(seen: Omit<UnmatchedRow, "id">): number | null | "repeated" {
    const { terminalLog, log, matcher } = this.#parts;
    // A journal that takes no record cannot tell that this report was told before.
    const isAsked = [...this.#open.values()].some(
      ({ id, report }) => id === null && compareReports(report, seen.report) === "same",
    );
    if (isAsked) return "repeated";
    try {
      const isSame = (newest: UnmatchedRow): boolean => matcher.isAgain(newest, seen);
      return terminalLog.keepUnmatched(seen, isSame) ?? "repeated";
    } catch (error) {
      log.error({ err: error, alarm: "journal" }, "the journal did not take a transaction");
      return null;
    }
  }

  #ask(row: UnmatchedRow): void {
    this.#asked += 1;
    const key = `unmatched ${this.#asked}`;
    this.#open.set(key, row);
    void this.#parts.inquiries.ask(this.#questionOf(key, row));
  }

  #questionOf(key: string, row: UnmatchedRow): Question {
    const { clock, terminal, confirmAfterMs } = this.#parts;
    const { receiptNumber, traceNumber } = row.report;
    const lostSinceMs = clock.monotonicMs();
    let isTold = false;
    let { id } = row;
    return {
      key,
      // The result may belong to an attempt in doubt.
      orderId: null,
      about: { receiptNumber, traceNumber },
      identity: row.identity,
      blocks: true,
      isOpen: () => true,
      judge: (shown, shownEarlier) => {
        const look = lookAt(row.report, shown);
        const earlier = shownEarlier && lookAt(row.report, shownEarlier);
        const { paymentLimitMs: limitMs } = terminal.capabilities;
        const times = { lostSinceMs, limitMs, printsCount: false };
        const doubt = doubtOfUnmatched(row, times);
        return judge(doubt, look, this.#known(row, look), earlier, confirmAfterMs);
      },
      conclude: (conclusion, look) => {
        const { terminalLog } = this.#parts;
        const found = this.#finding(conclusion, row, look);
        const { finding, because, answer } = found;
        if (!isTold) this.#tell(row.report, found);
        isTold = true;
        // A sale that the terminal holds has changed its orders with the finding.
        if (finding === "unclear" && conclusion.verdict !== "held" && answer) {
          this.#parts.corrections.apply(unproven(answer, "unclear", because), row.report);
        }
        id ??= terminalLog.keepUnmatched(row) ?? null;
        if (id !== null) terminalLog.endUnmatched(id, clock.now(), finding, because);
        this.#open.delete(key);
      },
      note: () => {},
    };
  }

  /** A sale that the terminal holds may be that of an order which was told otherwise. */
  #finding(conclusion: Conclusion, row: UnmatchedRow, look: Look | null): Found {
    const found = foundIn(conclusion);
    if (found.finding !== "held" || !look) {
      return { ...found, answer: this.#read((): Answer | null => this.#whose(row), null) };
    }
    const { corrections } = this.#parts;
    const given = corrections.giveBack({ ...look, clockOffsetMs: null });
    if (given !== undefined) {
      return { finding: "known", because: `it is the reversal of order ${given}, reported late` };
    }
    const answer = this.#whose(row);
    const orderId = corrections.apply(answer, row.report);
    if (orderId === undefined) return { ...unlessReversal(found, answer), answer };
    return { finding: "known", because: `it is the sale of order ${orderId}, reported late` };
  }

  /** A journal that cannot be read knows nothing; the alarm is raised all the same. */
  #known(row: UnmatchedRow, look: Look): Known {
    const holds = this.#parts.matcher.assumptions;
    const otherwise = { ...nothingFound, soldSince: true, closedSince: true, holds };
    return this.#read((): Known => this.#knowledge.ofUnmatched(row, look), otherwise);
  }

  #tell(report: TransactionReport, { finding, because, answer = null }: Found): void {
    if (finding !== "held" && finding !== "unclear") return;
    const what = report.originalTrace === null ? "sale" : "reversal";
    const receipt = `receipt ${report.receiptNumber ?? "unknown"}, ${amountOf(report)}`;
    const says =
      finding === "held"
        ? `the terminal holds an unmatched ${what}: ${receipt}`
        : `the terminal may hold an unmatched transaction: ${because}`;
    this.#parts.log.error(alarmOf(report, answer, finding), says + aboutWhom(answer));
  }
}

/** A look for each transaction that the terminal told in one answer; its last one stands last. */
function shownIn<T extends Pick<Look, "last">>(look: T): T[] {
  if (look.last.kind !== "transaction") return [look];
  const { also = [] } = look.last;
  return [
    ...also.map((report) => ({ ...look, last: { kind: "transaction", report } as const })),
    look,
  ];
}

/** The look with the report as its last transaction, where the terminal has told it at all. */
function lookAt<T extends Pick<Look, "last">>(report: TransactionReport, look: T): T {
  const isTold = ({ last }: T): boolean =>
    last.kind === "transaction" && compareReports(last.report, report) === "same";
  return shownIn(look).find(isTold) ?? look;
}

interface Found {
  readonly finding: UnmatchedFinding;
  readonly because: string;
  readonly answer?: Answer | null;
}

/** "taken-back" is told as "reversed"; anything that is no finding is unclear. */
function foundIn({ verdict, because }: Verdict): Found {
  if (verdict === "taken-back") return { finding: "reversed", because };
  const finding = unmatchedFindings.find((each) => each === verdict);
  return { finding: finding ?? "unclear", because };
}

/** A terminal that names no original stores a reversal like a sale. */
function unlessReversal(found: Found, answer: Answer): Found {
  const candidates = candidatesIn(answer);
  const reversal = candidates.find(({ as }) => as === "reversal");
  if (!reversal) return found;
  const { orderId } = reversal.attempt.request;
  const because = `it can be the reversal of order ${orderId}, which is in doubt`;
  return { finding: "unclear", because };
}

/** Former names of the alarm, for programs that know no other (docs/decisions/08-names.md). */
const formerNames = {
  open: "unexpected-report",
  held: "sale-without-order",
  unclear: "sale-without-order-unclear",
} as const;

/** One alarm when it is told or found, and one with the finding when that is known. */
export function alarmOf(
  report: TransactionReport,
  answer: Answer | null,
  finding?: "held" | "unclear",
): object {
  return {
    alarm: "unmatched-transaction",
    formerly: formerNames[finding ?? "open"],
    ...(finding ? { finding } : {}),
    ...namesIn(report),
    ...ordersIn(answer),
  };
}

function namesIn({ receiptNumber, traceNumber, amountMinor, terminalId }: TransactionReport) {
  return { receiptNumber, traceNumber, amountMinor, terminalId };
}

/** All orders that can have made it, or nearly, and the first of them. */
function ordersIn(answer: Answer | null): object {
  const named = answer === null ? [] : [...candidatesIn(answer), ...nearIn(answer)];
  const [first] = named;
  if (!first) return {};
  const { transactionId, request } = first.attempt;
  const orders = [...new Set(named.map(({ attempt }) => attempt.request.orderId))];
  return { orderId: request.orderId, transactionId, orders };
}

/** Of an alarm's words: the orders that are candidates, or near; empty without one. */
export function aboutWhom(answer: Answer | null): string {
  const isNamed = answer !== null && [...candidatesIn(answer), ...nearIn(answer)].length > 0;
  return isNamed ? `; ${candidateWords(answer)}` : "";
}

function candidateWords(answer: Answer): string {
  const orders = candidatesIn(answer).map(({ attempt }) => `order ${attempt.request.orderId}`);
  const near = nearIn(answer).map(
    ({ attempt, but }) => `order ${attempt.request.orderId} fits, but ${but}`,
  );
  const named = [...new Set([...orders, ...near])];
  if (named.length === 0) return "no order here asked for it";
  const because = answer.answer === "many" ? ` (${answer.because})` : "";
  return `${near.length > 0 ? "" : "it can be that of "}${named.join(", ")}${because}`;
}

function amountOf({ amountMinor, receipt }: TransactionReport): string {
  if (amountMinor === null) return "of an unknown amount";
  // docs/zvt.md 4.2: no currency means euro.
  const alpha = receipt.currencyAlphaCode || "EUR";
  return `${formatMajor(amountMinor, currencyOf(alpha)?.exponent ?? 2)} ${alpha}`;
}
