import { container, findTags, tag } from "../../../../zvt/index.ts";
import { type CardName, isDebitCard, maskedPan } from "../../bank/cards.ts";
import { type Outcome, outcomeOf } from "../../bank/ledger.ts";
import type { TransactionKind } from "../../memory/memory.ts";
import type { PaymentScript } from "../../options.ts";
import { PIN_TRIES_OVER, pinPad } from "../../terminal-parts.ts";
import texts from "../../texts.json" with { type: "json" };
import { askRegister, beforeHost } from "../asks.ts";
import { type Command, command, type Process } from "../machine/process.ts";
import { abortedReport, declinedReport, timeFields, zvtCard } from "../machine/report.ts";
import {
  askHost,
  askHostWithPin,
  charge,
  checkedOrder,
  code,
  type Presented,
  presentCard,
  settle,
  stop,
} from "../machine/sale.ts";
import { status } from "../machine/texts.ts";
import { printDeclined } from "../receipts.ts";

export const paymentCommands: readonly Command[] = [
  /** Authorisation 06 01 (docs/zvt.md 6.2, 8.1, 9.1). */
  command(0x0601, (process) => sell(process, "payment")),
  /** Card poll 06 E6 (docs/zvt.md 6.3): a payment, or a report of a card that cannot pay. */
  command(0x06e6, (process) => sell(process, "payment")),
  /** Pre-authorisation and reservation 06 22 (docs/zvt.md 6.3): holds money, charges nothing. */
  command(0x0622, (process) => sell(process, "reservation")),
  /** Refund 06 31 (docs/zvt.md 6.3): pays an amount to the card. */
  command(0x0631, (process) => sell(process, "refund")),
  /** Book tip 06 0C (docs/zvt.md 6.3): charges the card again if the payment allowed a tip. */
  command(0x060c, async (process) => {
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
    const tip = { kind: "payment", order, card: original.card } as const;
    const transaction = charge(process, tip, "TIP");
    await settle(transaction);
    // A tip that got no ACK was taken back, so it can be booked again.
    if (ledger.find(transaction.stored.ledgerId)?.final) {
      memory.change({ ...original, tipAllowed: false });
    }
  }),
  /** Telephonic authorisation 06 21 (docs/zvt.md 6.3): the bank approved the sale by telephone. */
  command(0x0621, async (process) => {
    const authorisation = process.request.fields.authorisationAttribute;
    // A real terminal lets its user type a missing number; the simulated one has no keys for that.
    if (!authorisation) return await process.refuse(code.messageWrong);
    const order = await checkedOrder(process);
    if (!order) return;
    const card = await presentedCard(process);
    if (card === undefined) return;
    if (isDebitCard(card)) return await process.abort(code.notForDebitCards);
    await settle(charge(process, { kind: "payment", order, card, authorisation }, "TELEPHONIC"));
  }),
  /** Account balance 06 03 (docs/zvt.md 6.3): reports the balance and stores nothing. */
  command(0x0603, async (process) => {
    const { parts } = process;
    await process.accept();
    const name = await presentedCard(process);
    if (name === undefined) return;
    await askHost(process);
    const card = zvtCard(name);
    await process.report({
      fields: {
        resultCode: 0x00,
        amount: Math.max(BALANCE_AT_FIRST - parts.ledger.chargedTo(maskedPan(card)), 0),
        trace: String(parts.memory.takeTrace()).padStart(6, "0"),
        ...timeFields(parts.now.getTime()),
        pan: card.maskedDigits,
        terminalId: parts.device.terminalId,
        cardType: card.cardType,
        cardName: card.scheme,
      },
    });
    await process.complete();
  }),
];

const CARD_POLL = 0x06e6;

/** Runs a sale: the customer, the bank's host, the report and the receipts (docs/zvt.md 1.3). */
async function sell(process: Process, kind: TransactionKind): Promise<void> {
  const { parts } = process;
  // The payment's script is read before the command is answered: its faults can strike then.
  const script = parts.nextPayment();
  const order = await checkedOrder(process);
  if (!order) return;
  await reverseMissed(process);
  if (parts.paperOut) return await stop(process, code.printerNotReady);
  const rule = script.outcome ?? parts.options.behaviour.outcome;
  const usual = outcomeOf(rule, order.amountMinor);
  const presented = await cardFor(process, usual, script);
  parts.readCard = undefined;
  if (presented === "no-card-data") return await process.abort(code.noCardData);
  if (presented === "other-card") return await refuseOtherCard(process);
  if (typeof presented === "string") return await endWithoutCard(process, presented);
  const { card, pin } = presented;
  const asked = await askRegister(process, "payment", beforeHost, card);
  if (asked !== undefined) return await stop(process, asked);
  const entered = await askHostWithPin(process, pin, script);
  const isOver = entered === "cancelled" || entered === "timed-out";
  if (isOver) return await endWithoutCard(process, entered);
  const trace = parts.memory.takeTrace();
  const wrongPin = { decline: PIN_TRIES_OVER };
  const outcome = entered === "wrong" ? wrongPin : (presented.outcome ?? usual);
  if (typeof outcome === "object") {
    const declined = { ...order, card, trace, ...neverStored, atMs: parts.now.getTime() };
    await process.status(status.declined);
    await process.report(declinedReport(process, declined, outcome.decline));
    await printDeclined(process, declined, outcome.decline);
    return await process.abort(outcome.decline);
  }
  const signed = await askRegister(process, "payment", ["signature"], card);
  if (signed !== undefined) return await stop(process, signed);
  const by = Number(process.fault("other-amount")?.["by"] ?? 0);
  const amountMinor = Math.min(Math.max(order.amountMinor + by, 1), AMOUNT_MAX);
  const tipAllowed = kind === "payment" && asks(process, TIP_ALLOWED);
  const sale = { kind, card, order: { ...order, amountMinor }, trace, tipAllowed };
  await settle(charge(process, sale));
}

