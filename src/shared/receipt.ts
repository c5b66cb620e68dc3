/**
 * The card receipt of a payment answer: 32 fields, every one a string, "" when the terminal does
 * not say (docs/design.md 12.6, 12.7; widths as in the published example).
 */
export const receiptFields = [
  "ticketHeader",
  "localDate",
  "localTime",
  "acceptor",
  "transactionType",
  "contractNumber",
  "SIRET",
  "activity",
  "paymentType",
  "siteType",
  "primaryAccountNumber",
  "TASA",
  "cardAppExpiry",
  "serviceCode",
  "crypto",
  "currencyNumCode",
  "acceptationSystemNum",
  "transactionNumber",
  "transactionFileNumber",
  "readingMode",
  "authorizationNumber",
  "forceCode",
  "amount",
  "currencyAlphaCode",
  "currencyFractionPart",
  "counterValueAmount",
  "counterValueCurrencyAlphaCode",
  "counterValueCurrencyFractionPart",
  "inclusiveAmount",
  "ticketFooter",
  "AID",
  "label",
] as const;

type ReceiptField = (typeof receiptFields)[number];
export type Receipt = Record<ReceiptField, string>;

/** The digits of `amount` and `inclusiveAmount`; a longer amount is refused before the sale. */
export const RECEIPT_AMOUNT_DIGITS = 8;

const empty = Object.fromEntries(receiptFields.map((field) => [field, ""])) as Receipt;

export function emptyReceipt(): Receipt {
  return { ...empty };
}

/**
 * Returns the YYMMDD of an expiry YYMM: the last day of the month, as EMV writes the expiry of an
 * application; "": it is no month.
 */
export function expiryYymmdd(yymm: string | undefined): string {
  if (!yymm || !/^\d\d(0[1-9]|1[0-2])$/.test(yymm)) return "";
  const year = 2000 + Number(yymm.slice(0, 2));
  const lastDay = new Date(year, Number(yymm.slice(2, 4)), 0).getDate();
  return `${yymm}${lastDay}`;
}
