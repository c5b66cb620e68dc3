import { expect, test } from "vitest";
import type { Exchange, FailureCause } from "../../../src/supervisor/gateway/http-connections.ts";
import { readOrderLookup } from "../../../src/supervisor/gateway/lookup.ts";
import { sampleTransaction } from "../sample-transaction.ts";

const transaction = sampleTransaction({ orderId: "A-1" });
const { transactionId } = transaction;
const order = {
  id: "A-1",
  attempts: 1,
  amount: "8.99",
  currency: "EUR",
  decimals: 2,
  custom_data: { transactionId, terminalId: "12345678" },
};
const answered = (httpStatus: number, body: unknown): Exchange => ({
  kind: "answered",
  httpStatus,
  retryAfter: null,
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const found = (change: object): Exchange => answered(200, { ...order, ...change });
const failed = (cause: FailureCause, written: boolean): Exchange => ({
  kind: "failed",
  cause,
  written,
  detail: "",
});

test.each<[string, Exchange, string]>([
  ["our order", found({}), "ours"],
  ["our order, its amount with another zero", found({ amount: "8.990" }), "ours"],
  ["our order without its number", found({ id: undefined }), "ours"],
  ["an order of the same number without custom data", found({ custom_data: null }), "other"],
  ["an order of the same number, custom data of others", found({ custom_data: {} }), "other"],
  ["another transaction's order", found({ custom_data: { transactionId: "x" } }), "other"],
  ["another amount", found({ amount: "1.00" }), "other"],
  ["no amount", found({ amount: undefined }), "other"],
  ["another currency", found({ currency: "CHF" }), "other"],
  ["no currency", found({ currency: undefined }), "other"],
  ["another order than asked for", found({ id: "A-2" }), "unanswered, refused"],
  ["an object about nothing", answered(200, { hello: 1 }), "unanswered, refused"],
  ["a list", answered(200, [order]), "unanswered, refused"],
  ["a page", answered(200, "<html>"), "unanswered, refused"],
  ["an unknown order", answered(404, { code: 3_000_001 }), "absent"],
  ["an unknown order, but as success", answered(200, { code: 3_000_001 }), "unanswered, refused"],
  ["an unknown transaction", answered(404, { code: 3_000_002 }), "unanswered, refused"],
  ["an address that does not exist", answered(404, "not found"), "unanswered, refused"],
  ["HTTP 400", answered(400, {}), "unanswered, refused"],
  ["HTTP 401", answered(401, { code: 1_000_001 }), "unanswered, refused"],
  ["HTTP 405", answered(405, ""), "unanswered, refused"],
  ["HTTP 501", answered(501, ""), "unanswered, refused"],
  ["HTTP 302", answered(302, ""), "unanswered, refused"],
  ["HTTP 429", answered(429, ""), "unanswered"],
  ["HTTP 500", answered(500, ""), "unanswered"],
  ["HTTP 503", answered(503, ""), "unanswered"],
  ["a connection that broke", failed("socket", true), "unanswered"],
  ["no answer in time", failed("timeout", true), "unanswered"],
  ["no connection", failed("socket", false), "unanswered"],
])("%s", (_what, exchange, expected) => {
  const finding = readOrderLookup(exchange, transaction);
  const text =
    finding.kind === "unanswered" && finding.refused ? "unanswered, refused" : finding.kind;
  expect(text).toBe(expected);
});
