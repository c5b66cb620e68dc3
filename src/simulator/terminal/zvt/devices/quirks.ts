/**
 * Departures of real terminals from the text (docs/zvt.md 12.2 to 12.8), each by itself, as data.
 */
export const quirks = {
  "container-unasked": "sends containers that nobody asked for",
  "print-blocks-only": "prints with 06 D3, permitted or not",
  "print-lines-only": "prints with 06 D1, the receipt type in a container behind the text",
  "print-first-in-reversal": "prints before 04 0F in a reversal",
  "end-attribute-8f": "ends a receipt with attribute 8F in place of 81",
  "no-end-mark": "prints its configuration without an end mark",
  latin1: "texts in ISO 8859-1, whatever was agreed",
  "blocks-in-latin2": "06 D3 in ISO 8859-2, named in tag 14",
  "no-partial-issue": "takes 84 9D for goods that were not issued",
  "asks-three-times": "asks again three times at most when field 02 is missing",
  "five-digit-password": "compares five digits, and none at registration",
  "t4-byte-zero": "04 FF with time-out byte 00",
  "no-t4-byte": "04 FF with a container and without a time-out byte",
  "no-texts": "04 FF without texts",
  "no-pin-status": "tells nothing while the PIN is entered",
  "statuses-a0": "tells the end of a payment with 04 FF A1 or A2",
  "ignores-abort": "does not answer Abort (06 B0)",
  "silent-after-cancel": "does not answer the status enquiry after a customer's stop key",
  "reverses-last-only": "reverses the last payment only",
  "wrong-amount-on-reversal": "prints 0.00 on the receipt of a reversal",
  "empty-repeat-receipt": "answers Repeat Receipt (06 20) with a bare 06 0F",
  "long-trace": "trace number 000000 in field 0B and the true one in tag 1F2B",
  "short-report": "04 0F as a bare result byte and few fields",
  "private-tags": "tags C0, D0, D1 and DF01 in 04 0F",
  "opaque-tags": "tags FF40 and FF41, marked as containers, with plain content",
  "binary-serial": "serial number in tag 1F42 as a binary number",
  "no-currency-field": "refuses field 49 in Registration with 84 9A",
  "diagnosis-needs-type": "refuses a diagnosis without tag 1B",
  "totals-in-first-group": "all cards in the first group of field 60",
  "log-off-be": "configuration byte BE after Log-Off",
  "no-update": "refuses a software update with 06 1E E0",
  "refuses-after-update": "answers the first command after an update with 84 1E 01 7D",
  "zvt-off-after-update": "ZVT is off after an update: 15 03 69",
  "update-after-end-of-day": "ends an end of day with 06 0F 27 E0 and restarts",
} as const satisfies Record<string, string>;

export type QuirkName = keyof typeof quirks;
export const quirkNames = Object.keys(quirks) as QuirkName[];
