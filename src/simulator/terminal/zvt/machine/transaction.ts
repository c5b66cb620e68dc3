import { fromHex } from "../../../../zvt/index.ts";
import type { LedgerReason } from "../../bank/ledger.ts";
import type { StoredTransaction } from "../../memory/memory.ts";
import { type Booking, book } from "../../terminal-parts.ts";
import { type Printed, printReceipts } from "../receipts.ts";
import type { Outgoing } from "./parts.ts";
import type { Process } from "./process.ts";
import { approvedReport, unknownField, unknownTags } from "./report.ts";
import { code, reportSale, stop, type UndoReason } from "./sale.ts";
import { status } from "./texts.ts";

interface Form {
  /** Printed on the receipt. */
  readonly title: string;
  /**
   * Final as soon as the bank has agreed, whatever the register says: reversals, bookings, refunds.
   * The automatic reversal of docs/zvt.md 9.1 is for transactions that take money from a card.
   */
  readonly stands: boolean;
}

export type NewTransaction = Booking & Form;

/** A transaction that the bank has agreed to, on its way to be final (docs/zvt.md 9.1). */
interface Transaction extends Form {
  readonly process: Process;
  stored: StoredTransaction;
}

/** Lets the bank book; the terminal stores a transaction that is final at once. */
export function charge(process: Process, given: NewTransaction): Transaction {
  const { title, stands } = given;
  // Newer terminals keep the bank's answer, whatever the register says to it (docs/zvt.md 9.1).
  const isStored = stands || !process.parts.options.behaviour.autoReversal;
  return {
    process,
    title,
    stands,
    stored: book(process.parts, given, { final: stands, isStored }),
  };
}

/** Reports and prints a transaction; all acknowledgements make it final (docs/zvt.md 9.1). */
export async function settle(transaction: Transaction): Promise<void> {
  const { process } = transaction;
  await process.reach("charged");
  if (process.fault("no-report")) {
    commit(transaction);
    return await process.complete();
  }
  await sendUnknownMessage(process);
  const isReversal = transaction.stored.kind === "reversal";
  const printsFirst =
    process.fault("print-first") !== undefined ||
    (isReversal && process.parts.is("print-first-in-reversal"));
  if (printsFirst && !(await printed(transaction))) return;
  const taken = await reportSale(process, reportInput(transaction));
  if (taken.how === "undo") return await undo(transaction, taken.because);
  if (taken.how === "partly" && !transaction.stands) {
    takePartBack(transaction, taken.amountMinor);
    if (process.parts.ledger.remaining(transaction.stored.ledgerId) === 0)
      return await process.abort(code.aborted);
  }
  if (!printsFirst && !(await printed(transaction))) return;
  const aborts = process.fault("report-then-abort");
  if (aborts?.["charged"] === "no" && !transaction.stands) await reverse(transaction, "fault");
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

async function sendUnknownMessage(process: Process): Promise<void> {
  const fault = process.fault("unknown-message");
  if (fault) await process.sayRaw(fromHex(String(fault["hex"])));
}

/** Prints the receipts; if that fails, undoes the transaction and returns false. */
async function printed(transaction: Transaction): Promise<boolean> {
  const { process, stored } = transaction;
  const wrong = process.parts.is("wrong-amount-on-reversal") && stored.kind === "reversal";
  const printable = wrong ? { ...stored, amountMinor: 0 } : stored;
  const how = await printReceipts(process, transaction.title, printable);
  if (how === "printed") return true;
  await undoUnprinted(transaction, how);
  return false;
}

function commit({ process, stands, stored }: Transaction): void {
  const { ledger, memory, options, screen } = process.parts;
  if (stands) return;
  memory.together(() => {
    if (options.behaviour.autoReversal) memory.store(stored);
    ledger.finalise(stored.ledgerId);
  });
  if (stored.kind === "payment") screen.show("approved");
}

/** Gives back what was paid for goods that did not come out (docs/zvt.md 8.4). */
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

async function undo(transaction: Transaction, because: UndoReason): Promise<void> {
  const { process } = transaction;
  const { behaviour } = process.parts.options;
  if (transaction.stands) {
    if (because !== "line-lost") await process.complete();
    return;
  }
  switch (because) {
    case "not-issued":
      await reverse(transaction, "goods-not-issued");
      return await process.abort(code.aborted);
    case "asked-too-often":
      await reverse(transaction, "goods-not-issued");
      return await stop(process, code.aborted);
    case "no-word":
      if (behaviour.autoReversal) await reverse(transaction, "not-acknowledged");
      return await process.abort(code.aborted);
    case "line-lost":
      if (behaviour.autoReversal) await reverse(transaction, "not-acknowledged");
      return;
  }
}

async function undoUnprinted(
  transaction: Transaction,
  how: Exclude<Printed, "printed">,
): Promise<void> {
  const { process } = transaction;
  if (transaction.stands) return await process.complete();
  // The receipt counts as part of the acknowledgement (docs/zvt.md 9.1).
  if (process.parts.options.behaviour.autoReversal) await reverse(transaction, "not-acknowledged");
  await process.abort(how === "silent" ? code.aborted : code.printerNotReady);
}

/** Reverses a transaction without being asked by the register (docs/zvt.md 9.1). */
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
