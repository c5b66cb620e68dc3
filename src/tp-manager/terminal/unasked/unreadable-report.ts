import { emptyReceipt } from "../../../shared/receipt.ts";
import type { TransactionReport } from "../terminal.ts";

/** A report of which nothing is known but that something came. */
export function unreadableReport(text: string): TransactionReport {
  return {
    good: false,
    resultCode: null,
    resultText: text,
    reason: null,
    amountMinor: null,
    currencyNumeric: null,
    receiptNumber: null,
    traceNumber: null,
    originalTrace: null,
    terminalId: null,
    localDate: null,
    localTime: null,
    maskedPan: null,
    authorisationNumber: null,
    cardName: null,
    receipt: emptyReceipt(),
    fallbackTicket: "",
  };
}
