import type { Currency } from "../../shared/money.ts";
import { emptyReceipt } from "../../shared/receipt.ts";
import type { TransactionReport } from "../terminal/terminal.ts";

/** Nothing is known but the amount. Without a receipt number no reversal is ever begun. */
export function bareReport(currency: Currency, amountMinor: number | null): TransactionReport {
  return {
    good: true,
    resultCode: null,
    resultText: "",
    reason: null,
    amountMinor,
    currencyNumeric: currency.numeric,
    receiptNumber: null,
    traceNumber: null,
    originalTrace: null,
    terminalId: null,
    localDate: null,
    localTime: null,
    maskedPan: null,
    authorisationNumber: null,
    cardName: null,
    receipt: {
      ...emptyReceipt(),
      currencyNumCode: currency.numeric,
      currencyAlphaCode: currency.alpha,
      currencyFractionPart: String(currency.exponent),
    },
    fallbackTicket: "",
  };
}
