import { container, tag, tagValue } from "../../../../zvt/index.ts";
import { isDebitCard } from "../../bank/cards.ts";
import type { StoredTransaction } from "../../memory/memory.ts";
import type { Booking } from "../../terminal-parts.ts";
import type { Parts } from "../machine/parts.ts";
import { type Command, command, type Process } from "../machine/process.ts";
import { approvedReport } from "../machine/report.ts";
import { askHost, charge, code, failByFault, settle } from "../machine/sale.ts";
import { printReceipts } from "../receipts.ts";

export const storedCommands: readonly Command[] = [
  /** Reversal 06 30 (docs/zvt.md 6.3): takes back the whole amount of a stored transaction. */
  command(0x0630, async (process) => {
    const original = await originalOf(process, {
      isOne: ({ kind }) => kind === "payment" || kind === "booking",
      unknown: code.reversalImpossible,
    });
    if (!original) return;
    const { amount } = process.request.fields;
    const { parts } = process;
    if (parts.is("reverses-last-only") && original.trace !== parts.memory.last?.trace) {
      return await process.abort(code.reversalImpossible);
    }
    if (original.state === "reversed") return await process.abort(code.alreadyReversed);
    if (amount !== undefined && amount !== original.amountMinor) {
      return await process.abort(code.reversalImpossible);
    }
    await askHost(process);
    await follow(process, original);
  }),
  /** Partial reversal 06 23 (docs/zvt.md 6.3): releases the unused part of a reservation. */
  command(0x0623, async (process) => {
    if (process.request.fields.receiptNumber === ENQUIRY) return await reportOpen(process);
    const original = await openReservation(process);
    if (!original) return;
    const unusedMinor = process.request.fields.amount ?? 0;
    await book(process, original, original.amountMinor - unusedMinor);
  }),
  /** Book total 06 24 (docs/zvt.md 6.3): charges the used part of a reservation. */
  command(0x0624, async (process) => {
    const original = await openReservation(process);
    if (!original) return;
    await book(process, original, process.request.fields.amount ?? original.amountMinor);
  }),
  /** Pre-authorisation reversal 06 25 (docs/zvt.md 6.3): releases an unused reservation. */
  command(0x0625, async (process) => {
    const original = await openReservation(process);
    if (!original) return;
    // Reservations on debit cards end without a command, so none is accepted (docs/zvt.md 6.3).
    if (isDebitCard(original.card)) return await process.abort(code.notForDebitCards);
    await book(process, original, 0);
  }),
  /** Repeat Receipt 06 20 (docs/zvt.md 6.4); service byte 03: sends the report, prints nothing. */
  command(0x0620, async (process) => {
    const { parts, request } = process;
    const service = request.fields.serviceByte ?? 0;
    await process.accept();
    await failByFault(process);
    if (parts.is("empty-repeat-receipt") || process.fault("bare-repeat"))
      return await process.complete();
    const last = reportedTransaction(parts);
    if (!last) return await process.abort(code.notPossible);
    if ((service & WITH_STATUS) !== 0) await process.report(approvedReport(last, parts));
    const selection = tagValue(request.tags, "receiptSelection");
    if ((service & WITHOUT_PRINT) === 0 && (selection ?? 1) <= 3) {
      await printReceipts(process, last);
    }
    await process.complete();
  }),
  /** Reprint 06 12 (docs/zvt.md 6.4): prints receipts of stored transactions, by receipt number. */
  command(0x0612, async (process) => {
    const { receiptFrom = "", receiptTo = receiptFrom } = process.request.parts;
    if (!/^\d{8}$/.test(receiptFrom + receiptTo)) return await process.refuse(code.messageWrong);
    await process.accept();
    await failByFault(process);
    const [from, to] = [Number(receiptFrom), Number(receiptTo)];
    const found = process.parts.memory.turnover.filter(
      ({ receiptNumber }) => receiptNumber >= from && receiptNumber <= to,
    );
    if (found.length === 0) return await process.abort(code.notPossible);
    for (const stored of found) {
      const how = await printReceipts(process, stored);
      if (how !== "printed") return await process.abort(code.printerNotReady);
    }
    await process.complete();
  }),
];

