import { BrokenInvariant } from "../../shared/invariant.ts";
import { formatMajor } from "../../shared/money.ts";
import { isoTime } from "../../shared/time.ts";
import { type Attempt, isCharged } from "../attempts/payment.ts";
import {
  ENTRIES_BEFORE,
  isCounted,
  judgeJump,
  type LedgerEntry,
  nextReceipt,
  receiptNumberOf,
  type Suspect,
} from "../attempts/reconciliation/ledger-policy.ts";
import {
  type ClosingBody,
  type ClosingPeriod,
  type ClosingVerdict,
  compareClosing,
  compareDeliveries,
  type Difference,
  type Reconciliation,
} from "../attempts/reconciliation/reconciliation-policy.ts";
import type { TelecollectionEnd } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";

/** The number of orders that an alarm names at most, because a longer text would be cut off. */
const NAMED_IN_ALARM = 5;

/**
 * Compares what the terminal and the gateway report with the journal (docs/rules/18-totals.md), at
 * each end of day and when a receipt number is missing before a sale. A difference is stored and
 * alarmed with the orders that can explain it; no answer to the kiosk changes. A comparison that
 * fails raises an alarm and throws nothing.
 */
export class Reconciler {
  readonly #parts: ArbiterParts;

  constructor(parts: ArbiterParts) {
    this.#parts = parts;
  }

  /** At start, compares the ends of day that a previous process has not compared. */
  begin(): void {
    this.#safely(() => {
      for (const id of this.#parts.journal.reconciliations.uncompared()) this.#compare(id);
    });
  }

  /** Compares an end of day with the journal. Returns undefined if no comparison was possible. */
  closed(closingId: number): Reconciliation | undefined {
    return this.#safely(() => this.#compare(closingId));
  }

  /** Checks whether receipt numbers are missing between a charged sale and the previous sale. */
  sold({ transactionId, state }: Attempt): void {
    const { settings, journal } = this.#parts;
    if (!isCharged(state) || settings.terminalShared) return;
    const { receiptNumber } = state.report;
    this.#safely(() => {
      const number = receiptNumberOf(receiptNumber);
      const former = receiptNumberOf(journal.reconciliations.formerReceipt(transactionId));
      if (number === null || former === null || nextReceipt(former) === number) return;
      this.#judgeJump(transactionId);
    });
  }

  #judgeJump(transactionId: string): void {
    const { clock, log, journal } = this.#parts;
    const { reconciliations } = journal;
    const body = judgeJump(reconciliations.entriesUpTo(transactionId, ENTRIES_BEFORE));
    if (!body || reconciliations.hasRefutedJump()) return;
    const jump = { atMs: clock.now(), closingId: null, result: "jump" as const, body };
    reconciliations.keep(jump, "number-missing");
    log.error(
      { alarm: "receipt-number-missing", ...aboutOne(body.suspects) },
      `no known sale has the receipt numbers between ${body.from} and ${body.to}: look at the ` +
        `terminal for ${namesOf(body.suspects)}, answered as not charged`,
    );
  }

  #compare(closingId: number): Reconciliation | undefined {
    const { clock, settings } = this.#parts;
    const { reconciliations } = this.#parts.journal;
    const period = reconciliations.period(closingId);
    if (!period) return undefined;
    const { closing, entries } = period;
    if (closing.end?.end !== "completed") return undefined;
    const terminal = compareClosing(period, closing.end.totals, settings.terminalShared);
    const body = bodyOf(period, closing.end, terminal);
    const isFaulty = terminal.result === "differs" || body.gateway.faults.length > 0;
    const hasMore = terminal.result === "differs" && terminal.differenceMinor > 0;
    const record = reconciliations.keep(
      { atMs: clock.now(), closingId, body, result: isFaulty ? "differs" : terminal.result },
      hasMore ? "charged" : "not-charged",
    );
    if (terminal.result === "agrees") {
      reconciliations.refuteJumps(entries.map(({ transactionId }) => transactionId));
    }
    this.#alarm(record, body);
    return record;
  }

  #alarm({ id, atMs }: Reconciliation, { terminal, gateway }: ClosingBody): void {
    const { log } = this.#parts;
    const about = { reconciliation: id, at: isoTime(atMs) };
    const text = `the end of day was compared with the journal: ${terminal.result}`;
    log.info({ ...about, terminal, gateway: gateway.sums }, text);
    if (terminal.result === "differs") {
      log.error(
        { alarm: "terminal-difference", ...about, ...aboutOne(terminal.suspects) },
        textOfDifference(terminal),
      );
    }
    for (const { orderId, transactionId, because } of gateway.faults) {
      log.error(
        { alarm: "gateway-difference", ...about, orderId, transactionId },
        `order ${orderId}: ${because}; put it right at the gateway`,
      );
    }
  }

  #safely<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      const text = "terminal and journal could not be compared";
      this.#parts.log.error({ err: error, alarm: "journal" }, text);
      return undefined;
    }
  }
}

function bodyOf(
  { entries, earlier }: ClosingPeriod,
  { totals, applications }: Extract<TelecollectionEnd, { end: "completed" }>,
  terminal: ClosingVerdict,
): ClosingBody {
  const newest = entries.filter(({ afterClosing }) => afterClosing >= (earlier[0]?.id ?? 0));
  return {
    kind: "end-of-day",
    receiptFrom: totals?.receiptFrom ?? null,
    receiptTo: totals?.receiptTo ?? null,
    terminal,
    gateway: compareDeliveries(newest),
    cards: {
      terminal: applications.map(({ name, count, sumMinor }) => ({ name, count, sumMinor })),
      journal: cardSums(newest),
    },
  };
}

function cardSums(entries: readonly LedgerEntry[]) {
  const byCard = Map.groupBy(entries.filter(isCounted), ({ cardName }) => cardName ?? "");
  return [...byCard].map(([name, sales]) => ({
    name,
    count: sales.length,
    sumMinor: sales.reduce((sum, { chargedMinor }) => sum + (chargedMinor ?? 0), 0),
  }));
}

function aboutOne(suspects: readonly Suspect[]): { orderId?: string; transactionId?: string } {
  const [only, ...others] = suspects;
  if (!only || others.length > 0) return {};
  return { orderId: only.orderId, transactionId: only.transactionId };
}

function textOfDifference({ terminal, journal, ...difference }: Difference): string {
  const { currency, exponent, differenceMinor, because, suspects, isSole } = difference;
  const major = (minor: number): string => `${formatMajor(minor, exponent)} ${currency}`;
  const sums = `terminal ${major(terminal.sumMinor)}, journal ${major(journal.sumMinor)}`;
  const found = suspects.length === 0 ? "no order explains it" : namesOf(suspects);
  const sure = isSole || suspects.length === 0 ? "" : "one or some of ";
  const next = "ask the bank or look at the terminal, then settle the order";
  const amount = major(Math.abs(differenceMinor));
  return `${because}: ${amount} (${sums}). ${sure}${found}; ${next}`;
}

function namesOf(suspects: readonly Suspect[]): string {
  const names = suspects
    .slice(0, NAMED_IN_ALARM)
    .map(({ orderId, told: answered, chargedElsewhere }) => {
      const twice = chargedElsewhere ? ", paid again since" : "";
      return `order ${orderId} (answered as ${answered}${twice})`;
    });
  const more = suspects.length - names.length;
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
