import { number as findCurrency } from "currency-codes";
import { maskedPan, testCards } from "../../bank/cards.ts";
import type { Device } from "../../options.ts";
import { localTime } from "../machine/local-time.ts";
import type { Reported } from "../machine/report.ts";

/** One line of paper. */
export interface ReceiptLine {
  readonly text: string;
  readonly centred: boolean;
  readonly large: boolean;
}

/** Tag 1F07 (docs/zvt.md 7.3). */
export type ReceiptType = "merchant" | "customer" | "administration";

const copyTitles: Readonly<Record<ReceiptType, string>> = {
  merchant: "Merchant copy",
  customer: "Customer copy",
  administration: "Administration",
};

export interface ReceiptContent {
  readonly type: ReceiptType;
  /** "PURCHASE", "REVERSAL". */
  readonly title: string;
  readonly transaction: Reported;
  /** "APPROVED", "DECLINED 05". */
  readonly result: string;
}

/** The receipt of a transaction, as wide as the register's printer. */
export function transactionReceipt(
  { type, title, transaction, result }: ReceiptContent,
  device: Device,
  width: number,
): readonly ReceiptLine[] {
  const card = testCards[transaction.card];
  const { date, time } = localTime(new Date(transaction.atMs));
  const day = `${date.slice(6)}.${date.slice(4, 6)}.${date.slice(0, 4)}`;
  const clock = `${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}`;
  const pair = (left: string, right: string) => plain(spread(left, right, width));
  return [
    centred(`** ${copyTitles[type]} **`),
    centred(device.name),
    plain(""),
    { text: title, centred: true, large: width >= 24 },
    pair(day, clock),
    pair("Terminal:", device.terminalId),
    pair("Trace:", String(transaction.trace).padStart(6, "0")),
    ...(transaction.receiptNumber === null
      ? []
      : [pair("Receipt:", String(transaction.receiptNumber).padStart(4, "0"))]),
    plain(card.scheme),
    pair("Card:", maskedPan(card).replaceAll("X", "*")),
    pair("AID:", card.aid),
    ...(transaction.authorisation === ""
      ? []
      : [pair("Authorisation:", transaction.authorisation)]),
    pair("Amount:", amountText(transaction)),
    plain(""),
    centred(result),
  ];
}

export function amountText({
  amountMinor,
  currency,
}: Pick<Reported, "amountMinor" | "currency">): string {
  const { code = currency, digits = 2 } = findCurrency(currency.slice(1)) ?? {};
  const text = String(amountMinor).padStart(digits + 1, "0");
  if (digits === 0) return `${code} ${text}`;
  return `${code} ${text.slice(0, -digits)},${text.slice(-digits)}`;
}

export function plain(text: string): ReceiptLine {
  return { text, centred: false, large: false };
}

export function centred(text: string): ReceiptLine {
  return { text, centred: true, large: false };
}

/** Left and right edge of one line; below each other's reach, one blank stays between them. */
export function spread(left: string, right: string, width: number): string {
  return left + right.padStart(Math.max(width - left.length, right.length + 1));
}
