import type { ErrorCode } from "../../../shared/errors.ts";
import * as answers from "./answers.ts";
import type { DocumentedCall } from "./documented-call.ts";
import * as examples from "./examples.ts";
import { gatewayCalls, outboxCalls } from "./gateway-calls.ts";
import * as requests from "./requests.ts";

const terminal: readonly ErrorCode[] = [
  "TERMINAL_BUSY",
  "TERMINAL_DISCONNECTED",
  "TERMINAL_NO_ANSWER",
  "TERMINAL_OUT_OF_ORDER",
  "TERMINAL_IN_DOUBT",
  "TERMINAL_CHANGED",
  "STOPPING",
];
const money: readonly ErrorCode[] = [...terminal, "PAYMENT_UNKNOWN", "PAYMENT_RUNNING"];
/** What a payment that was not charged can have ended with. */
const notCharged: readonly ErrorCode[] = [
  ...terminal.filter((code) => code !== "TERMINAL_IN_DOUBT"),
  "TERMINAL_REFUSED",
  "TERMINAL_FAULT",
  "PAYMENT_DECLINED",
  "PAYMENT_CANCELLED",
  "CUSTOMER_TIMEOUT",
  "SETTLED_NOT_CHARGED",
];
const payment = { schema: answers.paymentAnswer, example: examples.paymentExample };
const orderId = { orderId: "A-1001" };

const payments: readonly DocumentedCall[] = [
  {
    path: "/payment",
    methods: ["post"],
    summary: "Pay",
    description:
      "Answers when the payment has ended. Declined and Cancelled are answers with 200. The " +
      "orderId is the key for ever: the same order again is never charged twice.",
    body: { schema: requests.paymentRequest, example: examples.paymentRequestExample },
    answer: payment,
    errors: [
      ...money,
      ...notCharged,
      ...(["CARD_DATA_REFUSED", "ORDER_REVERSED", "ANSWER_NOT_DELIVERED"] as const),
      ...(["ORDER_MISMATCH", "NOT_SUPPORTED", "GOODS_NOT_DELIVERED"] as const),
    ],
  },
  {
    path: "/payment/{orderId}",
    methods: ["get"],
    summary: "What became of an order",
    description: "With every attempt and its evidence. 504 while it is not known.",
    answer: { schema: answers.lookup, example: examples.lookupExample },
    answerAlso: [504],
    errors: ["ORDER_NOT_FOUND", "PAYMENT_UNKNOWN", "PAYMENT_RUNNING"],
  },
  {
    path: "/payment/{orderId}/settle",
    methods: ["post"],
    summary: "Settle an order that nobody could find out about",
    role: "own",
    body: {
      schema: requests.settleRequest,
      example: { outcome: "charged", note: "seen on the terminal's journal, M. Operator" },
    },
    answer: payment,
    errors: ["ORDER_NOT_FOUND", "NOTHING_TO_SETTLE", "CARD_DATA_REFUSED", "SETTLED_NOT_CHARGED"],
  },
  {
    path: "/payments",
    methods: ["get"],
    summary: "The journal, newest first",
    description:
      "Those in the archive come last. The header next-cursor continues behind a full page.",
    query: {
      since: "A time like 2026-01-31T00:00:00Z.",
      status: "Only attempts with this status.",
      limit: "1 to 500, 50 by default.",
      cursor: "The header next-cursor of the page before.",
    },
    answer: { schema: answers.listedPayment, example: examples.listedExample },
    list: true,
    errors: [],
  },
  {
    path: "/unexpected-reports",
    methods: ["get"],
    summary: "Results that no order asked for, newest first",
    description:
      "Refused on the wire; then the terminal was asked whether it has kept them. The newest 100.",
    answer: { schema: answers.unexpectedReport, example: examples.unexpectedExample },
    list: true,
    errors: [],
  },
  {
    path: "/cancel",
    methods: ["get", "post"],
    summary: "Ask the terminal to cancel the running payment",
    description: "Only a request: the payment's own answer decides.",
    answer: {
      schema: answers.cancelled,
      example: { status: "Success", cancelled: true, message: "The terminal was asked." },
    },
    errors: ["NOTHING_TO_CANCEL", "CANCEL_REFUSED"],
  },
  {
    path: "/delivery",
    methods: ["post"],
    summary: "Say whether the goods of a two-phase sale came out",
    body: { schema: requests.deliveryRequest, example: { ...orderId, delivered: true } },
    answer: payment,
    errors: [
      ...(["ORDER_NOT_FOUND", "DELIVERY_DECIDED", "CARD_DATA_REFUSED", "NOT_SUPPORTED"] as const),
      ...(["GOODS_NOT_DELIVERED", "PAYMENT_UNKNOWN"] as const),
      // "Not delivered" of an order that had failed is answered with what it had failed of.
      ...notCharged,
    ],
  },
  {
    path: "/reversal",
    methods: ["post"],
    summary: "Reverse a charged order on the terminal, once",
    body: { schema: requests.reversalRequest, example: orderId },
    answer: payment,
    errors: [
      ...money,
      ...(["ORDER_NOT_FOUND", "ORDER_NOT_CHARGED", "REVERSAL_REFUSED"] as const),
      ...(["CARD_DATA_REFUSED", "NOT_SUPPORTED", "GATEWAY_OPERATION_OPEN"] as const),
    ],
  },
];

