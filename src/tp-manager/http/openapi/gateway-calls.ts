import type { ErrorCode } from "../../../shared/errors.ts";
import type { DocumentedCall } from "./documented-call.ts";
import * as examples from "./examples.ts";
import * as answers from "./gateway-answers.ts";
import * as requests from "./requests.ts";

const orderId = { orderId: "A-1001" };
const item = { transactionId: "0b8f6a52-7f5f-4c0e-9d4e-5b3f0a9d1c11" };

const operating: readonly ErrorCode[] = [
  "CARD_DATA_REFUSED",
  "ORDER_NOT_FOUND",
  "ORDER_NOT_CHARGED",
  "ORDER_REVERSED",
  "PAYMENT_UNKNOWN",
  "GATEWAY_ID_UNKNOWN",
  "GATEWAY_OPERATION_OPEN",
  "GATEWAY_REFUSED",
  "GATEWAY_NOT_SENT",
  "GATEWAY_OPERATION_UNKNOWN",
  "PAYMENT_UNKNOWN",
  "SUPERVISOR_UNAVAILABLE",
];
const aboutItem: readonly ErrorCode[] = [
  "OUTBOX_ITEM_NOT_FOUND",
  "OUTBOX_ITEM_BUSY",
  "OUTBOX_ITEM_SETTLED",
  "SUPERVISOR_UNAVAILABLE",
];

const operations = (["confirm", "cancel", "refund"] as const).map(
  (operation): DocumentedCall => ({
    path: `/gateway/${operation}`,
    methods: ["post"],
    summary: `Ask the gateway to ${operation} an order's transaction`,
    description: "Sent once. When its answer is lost the operation stays open until it is settled.",
    role: "operator",
    body: { schema: requests.gatewayRequest, example: orderId },
    answer: { schema: answers.gatewayDone, example: examples.gatewayExample },
    errors: operating,
  }),
);

export const gatewayCalls: readonly DocumentedCall[] = [
  ...operations,
  {
    path: "/gateway/settle",
    methods: ["post"],
    summary: "Say whether an operation happened whose answer was lost",
    role: "own",
    body: {
      schema: requests.gatewaySettleRequest,
      example: { ...orderId, happened: true, note: "seen in the merchant account" },
    },
    answer: { schema: answers.gatewaySettled, example: examples.settledExample },
    errors: ["CARD_DATA_REFUSED", "NOTHING_TO_SETTLE", ...operating],
  },
  {
    path: "/gateway/transaction/{id}",
    methods: ["get"],
    summary: "Look a transaction up at the gateway, by its id or the order id",
    role: "operator",
    answer: { schema: answers.gatewayTransaction, example: examples.transactionExample },
    errors: [
      "GATEWAY_ID_UNKNOWN",
      "GATEWAY_TRANSACTION_NOT_FOUND",
      "GATEWAY_LOOKUP_FAILED",
      "SUPERVISOR_UNAVAILABLE",
    ],
  },
];

export const outboxCalls: readonly DocumentedCall[] = [
  {
    path: "/outbox",
    methods: ["get"],
    summary: "What the supervisor has for the gateway, oldest first",
    role: "operator",
    query: {
      state: "pending, sent, parked or closed.",
      limit: "At most so many.",
      cursor: "The header next-cursor of the page before.",
    },
    answer: { schema: answers.outboxItem, example: examples.outboxExample },
    list: true,
    errors: ["SUPERVISOR_UNAVAILABLE"],
  },
  {
    path: "/outbox/{id}/requeue",
    methods: ["post"],
    summary: "Send a parked or waiting transaction now",
    role: "operator",
    answer: {
      schema: answers.outboxDone,
      example: { status: "Success", ...item, message: "The transaction is sent again now." },
    },
    errors: aboutItem,
  },
  {
    path: "/outbox/{id}/drop",
    methods: ["post"],
    summary: "Close a transaction without sending it",
    role: "operator",
    body: { schema: requests.dropRequest, example: { note: "booked by hand" } },
    answer: {
      schema: answers.outboxDone,
      example: { status: "Success", ...item, message: "The transaction is closed." },
    },
    errors: ["CARD_DATA_REFUSED", ...aboutItem],
  },
];
