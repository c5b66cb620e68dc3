import { fromHex } from "../../../../zvt/index.ts";
import type { LedgerReason } from "../../bank/ledger.ts";
import type { StoredTransaction, TransactionKind } from "../../memory/memory.ts";
import { type Booking, book } from "../../terminal-parts.ts";
import { printReceipts } from "../receipts.ts";
import type { Outgoing } from "./parts.ts";
import type { Process } from "./process.ts";
import { approvedReport, unknownField, unknownTags } from "./report.ts";
import { code, reportSale, stop, type UndoReason } from "./sale.ts";
import { status } from "./texts.ts";

/** A transaction that the bank has approved and that is not yet final (docs/zvt.md 9.1). */
interface Transaction {
  readonly process: Process;
  /** The title of the receipt; undefined: the title of the transaction's kind. */
  readonly title: string | undefined;
  stored: StoredTransaction;
}

/**
 * Whether a transaction is final once the bank has approved: the automatic reversal is only for
 * transactions that take money from a card (docs/zvt.md 9.1).
 */
function stands({ kind }: { readonly kind: TransactionKind }): boolean {
  return kind !== "payment" && kind !== "reservation";
}

/** Books a transaction at the bank; the terminal stores it if it is final at once. */
export function charge(process: Process, booking: Booking, title?: string): Transaction {
  const final = stands(booking);
  // Newer terminals keep the bank's answer, whatever the register answers (docs/zvt.md 9.1).
  const isStored = final || !process.parts.options.behaviour.autoReversal;
  return { process, title, stored: book(process.parts, booking, { final, isStored }) };
}

/** Reports and prints a transaction; all acknowledgements make it final (docs/zvt.md 9.1). */
export async function settle(transaction: Transaction): Promise<void> {
  const { process } = transaction;
  await process.reach("charged");
  if (process.fault("no-report")) {
    commit(transaction);
    return await process.complete();
  }
  const unknown = process.fault("unknown-message");
  if (unknown) await process.sayRaw(fromHex(String(unknown["hex"])));
  const isReversal = transaction.stored.kind === "reversal";
  const printsFirst =
    process.fault("print-first") !== undefined ||
    (isReversal && process.parts.is("print-first-in-reversal"));
  if (printsFirst && !(await printed(transaction))) return;
  const taken = await reportSale(process, reportInput(transaction));
  if (typeof taken === "string") {
    if (taken !== "acknowledged") return await undo(transaction, taken);
  } else if (!stands(transaction.stored)) {
    takePartBack(transaction, taken.issuedMinor);
    if (process.parts.ledger.remaining(transaction.stored.ledgerId) === 0)
      return await process.abort(code.aborted);
  }
  if (!printsFirst && !(await printed(transaction))) return;
  const aborts = process.fault("report-then-abort");
  if (aborts?.["charged"] === "no" && !stands(transaction.stored))
    await reverse(transaction, "fault");
  else commit(transaction);
  if (!aborts && process.parts.is("statuses-a0")) await process.status(status.paidRemoveCard);
  if (aborts) return await process.abort(Number.parseInt(String(aborts["code"]), 16));
  await process.complete();
}

function reportInput({ process, stored }: Transaction): Outgoing {
  const input = approvedReport(stored, process.parts);
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

/** Prints the receipts. Undoes the transaction and returns false if printing fails. */
async function printed(transaction: Transaction): Promise<boolean> {
  const { process, stored } = transaction;
  const wrong = process.parts.is("wrong-amount-on-reversal") && stored.kind === "reversal";
  const printable = wrong ? { ...stored, amountMinor: 0 } : stored;
  const how = await printReceipts(process, printable, transaction.title);
  if (how === "printed") return true;
  // The receipt is part of the acknowledgement (docs/zvt.md 9.1).
  await undo(transaction, how === "silent" ? "no-answer" : "not-printed");
  return false;
}

function commit({ process, stored }: Transaction): void {
  const { ledger, memory, options, screen } = process.parts;
  if (stands(stored)) return;
  memory.together(() => {
    if (options.behaviour.autoReversal) memory.store(stored);
    ledger.finalise(stored.ledgerId);
  });
  if (stored.kind === "payment") screen.show("approved");
}

/** Pays back the price of goods that did not come out (docs/zvt.md 8.4). */
function takePartBack(transaction: Transaction, issuedMinor: number): void {
  const { process, stored } = transaction;
  const { ledger, memory, options } = process.parts;
  const backMinor = Math.max(stored.amountMinor - issuedMinor, 0);
  if (backMinor === 0) return;
  ledger.takeBack(stored.ledgerId, "goods-partly-issued", {
    amountMinor: backMinor,
    trace: memory.takeTrace(),
  });
  transaction.stored = { ...stored, amountMinor: stored.amountMinor - backMinor };
  if (!options.behaviour.autoReversal) memory.change(transaction.stored);
}

/** Undoes a transaction that the register did not accept; a final transaction is only completed. */
async function undo(transaction: Transaction, because: UndoReason | "not-printed"): Promise<void> {
  const { process } = transaction;
  const { behaviour } = process.parts.options;
  if (stands(transaction.stored)) {
    if (because !== "line-lost") await process.complete();
    return;
  }
  if (because === "not-issued" || because === "asked-too-often") {
    await reverse(transaction, "goods-not-issued");
  } else if (behaviour.autoReversal) await reverse(transaction, "not-acknowledged");
  if (because === "asked-too-often") await stop(process, code.aborted);
  else if (because !== "line-lost") {
    await process.abort(because === "not-printed" ? code.printerNotReady : code.aborted);
  }
}

/** Reverses a transaction that the register did not ask to reverse (docs/zvt.md 9.1). */
async function reverse({ process, stored }: Transaction, reason: LedgerReason): Promise<void> {
  const { ledger, memory, options, screen } = process.parts;
  await process.status(status.reversing);
  await process.pause("reversal", options.pace.reversalMs);
  memory.together(() => {
    ledger.takeBack(stored.ledgerId, reason, { trace: memory.takeTrace() });
    if (!options.behaviour.autoReversal) memory.forgetLast();
  });
  screen.show("cancelled");
}
