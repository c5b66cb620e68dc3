import type { CardName } from "../../bank/cards.ts";
import { isDebitCard, maskedPan, testCards } from "../../bank/cards.ts";
import { localTime } from "../machine/local-time.ts";
import type { Process } from "../machine/process.ts";
import { askHost, checkedOrder, code, presentCard, stop } from "../machine/sale.ts";
import { charge, settle } from "../machine/transaction.ts";
import { zvtCard } from "../machine/zvt-cards.ts";
import { type Command, command } from "./command.ts";

/**
 * Book tip 06 0C (docs/zvt.md 6.3): one more charge of the card, where the first one allowed it.
 */
const bookTip = command(0x060c, async (process) => {
  const { ledger, memory } = process.parts;
  const { receiptNumber } = process.request.fields;
  if (receiptNumber === undefined || !/^\d+$/.test(receiptNumber)) {
    return await process.refuse(code.messageWrong);
  }
  const order = await checkedOrder(process);
  if (!order) return;
  const original = memory.find(Number(receiptNumber));
  if (!original?.tipAllowed || original.state !== "stored") {
    return await process.abort(code.notPossible);
  }
  await askHost(process);
  const transaction = charge(process, {
    title: "TIP",
    kind: "payment",
    ledgerKind: "charge",
    order,
    card: original.card,
    trace: memory.takeTrace(),
    stands: false,
  });
  await settle(transaction);
  // A tip that was not acknowledged has been taken back, and can be booked again.
  if (ledger.find(transaction.stored.ledgerId)?.final) {
    memory.change({ ...original, tipAllowed: false });
  }
});

/**
 * Telephonic authorisation 06 21 (docs/zvt.md 6.3): the bank has agreed on the telephone already.
 */
const telephonicAuthorisation = command(0x0621, async (process) => {
  const authorisation = process.request.fields.authorisationAttribute;
  // Without the number a terminal with keys would ask for it; this one has none.
  if (!authorisation) return await process.refuse(code.messageWrong);
  const order = await checkedOrder(process);
  if (!order) return;
  const card = await presentedCard(process);
  if (card === undefined) return;
  if (isDebitCard(card)) return await process.abort(code.notForDebitCards);
  const trace = process.parts.memory.takeTrace();
  const transaction = charge(process, {
    title: "TELEPHONIC",
    kind: "payment",
    ledgerKind: "charge",
    order,
    card,
    trace,
    authorisation,
    stands: false,
  });
  await settle(transaction);
});

/** The balance of every card of the bank at first, in minor units. */
const BALANCE_AT_FIRST = 100_000;

/** Account balance 06 03 (docs/zvt.md 6.3): reported, and nothing is stored. */
const accountBalance = command(0x0603, async (process) => {
  const { parts } = process;
  await process.accept();
  const name = await presentedCard(process);
  if (name === undefined) return;
  await askHost(process);
  const card = zvtCard(name);
  const { date, time } = localTime(parts.now);
  await process.report({
    fields: {
      resultCode: 0x00,
      amount: Math.max(BALANCE_AT_FIRST - spent(process, name), 0),
      trace: String(parts.memory.takeTrace()).padStart(6, "0"),
      time,
      date: date.slice(4),
      pan: card.maskedDigits,
      terminalId: parts.device.terminalId,
      cardType: card.cardType,
      cardName: card.scheme,
    },
  });
  await process.complete();
});

function spent({ parts }: Process, name: CardName): number {
  const pan = maskedPan(testCards[name]);
  return parts.ledger.chargedTo(pan);
}

/** Ends the command, and answers undefined, when the customer brings no card that can be used. */
async function presentedCard(process: Process): Promise<CardName | undefined> {
  const { behaviour } = process.parts.options;
  const approve = { kind: "approve" } as const;
  const outcome = behaviour.outcome === "by-amount" ? approve : behaviour.outcome;
  const presented = await presentCard(process, outcome, {});
  if (typeof presented === "object") return presented.card;
  await stop(process, presented === "other-card" ? code.cardUnknown : code.aborted);
  return undefined;
}

export const otherPayments: readonly Command[] = [bookTip, telephonicAuthorisation, accountBalance];
