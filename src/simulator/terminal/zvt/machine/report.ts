import {
  type Charset,
  container,
  type FieldInputs,
  fromHex,
  type MessageInput,
  type RawTag,
  rawTag,
  tag,
} from "../../../../zvt/index.ts";
import { type CardName, type TestCard, testCards } from "../../bank/cards.ts";
import type { StoredTransaction } from "../../memory/memory.ts";
import type { Device } from "../../options.ts";
import { localTime, type Parts } from "./parts.ts";
import type { Process } from "./process.ts";
import { status, statusText } from "./texts.ts";

export interface ZvtCard extends TestCard {
  /** The card type of field 8A and tag 41 (docs/zvt.md 11.6). */
  readonly cardType: number;
  /** The card's group in the totals of an end of day, field 60 (docs/zvt.md 7.1). */
  readonly totalsGroup: number;
}

const codes: Readonly<Record<CardName, Pick<ZvtCard, "cardType" | "totalsGroup">>> = {
  girocard: { cardType: 5, totalsGroup: 0 },
  mastercard: { cardType: 6, totalsGroup: 2 },
  visa: { cardType: 10, totalsGroup: 4 },
  amex: { cardType: 8, totalsGroup: 3 },
  maestro: { cardType: 46, totalsGroup: 6 },
  jcb: { cardType: 14, totalsGroup: 1 },
};

export function zvtCard(name: CardName): ZvtCard {
  return { ...testCards[name], ...codes[name] };
}

/** The values of tag 1F12: how the card was read (docs/zvt.md 11.2). */
const technologyCodes = { chip: 1, contactless: 2 } as const;
/** The values of tag 1F10: how the cardholder was verified (docs/zvt.md 11.2). */
const holderCheckCodes = { none: 0, "online-pin": 2 } as const;

/** The facts of a transaction that a report (04 0F) contains. */
export type Reported = Omit<
  StoredTransaction,
  "receiptNumber" | "kind" | "ledgerId" | "state" | "closed"
> & { readonly receiptNumber: number | null };

/** The values of field 19 of a report (docs/zvt.md 7.1): online, and with PIN. */
const ONLINE = 0x60;
const WITH_PIN = 0x70;

/** Returns the report of an approved transaction (docs/zvt.md 4.2, 7.1). */
export function approvedReport(reported: Reported, parts: Parts): MessageInput {
  const { device } = parts;
  const { originalTrace, receiptNumber } = reported;
  const card = zvtCard(reported.card);
  const fields: FieldInputs = {
    resultCode: 0x00,
    amount: reported.amountMinor,
    trace: parts.is("long-trace") ? "000000" : digits(reported.trace, 6),
    ...(originalTrace === null ? {} : { originalTrace: digits(originalTrace, 6) }),
    ...timeFields(reported.atMs),
    expiry: card.expiry,
    cardSequence: card.sequence,
    typeByte: card.holderCheck === "online-pin" ? WITH_PIN : ONLINE,
    pan: card.maskedDigits,
    terminalId: device.terminalId,
    authorisationAttribute: reported.authorisation,
    ...(reported.currencyTold ? { currency: reported.currency } : {}),
    ...(receiptNumber === null ? {} : { receiptNumber: digits(receiptNumber, 4) }),
    cardType: card.cardType,
    contractNumber: device.contractNumber,
    cardName: card.scheme,
  };
  if (parts.is("short-report")) return shortReport(fields);
  const tip = reported.tipAllowed ? [tag("tipAllowed", 1)] : [];
  return { fields, tags: [...cardTags(card), ...tip, ...otherTags(reported, parts)] };
}

const shortFields = new Set(
  "amount trace time date pan terminalId currency receiptNumber cardType".split(" "),
);

function shortReport(fields: FieldInputs): MessageInput {
  const kept = Object.entries(fields).filter(([name]) => shortFields.has(name));
  return { parts: { resultCode: 0x00 }, fields: Object.fromEntries(kept) };
}

/** Returns tags that deviating terminals add to a report (docs/zvt.md 12.2, 12.3, 12.5). */
function otherTags(reported: Reported, parts: Parts): readonly RawTag[] {
  return [
    ...(parts.is("long-trace") ? [tag("longTrace", digits(reported.trace, 8))] : []),
    ...(parts.is("private-tags") ? privateTags : []),
    ...(parts.is("opaque-tags") ? opaqueTags : []),
  ];
}

const privateTags: readonly RawTag[] = [
  rawTag(0xc0, fromHex("01")),
  rawTag(0xd0, fromHex("0203")),
  rawTag(0xd1, fromHex("04")),
  rawTag(0xdf01, fromHex("0506")),
];

/** Tags whose bit 6 says that they contain tags, although they do not. */
export const opaqueTags: readonly RawTag[] = [
  rawTag(0xff40, fromHex("123456")),
  rawTag(0xff41, fromHex("d5b7136976c101")),
];

/** Returns the report of a declined transaction, which has no receipt number. */
export function declinedReport(process: Process, reported: Reported, resultCode: number) {
  const { device, language } = process.parts;
  const card = zvtCard(reported.card);
  return {
    charset: process.textCharset(),
    fields: {
      resultCode,
      amount: reported.amountMinor,
      trace: digits(reported.trace, 6),
      ...timeFields(reported.atMs),
      pan: card.maskedDigits,
      terminalId: device.terminalId,
      ...(reported.currencyTold ? { currency: reported.currency } : {}),
      cardType: card.cardType,
      additionalText: statusText(status.declined, language),
      cardName: card.scheme,
    },
    tags: cardTags(card),
  };
}

/** Returns the report of a transaction that ended before the bank was asked (field 27: 6C). */
export function abortedReport(
  resultCode: number,
  device: Device,
  text?: { readonly text: string; readonly charset: Charset },
): MessageInput {
  const fields = { resultCode, terminalId: device.terminalId };
  if (text === undefined) return { fields };
  return { charset: text.charset, fields: { ...fields, additionalText: text.text } };
}

/** Returns fields with the time and the day, MMDD (docs/zvt.md 7.1). */
export function timeFields(atMs: number): FieldInputs {
  const local = localTime(new Date(atMs));
  return { time: local.time, date: local.date.slice(4) };
}

/** Returns the tags with the card's application and how it was used (docs/zvt.md 11.2). */
function cardTags(card: ZvtCard): readonly RawTag[] {
  return [
    container("payment", [
      tag("cardholderIdentification", holderCheckCodes[card.holderCheck]),
      tag("onlineFlag", 1),
      tag("technology", technologyCodes[card.technology]),
    ]),
    tag("cardType", card.cardType),
    tag("applicationLabel", card.label),
    tag("aid", fromHex(card.aid)),
  ];
}

/** A field that is newer than revision 13.08, so that its length is unknown (docs/zvt.md 11.1). */
export const unknownField = fromHex("760102");

/** Tags that no table contains, with tag numbers of one, two and three bytes. */
export const unknownTags: readonly RawTag[] = [
  rawTag(0xdf01, fromHex("0102")),
  rawTag(0x5e, fromHex("aabb")),
  rawTag(0x1f8105, fromHex("00")),
];

function digits(value: number, count: number): string {
  return String(value).padStart(count, "0");
}