/** Ends a payment without a card with code 6C; after a time-out with a text (docs/zvt.md 11.4). */
async function endWithoutCard(process: Process, how: "cancelled" | "timed-out"): Promise<void> {
  const { parts } = process;
  parts.screen.show(how);
  // The text says that the time ran out, because code 6C has other meanings too.
  const text = { text: texts.timeOut[parts.language], charset: process.textCharset() };
  const said = how === "timed-out" ? text : undefined;
  if (how === "cancelled" && parts.is("statuses-a0")) await process.status(status.cancelled);
  parts.silentOnce = how === "cancelled" && parts.is("silent-after-cancel");
  await process.report(abortedReport(code.aborted, parts.device, said));
  await process.abort(code.aborted);
}

/** The largest amount that field 04 can hold. */
const AMOUNT_MAX = 999_999_999_999;

/** Bits of field 19: use the card that Read Card read; a tip is allowed (docs/zvt.md 6.2). */
const USE_READ_CARD = 0x02;
const TIP_ALLOWED = 0x08;

function asks({ request }: Process, bit: number): boolean {
  return ((request.fields.typeByte ?? 0) & bit) !== 0;
}

async function cardFor(
  process: Process,
  outcome: Outcome,
  script: PaymentScript,
): Promise<Presented | "no-card-data"> {
  if (!asks(process, USE_READ_CARD)) return await presentCard(process, outcome, script);
  const { parts } = process;
  const { readCard } = parts;
  if (!readCard) return "no-card-data";
  const pad = pinPad(parts, { action: "insert" });
  return { card: readCard.card, pin: { pad, first: "right" } };
}

/** Ends a sale with a card that cannot pay; Card poll reports the card's kind (docs/zvt.md 6.3). */
async function refuseOtherCard(process: Process): Promise<void> {
  process.parts.screen.show("not-for-payments");
  if (process.control !== CARD_POLL) return await stop(process, code.cardUnknown);
  const found = [tag("uid", Uint8Array.of(0x08, 0x00, 0x00, 0xff)), tag("cardKind", 0x01)];
  await process.abort(code.cardUnknown, { tags: [container("card", found)] });
}

const neverStored = { originalTrace: null, authorisation: "", receiptNumber: null };

/**
 * Reverses the last transaction if the register missed its report: tag 1F1F has the last receipt
 * number that the register knows, or is empty if the register knows none (docs/zvt.md 9.4).
 */
async function reverseMissed(process: Process): Promise<void> {
  const { ledger, memory, options } = process.parts;
  const { autoReversal, receiptNumberCheck } = options.behaviour;
  if (autoReversal && !receiptNumberCheck) return;
  const named = findTags(process.request.tags, "lastReceiptNumber")[0]?.value;
  const { last } = memory;
  if (typeof named !== "string" || !last) return;
  // A register that knows no receipt number can only have missed the terminal's first transaction.
  const next = Number(named) === 9_999 ? 1 : Number(named) + 1;
  const missed = named === "" ? options.behaviour.firstReceiptNumber : next;
  if (missed !== last.receiptNumber || ledger.remaining(last.ledgerId) === 0) return;
  await process.pause("reversal", options.pace.reversalMs);
  memory.together(() => {
    ledger.takeBack(last.ledgerId, "register-missed-it", { trace: memory.takeTrace() });
    memory.forgetLast();
  });
}

/** The initial balance of every card at the bank, in minor units. */
const BALANCE_AT_FIRST = 100_000;

/** Returns the customer's card; undefined: no usable card, and the command has been ended. */
async function presentedCard(process: Process): Promise<CardName | undefined> {
  const { behaviour } = process.parts.options;
  const outcome = behaviour.outcome === "by-amount" ? "approve" : behaviour.outcome;
  const presented = await presentCard(process, outcome, {});
  if (typeof presented === "object") return presented.card;
  return await stop(process, presented === "other-card" ? code.cardUnknown : code.aborted);
}
