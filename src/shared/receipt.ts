/**
 * The fields of the card receipt in a payment's answer. Each field is a string, "" if the terminal
 * does not report the value (docs/design.md 12.6, 12.7).
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

export type Receipt = Record<(typeof receiptFields)[number], string>;

/** The number of digits of a receipt's `amount`; a larger amount is refused before the sale. */
export const RECEIPT_AMOUNT_DIGITS = 8;

export const emptyReceipt: Receipt = Object.freeze(
  Object.fromEntries(receiptFields.map((field) => [field, ""])) as Receipt,
);
