import { registerHooks } from "node:module";
import { expect, test } from "vitest";
import { chargedAtGateway } from "../http/charged-at-gateway.ts";

// The console serves this library of its pages from node_modules.
registerHooks({
  resolve: (name, context, next) =>
    next(name.endsWith("/htm-preact.js") ? "htm/preact/standalone" : name, context),
});
const pages = "../../../src/tp-manager/console/pages";
const { outcomeOf } = await import(`${pages}/actions.js`);
const { refusal } = await import(`${pages}/sentences.js`);
const orderActions = await import(`${pages}/views/order-actions.js`);
const { reasonOf } = await import(`${pages}/maintenance/audit-entries.js`);

/** What the console says of an action: never "not done" where the API answered Unknown. */

const texts = (key: string): string => key;

test("a refund of a charged order is not called undone where the API says Unknown", async () => {
  const at = await chargedAtGateway();
  await at.call("GET", `/gateway/transaction/${at.publicId()}`);
  await at.stopSupervisor();
  const said = async (more: object) => {
    const { http, one } = await at.call("POST", "/gateway/refund", { orderId: "A-1", ...more });
    return orderActions.outcomeOf({ status: http, body: one }, texts).text;
  };
  expect(await said({ idempotencyKey: "k" })).toMatch(/^act\.unknown /);
  expect(await said({})).toMatch(/^act\.refused /);
});

const refused = { status: 409, body: { status: "Failed", error: { code: "NOTHING_TO_SETTLE" } } };
const open = { status: 503, body: { status: "Unknown", error: { code: "STORAGE_FAILED" } } };

const thrown = () => {
  throw new URIError("malformed");
};

test.each([
  ["an answer without an object", () => Promise.resolve({ status: 400 }), () => ({})],
  ["a call that throws unsent", thrown, () => ({})],
  ["an answer of another form", () => Promise.resolve({ status: 200 }), thrown],
])("%s counts as no answer", async (_, call, done) => {
  const { good, text } = await outcomeOf(texts, call, done);
  expect([good, text]).toEqual([false, "act.unknown noAnswer"]);
});

test.each([
  ["an answer Unknown", () => Promise.resolve(open), "act.unknown "],
  ["no answer", () => Promise.reject(new TypeError("lost")), "act.unknown noAnswer"],
  ["a refusal", () => Promise.resolve(refused), ""],
])("after %s it is said whether a change is known to be undone", async (_, call, begin) => {
  const { good, text } = await outcomeOf(texts, call, () => ({ text: "done" }));
  expect([good, text.startsWith(begin), text.includes("act.unknown")]).toEqual([
    false,
    true,
    begin !== "",
  ]);
  const read = await outcomeOf(texts, call, () => ({ text: "done" }), true);
  expect(read.text).not.toContain("act.unknown");
});

test("a reversal in doubt is not called a payment that may not have charged", () => {
  const says = (key: string) => `${key}.`;
  const error = { code: "PAYMENT_UNKNOWN", details: { inDoubt: "reversal" } };
  const answer = { status: 504, body: { status: "Unknown", error } };
  expect(orderActions.outcomeOf(answer, says).text).toMatch(/^act\.unknown\. reversal\.unknown\./);
  const ofPayment = { ...error, details: { inDoubt: "payment" } };
  expect(refusal(says, ofPayment).text).toMatch(/^error\.PAYMENT_UNKNOWN\./);
  expect(refusal(says, { ...error, code: "PAYMENT_RUNNING" }).text).toMatch(/^reversal\.running\./);
  expect(reasonOf(error.code, says)).toBe("audit.unknown.");
  expect(reasonOf("NOT_FOUND", says)).toBe("error.NOT_FOUND.");
});

test("the connector's message follows the page's sentence, unless both say the same", () => {
  const code = "PAYMENT_DECLINED";
  const sentence = "The card was declined.";
  const english = (key: string): string => (key === `error.${code}` ? sentence : key);
  const detailOf = (message: string) => refusal(english, { code, message });
  expect(detailOf("no money")).toMatchObject({ text: sentence, detail: `no money (${code})` });
  expect(detailOf(sentence)).toMatchObject({ text: sentence, detail: `(${code})` });
});

test.each([
  ["at the terminal alone", {}, true],
  ["on request, by the gateway", { reference: "KTESTTEST7" }, false],
])("the console asks for a refund at the gateway after a reversal %s", (_what, more, asked) => {
  const attempts = [{ events: [{ kind: "reversal-begins", ...more }] }];
  const order = { status: "Reversed", attempts, gateway: { state: "captured" } };
  expect(orderActions.isReversedHereOnly(order)).toBe(asked);
});
