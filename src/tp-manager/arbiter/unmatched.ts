import { isDeepStrictEqual } from "node:util";
import { endsProcess } from "../../shared/invariant.ts";
import { currencyOf, formatMajor } from "../../shared/money.ts";
import type { LineFields } from "../../shared/process/logger.ts";
import { compareReports, type Stored } from "../attempts/comparison.ts";
import {
  type UnmatchedFinding,
  type UnmatchedRow,
  unmatchedFindings,
} from "../attempts/findings.ts";
import {
  type Answer,
  candidatesIn,
  concernsNotCharged,
  namedIn,
  nearIn,
  notChargedOrdersIn,
  unproven,
} from "../matching/answer.ts";
import { inquiryOfUnmatched, type Known, type Probe } from "../matching/facts.ts";
import { nothingFound } from "../matching/matcher.ts";
import { type Conclusion, judge, type Verdict } from "../matching/table.ts";
import type { TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import { applyAnswer, giveBack, givenBack } from "./corrections.ts";
import type { Inquiries, Question } from "./inquiries.ts";

/**
 * Handles unmatched transactions, which belong to no attempt for certain
 * (docs/rules/04-approval.md, docs/rules/19-late.md): a result that the terminal reports although
 * no payment runs, which the driver refuses on the wire, and a sale that the terminal has stored
 * and never reported. Each is stored and raises an alarm, and the terminal is asked whether it
 * still has the transaction. No payment begins before the answer, which it would hide.
 */
export class Unmatched {
  readonly #parts: ArbiterParts;
  readonly #inquiries: Inquiries;
  readonly #open = new Map<string, UnmatchedRow>();
  #asked = 0;

  constructor(parts: ArbiterParts, inquiries: Inquiries) {
    this.#parts = parts;
    this.#inquiries = inquiries;
  }

  /** Asks at start about the unmatched transactions that an earlier process left undecided. */
  begin(): void {
    for (const row of this.#parts.journal.terminalLog.openUnmatched()) this.#ask(row);
  }

  /** Takes a report that the driver refused as no payment ran. Throws only for a program fault. */
  take(report: TransactionReport): void {
    const { log, terminal } = this.#parts;
    const { good, resultCode } = report;
    const row = this.#keep(report, terminal.state.identity, false);
    if (row === "repeated") {
      log.warn(namesIn(report), "the terminal repeated a result while no payment was running");
      return;
    }
    const answer = this.#whoseIfKnown(row);
    const detail = { ...alarmOf(report, answer), good, resultCode };
    const text = "the terminal reported a result although no payment runs; refused";
    log.error(detail, text + aboutWhom(answer));
    // A result that the terminal itself reports as failed charged nobody, so no probe is needed.
    if (good || resultCode === null) this.#ask(row);
  }

  /**
   * Returns whether a payment or an end of day has to wait because the terminal has stored a sale
   * that no order knows, or the reversal of a sale that was answered as charged. The terminal is
   * asked about this transaction first, because the command would hide it (docs/rules/19-late.md).
   * At a terminal that another till shares, commands do not wait: the orders that can have made the
   * sale become unknown at once. Throws only for a fault of the program.
   */
  found(now: Stored): boolean {
    return this.#noteAll(now, () => true);
  }

  /**
   * Uses a probe that was made for another question. If an order that was answered as not charged
   * may have made the stored sale, the order becomes unknown; if only one fact disagrees, an alarm
   * names the order. Throws only for a fault of the program.
   */
  probed(probe: Probe): void {
    this.#noteAll(probe, concernsNotCharged);
  }

  /** Notes what the terminal has stored; true: the terminal is asked about it before a sale. */
  #noteAll(now: Stored, concerns: (answer: Answer) => boolean): boolean {
    // Only the last transaction shows whether the terminal stores a reversal above its sale.
    this.#read(() => this.#parts.matcher.learn(now), undefined);
    const noted = (each: Stored): boolean =>
      this.#read(() => this.#noteStored(each, concerns), false);
    return probesIn(now).filter(noted).length > 0;
  }

  #noteStored(now: Stored, concerns: (answer: Answer) => boolean): boolean {
    const { matcher, journal } = this.#parts;
    if (now.last.kind !== "transaction") return false;
    const { report } = now.last;
    if (this.#isOpen(report) || this.#wasAsked(report)) return false;
    // The terminal is probed, because it may undo a stored reversal (docs/rules/16-fresh.md).
    if (givenBack(now, this.#parts)) return this.#hold(now, report, null);
    const answer = matcher.newSale(now);
    if (!answer || !concerns(answer)) return false;
    const candidates = candidatesIn(answer);
    const isReversal = candidates.length > 0 && candidates.every(({ as }) => as === "reversal");
    if (isReversal) return false;
    // At a terminal shared with another till, only a sale that is certainly ours is asked about.
    const isAsked = matcher.isShared
      ? answer.answer === "one"
      : candidates.length > 0 || journal.attempts.unfinished().length > 0;
    if (isAsked) return this.#hold(now, report, answer);
    const [newest] = journal.terminalLog.unmatched(1);
    if (newest && matcher.isAgain(newest, { ...now, report })) return false;
    if (answer.answer === "many") applyAnswer(answer, report, this.#parts);
    this.#note(now, report, answer);
    return false;
  }

  /** Asks the terminal about a transaction before the next sale. false: it was asked before. */
  #hold(now: Stored, report: TransactionReport, answer: Answer | null): boolean {
    const { guard, log, matcher } = this.#parts;
    const { identity } = now;
    const isOfNoOrder = answer !== null && !matcher.explains(report, identity);
    const row = this.#keep(report, identity, isOfNoOrder);
    if (row === "repeated") return false;
    // The question is opened first, so that the terminal is probed even if a later step fails.
    this.#ask(row);
    // The payment is refused before the journal's guard is shown the sale, so it is shown here.
    if (answer) guard.noteSale(now);
    const what = answer ? "sale that no order knows" : "reversal that nobody here asked for";
    const text = `the terminal has stored a ${what}; it is asked about${aboutWhom(answer)}`;
    log.error(alarmOf(report, answer), text);
    return true;
  }

  /** Stores a transaction that a further probe could not explain, and raises its alarm once. */
  #note({ identity }: Stored, report: TransactionReport, answer: Answer): void {
    const { clock, log, matcher } = this.#parts;
    const { terminalLog } = this.#parts.journal;
    // At a shared terminal, sales that belong to the other till raise no alarm.
    if (matcher.isShared && answer.answer === "none") return;
    const atMs = clock.now();
    const isOfNoOrder = !matcher.explains(report, identity);
    const id = terminalLog.keepUnmatched({ atMs, report, identity, isOfNoOrder });
    const whose = textOfCandidates(answer);
    if (id !== undefined) terminalLog.endUnmatched(id, atMs, "unclear", whose);
    const text = "the terminal holds a sale of which nobody can say for certain whose it is";
    log.error(alarmOf(report, answer, "unclear"), `${text}: ${whose}`);
  }

  #isOpen(report: TransactionReport, concerns = (_: UnmatchedRow): boolean => true): boolean {
    const isIt = (row: UnmatchedRow) => compareReports(row.report, report) === "same";
    return this.#open.values().some((row) => concerns(row) && isIt(row));
  }

  /**
   * Whether the terminal need not be asked about this same report once more, so that sales go on:
   * the terminal was asked about it last and got no command since that could store a sale, or
   * nothing in the report distinguishes it from other reports.
   */
  #wasAsked(report: TransactionReport): boolean {
    const { terminalLog } = this.#parts.journal;
    const [newest] = terminalLog.unmatched(1);
    const wasAlarmed = newest?.finding === "held" || newest?.finding === "unclear";
    if (!wasAlarmed || !isDeepStrictEqual(newest.report, report)) return false;
    const isUnnamed = compareReports(report, report) !== "same";
    return isUnnamed || (newest.id !== null && !terminalLog.soldSinceUnmatched(newest.id));
  }

  /**
   * Resolves when the terminal has been asked about a late result that may charge the order
   * (docs/rules/19-late.md). undefined: no such result is known, or the journal cannot be read.
   */
  lateReport(orderId: string): Promise<void> | undefined {
    if (this.#open.size === 0) return undefined;
    return this.#read(() => {
      const late = [...this.#open].find(([, row]) =>
        notChargedOrdersIn(this.#parts.matcher.whoseUnmatched(row)).includes(orderId),
      );
      return late && this.#inquiries.ended(late[0]);
    }, undefined);
  }

  #read<T>(read: () => T, otherwise: T): T {
    try {
      return read();
    } catch (error) {
      const { clock, log } = this.#parts;
      if (endsProcess(error, clock)) throw error;
      log.error({ err: error }, "could not look up a transaction of the terminal in the journal");
      return otherwise;
    }
  }

  /** Returns the attempts that the transaction can belong to; null: the journal cannot be read. */
  #whoseIfKnown(row: UnmatchedRow): Answer | null {
    return this.#read((): Answer | null => this.#parts.matcher.whoseUnmatched(row), null);
  }

  /** Stores an unmatched transaction. Returns its row, with the id null if the journal failed. */
  #keep(
    report: TransactionReport,
    identity: TerminalIdentity,
    isOfNoOrder: boolean,
  ): UnmatchedRow | "repeated" {
    const { journal, clock, log, matcher } = this.#parts;
    const unmatched = { atMs: clock.now(), report, identity, isOfNoOrder };
    // If the journal fails, only the rows in memory can show that the same report came before.
    if (this.#isOpen(report, ({ id }) => id === null)) return "repeated";
    try {
      const isSame = (newest: UnmatchedRow): boolean => matcher.isAgain(newest, unmatched);
      const id = journal.terminalLog.keepUnmatched(unmatched, isSame);
      return id === undefined ? "repeated" : { id, ...unmatched };
    } catch (error) {
      endsProcess(error, clock);
      const text = "could not write an unmatched transaction to the journal";
      log.error({ err: error, alarm: "journal" }, text);
      return { id: null, ...unmatched };
    }
  }

  #ask(row: UnmatchedRow): void {
    this.#asked += 1;
    const key = `unmatched ${this.#asked}`;
    this.#open.set(key, row);
    void this.#inquiries.ask(this.#questionOf(key, row));
  }

  #questionOf(key: string, row: UnmatchedRow): Question {
    const { clock, terminal, settings } = this.#parts;
    const { receiptNumber, traceNumber } = row.report;
    const lostSinceMs = clock.monotonicMs();
    let isAlarmed = false;
    let { id } = row;
    return {
      key,
      // The question names no order, because the transaction may belong to an attempt in doubt.
      orderId: null,
      about: { receiptNumber, traceNumber },
      identity: row.identity,
      blocks: true,
      isOpen: () => true,
      judge: (now, before) => {
        const probe = probeWith(row.report, now);
        const earlier = before && probeWith(row.report, before);
        const { paymentLimitMs: limitMs } = terminal.capabilities;
        const inquiry = inquiryOfUnmatched(row, { lostSinceMs, limitMs, printsCount: false });
        return judge(inquiry, probe, this.#known(row, probe), earlier, settings.confirmAfterMs);
      },
      conclude: (conclusion, probe) => {
        const { terminalLog } = this.#parts.journal;
        const found = this.#finding(conclusion, row, probe);
        const { finding, because, answer } = found;
        if (!isAlarmed) this.#alarm(row.report, found);
        isAlarmed = true;
        // If the verdict is "held", `#finding` has already corrected the orders.
        if (finding === "unclear" && conclusion.verdict !== "held" && answer) {
          applyAnswer(unproven(answer, "unclear", because), row.report, this.#parts);
        }
        id ??= terminalLog.keepUnmatched(row) ?? null;
        if (id !== null) terminalLog.endUnmatched(id, clock.now(), finding, because);
        this.#open.delete(key);
      },
      note: () => {},
    };
  }

  /** Returns the finding about a transaction. Corrects the order of a sale that was stored late. */
  #finding(conclusion: Conclusion, row: UnmatchedRow, probe: Probe | null): Concluded {
    const found = foundIn(conclusion);
    if (found.finding !== "held" || !probe) {
      return { ...found, answer: this.#whoseIfKnown(row) };
    }
    const given = giveBack(probe, this.#parts);
    if (given !== undefined) {
      return { finding: "known", because: `it is the reversal of order ${given}, reported late` };
    }
    const answer = this.#parts.matcher.whoseUnmatched(row);
    const orderId = applyAnswer(answer, row.report, this.#parts);
    if (orderId === undefined) return { ...unlessReversal(found, answer), answer };
    return { finding: "known", because: `it is the sale of order ${orderId}, reported late` };
  }

  /**
   * Returns what the journal knows about the transaction. If the journal cannot be read, the facts
   * explain nothing away, so that the alarm is raised.
   */
  #known(row: UnmatchedRow, probe: Probe): Known {
    const { matcher } = this.#parts;
    const unread = { soldSince: true, closedSince: true, holds: matcher.assumptions };
    return this.#read(() => matcher.ofUnmatched(row, probe), { ...nothingFound, ...unread });
  }

  #alarm(report: TransactionReport, { finding, because, answer = null }: Concluded): void {
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

/** Returns a probe for each transaction in a terminal's answer; its last transaction comes last. */
function probesIn<T extends Pick<Probe, "last">>(probe: T): T[] {
  if (probe.last.kind !== "transaction") return [probe];
  const kind = "transaction" as const;
  const also = (probe.last.also ?? []).map((report) => ({ ...probe, last: { kind, report } }));
  return [...also, probe];
}

/** Returns the probe with `report` as its last transaction, if the answer contains `report`. */
function probeWith<T extends Pick<Probe, "last">>(report: TransactionReport, probe: T): T {
  const isIt = ({ last }: T): boolean =>
    last.kind === "transaction" && compareReports(last.report, report) === "same";
  return probesIn(probe).find(isIt) ?? probe;
}

interface Concluded {
  readonly finding: UnmatchedFinding;
  readonly because: string;
  readonly answer?: Answer | null;
}

function foundIn({ verdict, because }: Verdict): Concluded {
  const named = verdict === "taken-back" ? "reversed" : verdict;
  return { finding: unmatchedFindings.find((each) => each === named) ?? "unclear", because };
}

function unlessReversal(found: Concluded, answer: Answer): Concluded {
  const reversal = candidatesIn(answer).find(({ as }) => as === "reversal");
  if (!reversal) return found;
  const { orderId } = reversal.attempt.request;
  const because = `it can be the reversal of order ${orderId}, which is in doubt`;
  return { finding: "unclear", because };
}

/** Former names of alarms about unmatched sales, for old programs (docs/decisions/08-names.md). */
const formerNames = {
  open: "unexpected-report",
  held: "sale-without-order",
  unclear: "sale-without-order-unclear",
} as const;

/** Returns the fields of an alarm about an unmatched transaction; `finding` after a verdict. */
export function alarmOf(
  report: TransactionReport,
  answer: Answer | null,
  finding?: "held" | "unclear",
): LineFields {
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

function ordersIn(answer: Answer | null): object {
  const named = answer ? namedIn(answer) : [];
  const [first] = named;
  if (!first) return {};
  const orders = [...new Set(named.map(({ request }) => request.orderId))];
  return { orderId: first.request.orderId, transactionId: first.transactionId, orders };
}

/**
 * Returns the end of an alarm's text, which names the orders that can have made the transaction and
 * the orders that agree with it but for one fact; "" when there is no such order.
 */
export function aboutWhom(answer: Answer | null): string {
  return answer && namedIn(answer).length > 0 ? `; ${textOfCandidates(answer)}` : "";
}

function textOfCandidates(answer: Answer): string {
  const orders = candidatesIn(answer).map(({ attempt }) => `order ${attempt.request.orderId}`);
  const near = nearIn(answer).map(
    ({ attempt, but }) => `order ${attempt.request.orderId} agrees, but ${but}`,
  );
  const named = [...new Set([...orders, ...near])];
  if (named.length === 0) return "no order here asked for it";
  const because = answer.answer === "many" ? ` (${answer.because})` : "";
  return `${near.length > 0 ? "" : "it can be that of "}${named.join(", ")}${because}`;
}

function amountOf({ amountMinor, receipt }: TransactionReport): string {
  if (amountMinor === null) return "of an unknown amount";
  // A record without a currency is in euro (docs/zvt.md 4.2).
  const alpha = receipt.currencyAlphaCode || "EUR";
  return `${formatMajor(amountMinor, currencyOf(alpha)?.exponent ?? 2)} ${alpha}`;
}
