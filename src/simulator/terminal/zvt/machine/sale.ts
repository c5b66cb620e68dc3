import { fromHex, type MessageInput, tagValue } from "../../../../zvt/index.ts";
import { type CardName, testCards } from "../../bank/cards.ts";
import { type LedgerReason, type Outcome, outcomeOf } from "../../bank/ledger.ts";
import type { StoredTransaction, TransactionKind } from "../../memory/memory.ts";
import type { PaymentScript } from "../../options.ts";
import {
  type Booking,
  book,
  type CardPin,
  PIN_TRIES_MAX,
  ProcessOver,
  pinPad,
} from "../../terminal-parts.ts";
import { printReceipts } from "../receipts.ts";
import type { Outgoing } from "./parts.ts";
import { type Answer, type Process, readable } from "./process.ts";
import { abortedReport, approvedReport, unknownField, unknownTags } from "./report.ts";
import { status } from "./texts.ts";

type Order = Booking["order"];

/** The result codes by their meaning (docs/zvt.md 11.4). */
export const code = {
  wrongPin: 0x37,
  noCardData: 0x65,
  notForDebitCards: 0x67,
  aborted: 0x6c,
  wrongCurrency: 0x6f,
  notRegistered: 0x6b,
  cardBlocked: 0x6e,
  textNotAuthentic: 0x75,
  cardUnknown: 0x7a,
  notPossible: 0x83,
  alreadyReversed: 0xb4,
  reversalImpossible: 0xb5,
  preAuthorisationWrong: 0xb7,
  openPreAuthorisations: 0xb8,
  amountTooSmall: 0xc8,
  printerNotReady: 0xcc,
  messageWrong: 0x9a,
  /** The register asks for the report again, or the terminal asks to wait (docs/zvt.md 8.1). */
  askAgain: 0x9c,
  partlyIssued: 0x9d,
  memoryFull: 0xb1,
} as const;

/** The card that the customer presented, or why no payment card was presented. */
export type Presented =
  /** `outcome`: the bank's answer for this card; missing: the usual answer. */
  | { readonly card: CardName; readonly pin: CardPin; readonly outcome?: Outcome }
  | ("cancelled" | "timed-out" | "other-card");

/** Accepts a sale; undefined: its amount or currency is wrong, and the command has ended. */
export async function checkedOrder(process: Process): Promise<Order | undefined> {
  const { parts, request } = process;
  const { behaviour } = parts.options;
  const { amount, currency } = request.fields;
  // A real terminal lets its user type a missing amount; the simulated one has no keys for that.
  if (amount === undefined) return await process.refuse(code.messageWrong);
  await process.accept();
  const used = currency ?? (behaviour.currencies[0] as string);
  if (!behaviour.currencies.includes(used)) {
    return await process.abort(code.wrongCurrency, { parts: { currency: used } });
  }
  if (amount === 0) return await process.abort(code.amountTooSmall);
  return { amountMinor: amount, currency: used, currencyTold: currency !== undefined };
}

/** Asks the customer for a card; meanwhile the register can cancel (docs/zvt.md 5.2). */
export async function presentCard(
  process: Process,
  outcome: Outcome,
  script: PaymentScript,
): Promise<Presented> {
  return await process.untilCancelled(async (signal) => {
    await process.status(status.insertCard);
    signal.throwIfAborted();
    await process.reach("card");
    const waitMs = cardWaitMs(process);
    const wait = { wanted: "card", waitMs, outcome, script, signal } as const;
    const action = await process.parts.customerAction(wait);
    if (action.action === "cancel") return "cancelled";
    if (action.action === "time-out") return "timed-out";
    if (action.action !== "insert") return "other-card";
    const card = action.card ?? script.card ?? process.parts.options.behaviour.card;
    const asksPin = testCards[card].holderCheck === "online-pin" || action.pin !== undefined;
    if (asksPin && !process.parts.is("no-pin-status")) await process.status(status.usePinPad);
    const pad = pinPad(process.parts, action);
    const first = await pad(waitMs, signal);
    if (first === "cancelled" || first === "timed-out") return first;
    const amountMinor = process.request.fields.amount ?? 0;
    const given = action.outcome && outcomeOf(action.outcome, amountMinor);
    return { card, pin: { pad, first }, ...(given ? { outcome: given } : {}) };
  });
}

/** Returns how long the terminal waits for a card, in ms, as tag 1F5B says (docs/zvt.md 6.2). */
function cardWaitMs({ parts, request }: Process): number {
  const seconds = tagValue(request.tags, "cardWaitSeconds");
  return seconds === undefined ? parts.options.pace.cardWaitMs : seconds * 1_000;
}

/** Asks the bank; from then on an Abort is too late (docs/zvt.md 5.2). */
export async function askHost(process: Process, script: PaymentScript = {}): Promise<void> {
  await process.reach("host");
  await failByFault(process);
  await process.status(status.waitingForHost);
  await process.pause("host", script.hostMs ?? process.parts.options.pace.hostMs);
}

