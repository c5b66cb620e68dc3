import { fromHex } from "../../../../zvt/index.ts";
import { authorisationNumber } from "../../bank/authorisation.ts";
import { maskedPan, testCards } from "../../bank/cards.ts";
import type { LedgerKind, LedgerReason } from "../../bank/ledger.ts";
import type { StoredTransaction, TransactionKind } from "../../memory/memory.ts";
import type { Outgoing } from "./parts.ts";
import { type Printed, printReceipts } from "./printing.ts";
import type { Process } from "./process.ts";
import { abortedReport, approvedReport, unknownField, unknownTags } from "./report.ts";
import { code, type Order, reportSale, type UndoReason } from "./sale.ts";
import { status } from "./texts.ts";

/** A movement that the bank has agreed to, on its way to be final (docs/zvt.md 9.1). */
interface Deal {
  readonly process: Process;
  /** Printed on the receipt. */
  readonly title: string;
  /**
   * Final as soon as the bank has agreed, whatever the register says: reversals, bookings, refunds.
   * The automatic reversal of docs/zvt.md 9.1 is for what takes money from a card.
   */
  readonly stands: boolean;
  transaction: StoredTransaction;
}

export interface NewDeal {
  readonly title: string;
  readonly kind: TransactionKind;
  readonly ledgerKind: LedgerKind;
  readonly order: Order;
  readonly card: StoredTransaction["card"];
  readonly trace: number;
  readonly originalTrace?: number;
  readonly originalId?: number;
  readonly reason?: LedgerReason;
  readonly stands: boolean;
  /** Given on the telephone; else the bank makes one. */
  readonly authorisation?: string;
  /** A tip may be booked on it later (docs/zvt.md 6.3). */
  readonly tipAllowed?: boolean;
}

/** The bank books; the terminal has not stored it yet, unless it stands anyhow. */
export function charge(process: Process, deal: NewDeal): Deal {
  const { ledger, memory, options, now } = process.parts;
  const { order, trace } = deal;
  const card = testCards[deal.card];
  const authorisation = deal.authorisation ?? authorisationNumber(trace);
  const receiptNumber = memory.nextReceiptNumber;
  const booked = memory.together(() => {
    const entry = ledger.enter({
      kind: deal.ledgerKind,
      amountMinor: order.amountMinor,
      currency: order.currency,
      receiptNumber,
      trace,
      maskedPan: maskedPan(card),
      authorisationNumber: authorisation,
      responseCode: "00",
      final: deal.stands,
      originalId: deal.originalId ?? null,
      reason: deal.reason ?? null,
    });
    const transaction: StoredTransaction = {
      ...order,
      receiptNumber,
      trace,
      kind: deal.kind,
      card: card.name,
      authorisation,
      atMs: now.getTime(),
      ledgerId: entry.id,
      originalTrace: deal.originalTrace ?? null,
      state: "stored",
      closed: false,
      ...(deal.tipAllowed ? { tipAllowed: true } : {}),
    };
    // Newer terminals keep what the bank has said, whatever the register says to it
    // (docs/zvt.md 9.1).
    if (deal.stands || !options.behaviour.autoReversal) memory.store(transaction);
    return transaction;
  });
  return { process, title: deal.title, stands: deal.stands, transaction: booked };
}

/** Reports, prints, and makes the deal final once everything was acknowledged (docs/zvt.md 9.1). */
export async function settle(deal: Deal): Promise<void> {
  const { process } = deal;
  await process.reach("charged");
  if (process.fault("no-report")) {
    commit(deal);
    return await process.complete();
  }
  await sendUnknownMessage(process);
  const printsFirst = process.fault("print-first") !== undefined || printsReversalFirst(deal);
  if (printsFirst && !(await printed(deal))) return;
  const taken = await reportSale(process, reportInput(deal));
  if (taken.how === "undo") return await undo(deal, taken.because);
  if (taken.how === "partly" && !deal.stands) {
    takePartBack(deal, taken.amountMinor);
    if (remaining(deal) === 0) return await process.abort(code.aborted);
  }
  if (!printsFirst && !(await printed(deal))) return;
  const aborts = process.fault("report-then-abort");
  if (aborts?.["charged"] === "no" && !deal.stands) await reverse(deal, "fault");
  else commit(deal);
  if (!aborts && process.parts.is("statuses-a0")) await process.status(status.paidRemoveCard);
  if (aborts) return await process.abort(Number.parseInt(String(aborts["code"]), 16));
  await process.complete();
}