const maintenance: readonly DocumentedCall[] = [
  {
    path: "/stop",
    methods: ["get", "post"],
    summary: "Stop tp-manager",
    description: "Answers at once; a running payment may end, and is cancelled after 10 s.",
    role: "operator",
    answer: {
      schema: answers.stopped,
      example: { status: "Success", stopped: true, message: "The terminal manager stops." },
    },
    errors: [],
  },
  {
    path: "/reset",
    methods: ["get", "post"],
    summary: "Restart the terminal and wait until it is back",
    role: "operator",
    answer: {
      schema: answers.message,
      example: { status: "Success", message: "The terminal has restarted and is registered." },
    },
    errors: ["TERMINAL_BUSY", "TERMINAL_IN_DOUBT", "STOPPING", "RESET_FAILED", "NOT_SUPPORTED"],
  },
  {
    path: "/tlc",
    methods: ["get", "post"],
    summary: "Telecollection: the terminal's end of day",
    role: "operator",
    answer: { schema: answers.telecollection, example: examples.telecollectionExample },
    // One that takes no cards until its end of day is asked for it all the same.
    errors: [
      ...terminal.filter((code) => code !== "TERMINAL_OUT_OF_ORDER"),
      ...(["TELECOLLECTION_FAILED", "OPEN_PRE_AUTHORISATIONS", "NOT_SUPPORTED"] as const),
    ],
  },
  {
    path: "/version",
    methods: ["get"],
    summary: "Version of the connector: number, type and system",
    answer: { schema: answers.versionAnswer, example: examples.versionExample },
    errors: [],
  },
  {
    path: "/config",
    methods: ["get"],
    summary: "The terminal's identity",
    answer: {
      schema: answers.configAnswer,
      example: {
        ...examples.versionExample,
        serialNumber: "SN-1",
        deviceId: "",
        terminalId: "52500001",
        terminalVersion: "1.0",
      },
    },
    errors: [],
  },
  {
    path: "/check",
    methods: ["get"],
    summary: "The terminal's status, without side effects",
    answer: { schema: answers.checkAnswer, example: examples.checkExample },
    errors: [],
  },
  {
    path: "/terminal/accept",
    methods: ["post"],
    summary: "Accept a replaced terminal",
    role: "own",
    answer: {
      schema: answers.message,
      example: { status: "Success", message: "Terminal 52500001 is accepted." },
    },
    errors: ["TERMINAL_DISCONNECTED"],
  },
];

const watching: readonly DocumentedCall[] = [
  {
    path: "/health",
    methods: ["get"],
    summary: "Whether a payment can be taken now, or why not",
    description: "200 Ready or 503 NotReady, with the same body.",
    answer: { schema: answers.health, example: examples.healthExample },
    answerAlso: [503],
    errors: [],
  },
  {
    path: "/metrics",
    methods: ["get"],
    summary: "Figures for Prometheus",
    answer: { type: "text/plain", description: "Prometheus text format 0.0.4." },
    errors: [],
  },
  {
    path: "/events",
    methods: ["get"],
    summary: "Server-sent events",
    description: "The header Last-Event-ID repeats what was kept behind that id.",
    query: { lastEventId: "As the header Last-Event-ID, for programs that cannot set it." },
    answer: { type: "text/event-stream", description: "See x-events for the vocabulary." },
    errors: ["TOO_MANY_READERS"],
  },
  {
    path: "/openapi.json",
    methods: ["get"],
    summary: "This document",
    answer: { type: "application/json", description: "OpenAPI 3.1." },
    errors: [],
  },
];

/** `POST /` is `POST /payment`; it is added where the document is made. */
export const documentedCalls: readonly DocumentedCall[] = [
  ...payments,
  ...maintenance,
  ...watching,
  ...gatewayCalls,
  ...outboxCalls,
];
