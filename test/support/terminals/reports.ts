import { emptyReceipt } from "../../../src/shared/receipt.ts";
import type {
  Baseline,
  TerminalIdentity,
  TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";

export const identity: TerminalIdentity = {
  serialNumber: "SN-1",
  deviceId: "test terminal",
  terminalId: "52500001",
  version: "1.0",
};

/** A good report of 9.99 EUR at 13:00:05 local time; `change` overrides members. */
export function report(change: Partial<TransactionReport> = {}): TransactionReport {
  return {
    good: true,
    resultCode: "00",
    resultText: "approved",
    reason: null,
    amountMinor: 999,
    currencyNumeric: "978",
    receiptNumber: "0002",
    traceNumber: "000012",
    originalTrace: null,
    terminalId: "52500001",
    localDate: "0115",
    localTime: "130005",
    maskedPan: "541333XXXXXX4444",
    authorisationNumber: "123456",
    cardName: "Mastercard",
    receipt: { ...emptyReceipt, amount: "00000999", primaryAccountNumber: "541333XXXXXX4444" },
    fallbackTicket: "PAYMENT|9.99 EUR",
    ...change,
  };
}

/** The time of the record after `others` records: a terminal gives no two records one time. */
export function timeOfDay(others: number): string {
  const at = new Date(Date.UTC(2024, 0, 15, 13, 0, 5 + others));
  return at.toISOString().slice(11, 19).replaceAll(":", "");
}

export const declined = (change: Partial<TransactionReport> = {}): TransactionReport =>
  report({
    good: false,
    resultCode: "05",
    resultText: "do not honour",
    reason: "declined",
    receiptNumber: null,
    authorisationNumber: null,
    ...change,
  });

/** The terminal as it was before the payment: one older sale is stored. */
export const earlierReport = report({
  amountMinor: 500,
  receiptNumber: "0001",
  traceNumber: "000011",
  localTime: "101500",
});

export const baseline: Baseline = {
  identity,
  last: { kind: "transaction", report: earlierReport },
  clockOffsetMs: 0,
};
