import { emptyReceipt } from "../../../shared/receipt.ts";

/** Examples of the document's answers (known-answers.ts); a running process never loads them. */

export const orderExample = { orderId: "A-1001" };
export const paymentRequestExample = {
  amount: 12.0,
  ...orderExample,
  currency: "EUR",
  basket: {
    type: "good",
    name: "Ticket",
    quantity: 1,
    unit_price: 12.0,
    tax_rate: 0,
    discount: 0,
    total_amount: 12.0,
  },
  customer: { id: 7, firstname: "Ada", lastname: "Lane", email: "ada@example.com" },
  customData: { kiosk: "K-12", vip: false },
};
export const paymentExample = {
  status: "Success",
  error: null,
  receipt: {
    ...emptyReceipt(),
    localDate: "150126",
    localTime: "130501",
    primaryAccountNumber: "541333XXXXXX4444",
    amount: "00001200",
    currencyNumCode: "978",
    currencyAlphaCode: "EUR",
    currencyFractionPart: "2",
  },
  ticket: "CARD PAYMENT|EUR 12.00|APPROVED",
  ...paymentRequestExample,
  chargedAmount: 12.0,
  notificationGatewaySent: true,
  transactionId: "3f0c3f0e-52f5-4b0a-8f0e-0d7a4c8f5a10",
  warnings: [],
};
export const times = { startedAt: "2026-01-15T12:04:40.000Z", endedAt: "2026-01-15T12:05:01.000Z" };
export const operationExample = {
  operationId: "5f0c6f52-6b0e-4a5a-8f8c-1a2b3c4d5e6f",
  transactionPublicId: "0A1B2C3D4E5F6071",
};
export const itemExample = { transactionId: "0b8f6a52-7f5f-4c0e-9d4e-5b3f0a9d1c11" };

export const lookupExample = {
  ...paymentExample,
  gateway: {
    state: "captured",
    fraudReported: false,
    transactionPublicIds: ["0A1B2C3D4E5F6071"],
    sending: [
      {
        at: "2026-01-15T12:00:03.000Z",
        step: "try",
        number: 1,
        outcome: "taken",
        class: "sent",
        description: "",
        by: null,
      },
    ],
    history: [
      {
        at: "2026-01-15T12:00:04.000Z",
        kind: "operation",
        operation: "capture",
        status: "ok",
        transactionPublicId: "0A1B2C3D4E5F6071",
        copies: 1,
        details: { operation: "capture", status: "ok", origAmount: "12.00" },
      },
    ],
    operations: [],
    possibleOrders: 0,
    failed: [],
  },
  attempts: [
    {
      transactionId: paymentExample.transactionId,
      number: 1,
      status: "Success",
      error: null,
      amount: 12.0,
      chargedAmount: 12.0,
      currency: "EUR",
      ...times,
      baseline: null,
      events: [{ at: times.endedAt, kind: "end-completed" }],
    },
  ],
};
export const unmatchedExample = {
  id: 1,
  at: "2026-01-15T12:00:00.000Z",
  finding: "held",
  because: "the terminal has it stored as a sale",
  foundAt: "2026-01-15T12:00:10.000Z",
  seenAt: null,
  receiptNumber: "0042",
  traceNumber: "000123",
  amountMinor: 1200,
  currency: "EUR",
  maskedPan: "541333XXXXXX4444",
  cardName: "Mastercard",
  resultCode: "00",
  authorisationNumber: "123456",
  localDate: "0115",
  localTime: "130000",
  terminalId: "52500001",
  serialNumber: "12345678",
};
export const healthExample = {
  status: "Ready",
  reasons: [],
  obstacles: [],
  warnings: [],
  notes: [],
  terminal: {
    link: "connected",
    problem: null,
    state: "ready",
    detail: "ready",
    since: "2026-01-15T12:00:00.000Z",
    terminalId: "52500001",
    serialNumber: "SN-1",
    version: "1.0",
  },
  replaced: null,
  running: null,
  payments: { inDoubt: 0, notHandedOver: 0 },
  outbox: {
    pending: 0,
    parked: 0,
    sent: 12,
    oldestAgeSeconds: null,
    paused: null,
    ambiguous: { sends: 0, inDoubt: 0, possibleCopies: 0 },
  },
  troubles: [],
  alarms: [
    {
      trouble: null,
      id: 41,
      at: "2026-01-15T12:00:00.000Z",
      alarm: "transaction-parked",
      message: "parked for an operator: the gateway refused the order",
      ...orderExample,
      ...itemExample,
      source: "supervisor",
      endsWhenSeen: true,
    },
  ],
  disk: { freeBytes: 12000000000, freeMinBytes: 52428800 },
  clock: { now: "2026-01-15T12:05:02.000Z", timeZone: "Europe/Berlin", uptimeSeconds: 3600 },
  versions: { connector: "0.1.0", supervisor: "0.1.0", node: "24.0.0", os: "linux_x64" },
  dailyChoresAt: "03:30",
  updates: {
    asked: true,
    channel: "stable",
    lastCheckAt: "2026-01-15T02:41:09.000Z",
    lastError: null,
    metadataAt: "2026-01-15T02:41:09.000Z",
    metadataExpireAt: "2026-01-28T12:00:00.000Z",
    ready: null,
    heldBy: "anna",
    heldSince: "2026-01-14T08:30:00.000Z",
    heldUntil: "2026-01-19T00:00:00.000Z",
  },
};
export const operationDoneExample = {
  status: "Success",
  error: null,
  ...operationExample,
  ...orderExample,
  code: 0,
  description: "transaction has been cancelled",
  amount: 12,
  currency: "EUR",
};
export const transactionExample = {
  id: 155227950169,
  merchant_order_id: "A-1001",
  state: "completed",
  amount: "12.00",
  captured_amount: "12.00",
  refunded_amount: "0.00",
  currency: "EUR",
  operations: [{ type: "CAPTURE", status: "COMPLETED", amount: "12.00" }],
};
export const openAtGatewayExample = {
  operations: [
    {
      ...operationExample,
      ...orderExample,
      kind: "refund",
      amount: 5,
      currency: "EUR",
      askedAt: "2026-01-15T12:00:00.000Z",
      description: "no answer in time",
    },
  ],
  copies: [
    {
      ...orderExample,
      ...itemExample,
      amount: 12,
      currency: "EUR",
      possibleOrders: 2,
      transactionPublicIds: ["0A1B2C3D4E5F6071"],
      mayBeSent: false,
    },
  ],
  more: false,
};
export const outboxExample = {
  ...itemExample,
  ...orderExample,
  state: "parked",
  amount: 12,
  currency: "EUR",
  queuedAt: "2026-01-15T12:00:00.000Z",
  nextTryAt: null,
  settledAt: "2026-01-15T12:00:01.000Z",
  tries: 1,
  ambiguous: false,
  reason: "another code than 0 and 1: the gateway refused: currency invalid",
  lastTry: {
    endedAt: "2026-01-15T12:00:01.000Z",
    class: "order-refused",
    httpStatus: 200,
    code: 3,
    description: "currency invalid",
  },
};
