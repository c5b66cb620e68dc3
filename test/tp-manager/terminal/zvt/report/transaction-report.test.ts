import { describe, expect, test } from "vitest";
import { receiptFields } from "../../../../../src/shared/receipt.ts";
import { expiryYymmdd } from "../../../../../src/tp-manager/terminal/report-fields.ts";
import {
  clockOffsetMs,
  transactionReport,
} from "../../../../../src/tp-manager/terminal/zvt/report/transaction-report.ts";
import {
  container,
  decodeMessage,
  encodeMessage,
  fromHex,
  type MessageInput,
  tag,
} from "../../../../../src/zvt/index.ts";

const nowMs = new Date(2026, 10, 21, 10, 15).getTime();

function read(input: MessageInput, atMs = nowMs) {
  const message = decodeMessage(encodeMessage("status-information", input));
  return transactionReport(message, { options: { language: "en" }, clock: { now: () => atMs } });
}

const full: MessageInput = {
  fields: {
    resultCode: 0,
    amount: 1234,
    trace: "000042",
    time: "101503",
    date: "1121",
    expiry: "2802",
    typeByte: 0x60,
    pan: "4111111111111111",
    terminalId: "52523535",
    authorisationAttribute: "750071",
    currency: "0978",
    receiptNumber: "0007",
    cardType: 10,
    contractNumber: "100461763",
    cardName: "Visa",
  },
  tags: [
    container("receiptHeader", [tag("textLine", "My Shop"), tag("textLine", "Main Street 1")]),
    container("receiptAdvert", [tag("textLine", "Thank you")]),
    container("payment", [tag("technology", 2)]),
    container("application", [tag("aid", fromHex("a0000000031010"))]),
  ],
};

test("a complete report fills every field that ZVT knows", () => {
  const report = read(full);
  expect(report).toMatchObject({
    good: true,
    resultCode: "00",
    reason: null,
    amountMinor: 1234,
    currencyNumeric: "978",
    receiptNumber: "0007",
    traceNumber: "000042",
    originalTrace: null,
    terminalId: "52523535",
    localDate: "1121",
    localTime: "101503",
    maskedPan: `411111${"X".repeat(6)}1111`,
    authorisationNumber: "750071",
    cardName: "Visa",
  });
  expect(Object.keys(report.receipt).toSorted()).toEqual([...receiptFields].toSorted());
  expect(report.receipt).toEqual({
    ticketHeader: "My Shop|Main Street 1",
    localDate: "211126",
    localTime: "101503",
    acceptor: "",
    transactionType: "payment",
    contractNumber: "100461763",
    SIRET: "",
    activity: "",
    paymentType: "online",
    siteType: "unattended",
    primaryAccountNumber: `411111${"X".repeat(6)}1111`,
    TASA: "",
    cardAppExpiry: "280229",
    serviceCode: "",
    crypto: "",
    currencyNumCode: "978",
    acceptationSystemNum: "52523535",
    transactionNumber: "000042",
    transactionFileNumber: "0007",
    readingMode: "contactless",
    authorizationNumber: "750071",
    forceCode: "",
    amount: "00001234",
    currencyAlphaCode: "EUR",
    currencyFractionPart: "2",
    counterValueAmount: "",
    counterValueCurrencyAlphaCode: "",
    counterValueCurrencyFractionPart: "",
    inclusiveAmount: "00001234",
    ticketFooter: "Thank you",
    AID: "A0000000031010",
    label: "Visa",
  });
});

test("a ticket can be made from the fields alone", () => {
  expect(read(full).fallbackTicket).toBe(
    [
      "My Shop",
      "Main Street 1",
      "Terminal: 52523535",
      "Receipt: 0007",
      "Trace: 000042",
      "Date: 21.11.26 10:15:03",
      `Card: Visa 411111${"X".repeat(6)}1111`,
      "AID: A0000000031010",
      "Approval: 750071",
      "Contract: 100461763",
      "Amount: 12.34 EUR",
      "approved",
    ].join("|"),
  );
});

test("an empty report has null fields and is not good", () => {
  expect(read({})).toMatchObject({
    good: false,
    resultCode: null,
    reason: null,
    amountMinor: null,
    currencyNumeric: null,
    receiptNumber: null,
    maskedPan: null,
    cardName: null,
    fallbackTicket: "",
  });
});