/** The receipt number with which a register asks for all open pre-authorisations. */
const ENQUIRY = "FFFF";

/** Returns the transaction that the command names; undefined: none, and the command is over. */
async function originalOf(
  process: Process,
  { isOne, unknown }: { isOne(stored: StoredTransaction): boolean; unknown: number },
): Promise<StoredTransaction | undefined> {
  const { memory, options } = process.parts;
  const { receiptNumber, currency } = process.request.fields;
  if (receiptNumber === undefined || !/^\d+$/.test(receiptNumber)) {
    return await process.refuse(code.messageWrong);
  }
  await process.accept();
  if (currency !== undefined && !options.behaviour.currencies.includes(currency)) {
    return await process.abort(code.wrongCurrency, { parts: { currency } });
  }
  const original = memory.find(Number(receiptNumber));
  return original && isOne(original) ? original : await process.abort(unknown);
}

function openReservation(process: Process): Promise<StoredTransaction | undefined> {
  return originalOf(process, {
    isOne: ({ kind, state }) => kind === "reservation" && state === "stored",
    unknown: code.preAuthorisationWrong,
  });
}

/** Turns a reservation into a sale of its used part, which can be zero. */
async function book(process: Process, reservation: StoredTransaction, usedMinor: number) {
  if (usedMinor < 0 || usedMinor > reservation.amountMinor) {
    return await process.abort(code.preAuthorisationWrong);
  }
  await askHost(process);
  if (usedMinor > 0) {
    const { ledgerId, trace } = reservation;
    process.parts.ledger.takeBack(ledgerId, "booking", { trace });
  }
  await follow(process, reservation, usedMinor);
}

/**
 * Books the used part of a reservation, or reverses `original` if no part was used. The reversal of
 * a reservation reports the amount zero, and the bank releases what is left.
 */
async function follow(process: Process, original: StoredTransaction, usedMinor = 0): Promise<void> {
  const { ledger, memory } = process.parts;
  const isRelease = original.kind === "reservation" && usedMinor === 0;
  const left = isRelease ? ledger.remaining(original.ledgerId) : original.amountMinor;
  const { card, currency } = original;
  const currencyTold = process.request.fields.currency !== undefined;
  const booking: Booking = {
    kind: usedMinor > 0 ? "booking" : "reversal",
    order: { amountMinor: usedMinor > 0 ? usedMinor : left, currency, currencyTold },
    card,
    original,
  };
  const transaction = charge(process, booking, isRelease ? "RESERVATION REVERSAL" : undefined);
  memory.change({ ...original, state: usedMinor > 0 ? "booked" : "reversed" });
  if (isRelease) {
    transaction.stored = { ...transaction.stored, amountMinor: 0 };
    memory.change(transaction.stored);
  }
  await settle(transaction);
}

/** Reports all open pre-authorisations in an abort, as the protocol demands (docs/zvt.md 6.3). */
async function reportOpen(process: Process): Promise<void> {
  const { memory } = process.parts;
  const open = memory.turnover.filter(
    ({ kind, state }) => kind === "reservation" && state === "stored",
  );
  const numbers = open.map(({ receiptNumber }) => String(receiptNumber).padStart(4, "0"));
  const others = numbers.slice(1).map((number) => tag("receiptNumber", number));
  await process.accept();
  await process.abort(code.openPreAuthorisations, {
    fields: { receiptNumber: numbers[0] ?? ENQUIRY },
    ...(others.length > 0 ? { tags: [container("openPreAuthorisations", others)] } : {}),
  });
}

/** The bits of the service byte of Repeat Receipt (docs/zvt.md 6.4). */
const WITH_STATUS = 0x01;
const WITHOUT_PRINT = 0x02;

function reportedTransaction({ memory, ledger, options }: Parts): StoredTransaction | undefined {
  if (options.behaviour.repeatsWithoutAck) return memory.last;
  return memory.turnover.findLast(
    ({ ledgerId, state }) => state !== "reversed" && ledger.find(ledgerId)?.final === true,
  );
}