/** Seen on Feig (docs/zvt.md 12.5). */
function printsReversalFirst({ process, transaction }: Deal): boolean {
  return process.parts.is("print-first-in-reversal") && transaction.kind === "reversal";
}

function reportInput({ process, transaction }: Deal): Outgoing {
  const input = approvedReport(transaction, process.parts);
  const { resultCode: _, ...others } = input.fields ?? {};
  const fields = process.fault("no-result") ? others : input.fields;
  return {
    ...input,
    ...(fields ? { fields } : {}),
    ...(process.fault("unknown-fields")
      ? { tags: [...unknownTags, ...(input.tags ?? [])], tail: unknownField }
      : {}),
  };
}

async function sendUnknownMessage(process: Process): Promise<void> {
  const fault = process.fault("unknown-message");
  if (fault) await process.sayRaw(fromHex(String(fault["hex"])));
}

/** Prints the receipts; when that fails, undoes the deal and answers false. */
async function printed(deal: Deal): Promise<boolean> {
  const { process, transaction } = deal;
  const wrong = process.parts.is("wrong-amount-on-reversal") && transaction.kind === "reversal";
  const told = wrong ? { ...transaction, amountMinor: 0 } : transaction;
  const how = await printReceipts(process, deal.title, told);
  if (how === "printed") return true;
  await undoUnprinted(deal, how);
  return false;
}

function commit({ process, stands, transaction }: Deal): void {
  const { ledger, memory, options, screen } = process.parts;
  if (stands) return;
  memory.together(() => {
    if (options.behaviour.autoReversal) memory.store(transaction);
    ledger.finalise(transaction.ledgerId);
  });
  if (transaction.kind === "payment") screen.show("approved");
}

function remaining({ process, transaction }: Deal): number {
  return process.parts.ledger.remaining(transaction.ledgerId);
}

/** Only goods of that value came out (docs/zvt.md 8.4); more than was paid cannot have. */
function takePartBack(deal: Deal, issuedMinor: number): void {
  const { process, transaction } = deal;
  const { ledger, memory, options } = process.parts;
  const backMinor = Math.max(transaction.amountMinor - issuedMinor, 0);
  if (backMinor === 0) return;
  ledger.takeBack(transaction.ledgerId, "goods-partly-issued", {
    amountMinor: backMinor,
    trace: memory.takeTrace(),
  });
  deal.transaction = { ...transaction, amountMinor: transaction.amountMinor - backMinor };
  if (!options.behaviour.autoReversal) memory.change(deal.transaction);
}

async function undo(deal: Deal, because: UndoReason): Promise<void> {
  const { process } = deal;
  const { device, options } = process.parts;
  const { behaviour } = options;
  if (deal.stands) {
    if (because !== "line-lost") await process.complete();
    return;
  }
  switch (because) {
    case "not-issued":
      await reverse(deal, "goods-not-issued");
      return await process.abort(code.aborted);
    case "asked-too-often":
      await reverse(deal, "goods-not-issued");
      await process.report(abortedReport(code.aborted, device));
      return await process.abort(code.aborted);
    case "no-word":
      if (behaviour.autoReversal) await reverse(deal, "not-acknowledged");
      return await process.abort(code.aborted);
    case "line-lost":
      if (behaviour.autoReversal) await reverse(deal, "not-acknowledged");
      return;
  }
}

async function undoUnprinted(deal: Deal, how: Exclude<Printed, "printed">): Promise<void> {
  const { process } = deal;
  if (deal.stands) return await process.complete();
  // The receipt counts as part of the acknowledgement (docs/zvt.md 9.1).
  if (process.parts.options.behaviour.autoReversal) await reverse(deal, "not-acknowledged");
  await process.abort(how === "silent" ? code.aborted : code.printerNotReady);
}

/** Automatic reversal: the bank gives the money back, the terminal forgets (docs/zvt.md 9.1). */
async function reverse({ process, transaction }: Deal, reason: LedgerReason): Promise<void> {
  const { ledger, memory, options, screen } = process.parts;
  await process.status(status.reversing);
  await process.pause("reversal", options.pace.reversalMs);
  memory.together(() => {
    ledger.takeBack(transaction.ledgerId, reason, { trace: memory.takeTrace() });
    if (!options.behaviour.autoReversal) memory.forgetLast();
  });
  screen.show("cancelled");
}