test("an empty card number or name, as some terminals send them, is null", () => {
  const empty = new Uint8Array(0);
  expect(read({ fields: { pan: empty, cardName: empty } })).toMatchObject({
    maskedPan: null,
    cardName: null,
  });
});

describe("whether a report is good", () => {
  test.each([
    [{ resultCode: 0 }, true],
    [{ resultCode: 0, resultCodeAs: 1 }, true],
    [{ resultCode: 0, resultCodeAs: 0xa0 }, false],
    [{ resultCode: 0, resultCodeAs: 0xaf }, false],
    [{ resultCode: 5 }, false],
    [{}, false],
  ])("%j: %s", (fields, good) => {
    expect(read({ fields }).good).toBe(good);
  });
});

test.each([
  [0x05, "declined"],
  [0x37, "declined"],
  [0x6c, "cancelled"],
  [0x78, "declined"],
  [0x7d, "terminal-fault"],
  [0x6f, "wrong-currency"],
  [0xc6, "wrong-currency"],
  [0xcb, "wrong-currency"],
  [0x6e, "declined"],
  [0xdf, "terminal-fault"],
  [0x99, "terminal-fault"],
])("result %s means %s to the customer", (resultCode, reason) => {
  expect(read({ fields: { resultCode } }).reason).toBe(reason);
});

test("a text about time makes an abort the customer's time-out", () => {
  const fields = { resultCode: 0x6c, additionalText: "Zeitüberschreitung" };
  expect(read({ fields })).toMatchObject({
    reason: "customer-timeout",
    resultText: expect.stringMatching(/^aborted.*: Zeitüberschreitung$/),
  });
});

test("a host's refusal keeps its number and the terminal's own text", () => {
  expect(read({ fields: { resultCode: 51, additionalText: "Declined" } })).toMatchObject({
    resultCode: "33",
    resultText: "declined by the bank (51): Declined",
  });
});

test("a long trace replaces a missing or zero trace, never another one", () => {
  const tags = [tag("longTrace", "10015008")];
  expect(read({ fields: { trace: "000000" }, tags }).traceNumber).toBe("10015008");
  expect(read({ fields: {}, tags }).traceNumber).toBe("10015008");
  expect(read({ fields: { trace: "000042" }, tags }).traceNumber).toBe("000042");
  expect(read({ fields: {}, tags: [tag("longTrace", "")] }).traceNumber).toBeNull();
});

test("an original trace makes the report a reversal", () => {
  expect(read({ fields: { originalTrace: "000041" } })).toMatchObject({
    originalTrace: "000041",
    receipt: { transactionType: "reversal" },
  });
});

test("an amount of nine digits is left out of the receipt, not cut", () => {
  const report = read({ fields: { amount: 100_000_000 } });
  expect(report.amountMinor).toBe(100_000_000);
  expect(report.receipt.amount).toBe("");
});

test("a currency without decimals is written without them", () => {
  const report = read({ fields: { resultCode: 0, amount: 1234, currency: "0392" } });
  expect(report.receipt).toMatchObject({ currencyAlphaCode: "JPY", currencyFractionPart: "0" });
  expect(report.fallbackTicket).toContain("Amount: 1234 JPY");
});

describe("dates without a year", () => {
  test.each([
    ["1231", new Date(2027, 0, 1, 0, 5), "311226"],
    ["0101", new Date(2026, 11, 31, 23, 55), "010127"],
    ["0615", new Date(2026, 5, 15), "150626"],
    ["0229", new Date(2028, 1, 29), "290228"],
    ["1301", new Date(2026, 5, 15), ""],
    ["0000", new Date(2026, 5, 15), ""],
  ])("%s near %s is %s", (mmdd, now, expected) => {
    expect(read({ fields: { date: mmdd } }, now.getTime()).receipt.localDate).toBe(expected);
  });

  test.each([
    ["2802", "280229"],
    ["2702", "270228"],
    ["2512", "251231"],
    ["9999", ""],
    ["2500", ""],
    [undefined, ""],
  ])("expiry %s ends on %s", (yymm, expected) => {
    expect(expiryYymmdd(yymm)).toBe(expected);
  });

  test("the clock offset is the terminal's local time minus ours", () => {
    expect(clockOffsetMs("20261121", "101600", nowMs)).toBe(60_000);
    expect(clockOffsetMs("20261121", undefined, nowMs)).toBeNull();
    expect(clockOffsetMs("2026112", "101600", nowMs)).toBeNull();
  });
});
