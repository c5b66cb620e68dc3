import { expect, test } from "vitest";
import { type ErrorCode, errorTable } from "../../../src/shared/catalog/errors.ts";
import { calls } from "../../../src/tp-manager/http/calls/calls.ts";
import { known } from "../../../src/tp-manager/http/openapi/known-answers.ts";
import { type House, house } from "../../support/house/payment-house.ts";
import { document, documentedCall } from "./conformity.ts";
import { api } from "./rig.ts";
import { type Situation, situations } from "./situations.ts";

/**
 * Every call in every situation that has a code of its own. Here the answers are produced; each rig
 * (watched-api.ts) compares its answers with the OpenAPI document.
 */

const operator = { login: "boss", password: "of-the-terminal" };
const authorization = `Basic ${btoa(`${operator.login}:${operator.password}`)}`;

const all = Object.entries(situations).flatMap(([call, list]) =>
  list.map((situation) => ({ call, says: situation[0], situation })),
);

test.each(all)("$call: $says", async ({ call, situation: [says, prepare, body] }) => {
  const at = house();
  await prepare(at);
  const { call: send } = await api({ operator }, at);
  const [method = "", path = ""] = call.split(" ");
  const answer = send(method as "GET" | "POST", path, body, { authorization });
  const { http, text } = await whenTimePasses(at, answer);
  const [one] = [JSON.parse(text)].flat();
  expect(one?.error?.code ?? one?.status ?? "none").toBe(says);
  const inList = path === "/payments" && says !== "STORAGE_FAILED";
  const status = inList ? 200 : (errorTable[says as ErrorCode]?.http ?? http);
  expect(http).toBe(status);
});

/** What a call answers at once, or after minutes of the test's clock. */
async function whenTimePasses<T>({ clock }: House, answer: Promise<T>): Promise<T> {
  let open = true;
  const ended = answer.finally(() => {
    open = false;
  });
  for (let round = 0; open && round < 200; round++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (round > 50) await clock.advance(5_000);
  }
  return await ended;
}

/** Calls that are tested elsewhere, with the file. */
const elsewhere: Readonly<Record<string, string>> = {
  "/": "first-steps.test.ts",
  "/doctor": "scenario/console.test.ts",
  "/support-bundle": "scenario/console.test.ts",
  "/backup": "maintenance.test.ts",
  "/gateway/open": "gateway-open.test.ts",
  "/metrics": "status.test.ts",
  "/events": "events.test.ts",
  "/gateway/confirm": "gateway-routes.test.ts",
  "/gateway/cancel": "gateway-routes.test.ts",
  "/gateway/refund": "gateway-routes.test.ts",
  "/gateway/settle": "gateway-routes.test.ts",
  "/gateway/copies": "order-twice-at-gateway.test.ts",
  "/gateway/transaction/{id}": "gateway-routes.test.ts",
  "/outbox": "outbox-routes.test.ts",
  "/outbox/{id}/requeue": "outbox-routes.test.ts",
  "/outbox/{id}/drop": "outbox-routes.test.ts",
  "/unmatched-transactions": "listing.test.ts",
  "/unexpected-reports": "unmatched-alarm.test.ts",
};

test("every documented call is tested with each of its methods", () => {
  const missing = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((verb) => elsewhere[path] === undefined && listOf(path, verb).length === 0)
      .map((verb) => `${verb} ${path}`),
  );
  expect(missing).toEqual([]);
});

/** Codes of a call that are tested elsewhere, or that need two things at the same moment. */
const rare: Readonly<Record<string, readonly ErrorCode[]>> = {
  // gateway-routes.test.ts, lost-returns.test.ts
  "/reversal": ["GATEWAY_OPERATION_OPEN", "STORES_DISAGREE"],
  "/payment/{orderId}": ["STORES_DISAGREE"], // lost-stores.test.ts
  "/delivery": ["STORES_DISAGREE"], // as GET /payment/{orderId}
  "/story/{orderId}": ["STORES_DISAGREE"], // as GET /payment/{orderId}
  "/payment": [
    // Answers to a client that waits for a payment which another call ends.
    "SETTLED_NOT_CHARGED",
    "GOODS_NOT_DELIVERED",
    "DELIVERY_UNCONFIRMED",
    "SALE_TAKEN_BACK",
    // store-guard.test.ts, lost-stores.test.ts
    "STORES_DISAGREE",
    "TERMINAL_SALE_UNMATCHED",
  ],
};

test("every error code that a call documents is tested", () => {
  const missing = calls
    .filter(({ path }) => elsewhere[path] === undefined)
    .flatMap(({ path, methods, document }) => {
      const { errors = [] } = document(known);
      const covered = new Set(
        methods.flatMap((method) => listOf(path, method.toLowerCase())).map(([says]) => says),
      );
      return errors
        .filter((code) => !covered.has(code) && !rare[path]?.includes(code))
        .map((code) => `${path} ${code}`);
    });
  expect(missing).toEqual([]);
});

function listOf(path: string, verb: string): readonly Situation[] {
  return Object.entries(situations).flatMap(([call, list]) => {
    const [method = "", url = ""] = call.split(" ");
    const found = documentedCall(method, url);
    return found?.[0] === path && found[1] === verb ? list : [];
  });
}