/** Asks the bank; after a wrong PIN reports it and asks again (docs/zvt.md 11.4). */
export async function askHostWithPin(process: Process, pin: CardPin, script: PaymentScript) {
  await askHost(process, script);
  if (process.fault("wrong-pin-first")) {
    await reportWrongPin(process);
    await askHost(process, script);
  }
  let entered = pin.first;
  for (let tries = 1; entered === "wrong" && tries < PIN_TRIES_MAX; tries++) {
    await reportWrongPin(process);
    entered = await process.untilCancelled((signal) => pin.pad(cardWaitMs(process), signal));
    if (entered === "right" || entered === "wrong") await askHost(process, script);
  }
  return entered;
}

async function reportWrongPin(process: Process): Promise<void> {
  await process.status(status.wrongPin);
  await process.report(abortedReport(code.wrongPin, process.parts.device));
}

/** Ends a command without a charge: sends a report with the result code, then an abort. */
export async function stop(process: Process, resultCode: number): Promise<undefined> {
  await process.report(abortedReport(resultCode, process.parts.device));
  await process.abort(resultCode);
}

/** Ends the command with an abort (06 1E) if the fault `fail` strikes. */
export async function failByFault(process: Process): Promise<void> {
  const fault = process.fault("fail");
  if (!fault) return;
  await process.abort(Number.parseInt(String(fault["code"]), 16));
  throw new ProcessOver("failed by a fault");
}

/** The register's answer to the report of an approved sale (docs/zvt.md 8.1). */
type Taken = "acknowledged" | { readonly issuedMinor: number } | UndoReason;

type UndoReason =
  | "not-issued"
  /** The register asked to repeat the report more often than its own command had allowed. */
  | "asked-too-often"
  /** The register did not answer in time, although the line was open. */
  | "no-answer"
  | "line-lost";

/** Sends a sale's report until the register answers whether goods came out (docs/zvt.md 8.1). */
async function reportSale(process: Process, input: MessageInput): Promise<Taken> {
  const { parts, request } = process;
  const { timeoutSeconds, maxStatusInfos } = request.fields;
  const windowMs = timeoutSeconds ? timeoutSeconds * 1_000 : undefined;
  const unnamed = parts.is("asks-three-times") ? 3 : Number.POSITIVE_INFINITY;
  const repeatsMax = maxStatusInfos ?? unnamed;
  for (let repeats = 0; ; repeats++) {
    const answer = await process.report(input, windowMs);
    if (answer.kind !== "negative" || answer.code !== code.askAgain) {
      return taken(answer, !parts.is("no-partial-issue"));
    }
    if (repeats >= repeatsMax) return "asked-too-often";
    await process.pause("goods", parts.options.pace.goodsPauseMs);
  }
}

function taken(answer: Answer, knowsPartly: boolean): Taken {
  if (answer.kind === "positive") return "acknowledged";
  if (answer.kind === "silent") return answer.because === "time-out" ? "no-answer" : "line-lost";
  if (answer.code !== code.partlyIssued || !knowsPartly) return "not-issued";
  // An answer that cannot be read means that no goods came out.
  const issuedMinor = readable(answer.apdu)?.fields.amount;
  return issuedMinor === undefined ? "not-issued" : { issuedMinor };
}

/** A transaction that the bank has approved, until it is final (docs/zvt.md 9.1). */
interface Transaction {
  readonly process: Process;
  /** The title of the receipt; undefined: the usual title for this kind of transaction. */
  readonly title: string | undefined;
  stored: StoredTransaction;
}

/**
 * Whether a transaction is final as soon as the bank has approved it: only transactions that take
 * money from a card can be reversed automatically (docs/zvt.md 9.1).
 */
function stands({ kind }: { readonly kind: TransactionKind }): boolean {
  return kind !== "payment" && kind !== "reservation";
}

/** Books a transaction at the bank; the terminal stores it if it is already final. */
export function charge(process: Process, booking: Booking, title?: string): Transaction {
  const final = stands(booking);
  // Newer terminals keep an approved sale even if the register is silent (docs/zvt.md 9.1).
  const isStored = final || !process.parts.options.behaviour.autoReversal;
  return { process, title, stored: book(process.parts, booking, { final, isStored }) };
}

/** Reports and prints a transaction; when all has its ACK, it is final (docs/zvt.md 9.1). */
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

/** Prints the receipts of a transaction. If that fails, undoes it and returns false. */
async function printed(transaction: Transaction): Promise<boolean> {
  const { process, stored } = transaction;
  const wrong = process.parts.is("wrong-amount-on-reversal") && stored.kind === "reversal";
  const printable = wrong ? { ...stored, amountMinor: 0 } : stored;
  const how = await printReceipts(process, printable, transaction.title);
  if (how === "printed") return true;
  // A transaction whose receipt was not printed gets no ACK (docs/zvt.md 9.1).
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

/** Pays back the price of the goods that did not come out (docs/zvt.md 8.4). */
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

/** Undoes a transaction that the register did not accept; a final one is only completed. */
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

/** Reverses a transaction without a command of the register (docs/zvt.md 9.1). */
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
