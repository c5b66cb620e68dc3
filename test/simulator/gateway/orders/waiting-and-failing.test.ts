import { describe, expect, test } from "vitest";
import type { SandboxOptions } from "../../../../src/simulator/gateway/parts.ts";
import { childNamed } from "../../../../src/simulator/gateway/soap/xml.ts";
import { type Merchant, merchantForTest } from "../merchant-for-test.ts";
import type { GatewaySandbox } from "../sandbox-for-test.ts";
import {
  call,
  eventually,
  generate,
  LOGIN,
  PASSWORD,
  rootOf,
  sandboxForTest,
} from "../sandbox-for-test.ts";

interface Rig {
  readonly sandbox: GatewaySandbox;
  readonly merchant: Merchant;
  readonly transactionPublicId: string;
}

/** A sandbox with one order that is notified to a merchant. */
async function withOrder(options: Partial<SandboxOptions>, manualCapture = "0"): Promise<Rig> {
  const merchant = await merchantForTest();
  const sandbox = await sandboxForTest(options);
  await generate(sandbox, { urlCallback: merchant.url, manualCapture });
  return {
    sandbox,
    merchant,
    transactionPublicId: sandbox.orders()[0]?.transactionPublicId ?? "",
  };
}

const notified = ({ received }: Merchant) =>
  received.map(({ xml }) => {
    const result = childNamed(rootOf(xml), "result");
    const text = (name: string) => (result && childNamed(result, name)?.text) ?? "";
    return [text("operation"), text("status"), text("returnDescriptionLong")].join(" ").trim();
  });

const act = async ({ sandbox, transactionPublicId }: Rig, action: string): Promise<number> =>
  (
    await fetch(`${sandbox.url}/sandbox/orders/${transactionPublicId}/${action}`, {
      method: "POST",
    })
  ).status;

const stateOf = ({ sandbox }: Rig) => sandbox.orders()[0]?.state;

const operate = (
  { sandbox, transactionPublicId }: Rig,
  service: string,
  operation: string,
  more: Readonly<Record<string, string>> = {},
) =>
  call(sandbox, service, operation, {
    wsLogin: LOGIN,
    wsPassword: PASSWORD,
    transactionPublicId,
    ...more,
  });

const lookedUp = async ({ sandbox, transactionPublicId }: Rig) => {
  const authorization = `Basic ${Buffer.from(`${LOGIN}:${PASSWORD}`).toString("base64")}`;
  const response = await fetch(`${sandbox.url}/v3/transaction/${transactionPublicId}`, {
    headers: { authorization },
  });
  return (await response.json()) as { state: string; operations: { status: string }[] };
};

describe("with --payments-wait", () => {
  test("a payment is waiting until an operator pays it, with the customer's card", async () => {
    const rig = await withOrder({ autoPay: true, paymentsWait: true });
    expect(stateOf(rig)).toBe("waiting");
    expect((await lookedUp(rig)).state).toBe("waiting");
    const page = await fetch(rig.sandbox.url + rig.sandbox.orders()[0]?.page);
    expect(await page.text()).toContain("Your payment is being checked.");
    await eventually(() => notified(rig.merchant)).toEqual(["authorization waiting"]);
    const card = rig.sandbox.orders()[0]?.card;
    expect(card).toMatch(/^\d{6}X+\d{4}$/);
    expect(await act(rig, "wait")).toBe(409);
    expect(await act(rig, "pay")).toBe(200);
    expect(rig.sandbox.orders()[0]).toMatchObject({ state: "captured", card });
    await eventually(() => notified(rig.merchant).slice(1)).toEqual([
      "authorization ok",
      "capture ok",
    ]);
    expect(await act(rig, "pay")).toBe(409);
  });

  for (const [action, state, status] of [
    ["decline", "declined", "nok The issuer declined the authorization"],
    ["abort", "aborted", "cancel"],
  ] as const) {
    test(`an operator's ${action} ends a waiting payment`, async () => {
      const rig = await withOrder({ autoPay: true, paymentsWait: true });
      expect(await act(rig, action)).toBe(200);
      expect(stateOf(rig)).toBe(state);
      const expected = ["authorization waiting", `authorization ${status}`];
      await eventually(() => notified(rig.merchant)).toEqual(expected);
    });
  }

  test("a waiting payment can be neither confirmed, cancelled nor refunded", async () => {
    const rig = await withOrder({ autoPay: true, paymentsWait: true });
    for (const [service, operation] of [
      ["transaction-v2", "confirm"],
      ["transaction-v2", "cancel"],
      ["refund-v2", "card"],
    ] as const) {
      expect((await operate(rig, service, operation)).result["code"]).toBe("20");
    }
    expect(stateOf(rig)).toBe("waiting");
  });
});

test("an operator may let an order wait that nobody has paid", async () => {
  const rig = await withOrder({});
  expect(await act(rig, "wait")).toBe(200);
  expect(await act(rig, "pay")).toBe(200);
  const expected = ["authorization waiting", "authorization ok", "capture ok"];
  await eventually(() => notified(rig.merchant)).toEqual(expected);
});

test("notification-waiting notifies every operation as waiting first, and none twice", async () => {
  const rig = await withOrder({ faults: [{ kind: "notification-waiting" }] });
  await act(rig, "wait");
  await act(rig, "pay");
  await eventually(() => notified(rig.merchant)).toEqual([
    "authorization waiting",
    "authorization waiting",
    "authorization ok",
    "capture waiting",
    "capture ok",
  ]);
});

describe("an operation that fails by switch:", () => {
  const cases = [
    ["capture", "1", "transaction-v2", "confirm", "authorized", "captured"],
    ["cancellation", "1", "transaction-v2", "cancel", "authorized", "cancelled"],
    ["refund", "0", "refund-v2", "card", "captured", "refunded"],
  ] as const;
  for (const [type, manualCapture, service, operation, before, after] of cases) {
    test(`${type}-nok is answered with code 0, notified nok, and changes nothing`, async () => {
      const rig = await withOrder({ autoPay: true }, manualCapture);
      await eventually(() => rig.merchant.received.length).toBe(manualCapture === "1" ? 1 : 2);
      rig.sandbox.addFault({ kind: `${type}-nok`, times: 1 });
      const failing = await operate(rig, service, operation);
      expect([failing.status, failing.result["code"]]).toEqual([200, "0"]);
      if (type === "refund") expect(failing.result["amount"]).toBe("19.99");
      expect([stateOf(rig), rig.sandbox.faults()]).toEqual([before, []]);
      const nok = `${type} nok The ${type} did not succeed`;
      await eventually(() => notified(rig.merchant).at(-1)).toBe(nok);
      if (type !== "cancellation") {
        expect((await lookedUp(rig)).operations.at(-1)?.status).toBe("FAILURE");
      }
      expect((await operate(rig, service, operation)).result["code"]).toBe("0");
      expect(stateOf(rig)).toBe(after);
      await eventually(() => notified(rig.merchant).at(-1)).toBe(`${type} ok`);
    });
  }

  test("a refused request does not use the switch up", async () => {
    const rig = await withOrder({ autoPay: true, faults: [{ kind: "refund-nok", times: 1 }] });
    const over = await operate(rig, "refund-v2", "card", { amount: "20" });
    expect(over.result["code"]).toBe("3");
    expect(rig.sandbox.faults()).toHaveLength(1);
  });

  test("a capture that follows by itself may fail too", async () => {
    const rig = await withOrder({ autoPay: true, faults: [{ kind: "capture-nok" }] });
    const nok = "capture nok The capture did not succeed";
    await eventually(() => notified(rig.merchant)).toEqual(["authorization ok", nok]);
    expect(stateOf(rig)).toBe("authorized");
  });
});

describe("with --website-id-mandatory", () => {
  test("a refund without websiteId is refused, one with it is carried out", async () => {
    const rig = await withOrder({ autoPay: true, websiteIdMandatory: true });
    const without = await operate(rig, "refund-v2", "card", { amount: "1" });
    expect([without.status, without.result["code"]]).toEqual([500, "3"]);
    expect(without.result["description"]).toBe("websiteId invalid: mandatory parameter is missing");
    const empty = await operate(rig, "refund-v2", "card", { amount: "1", websiteId: "" });
    expect(empty.result["description"]).toBe("websiteId invalid: it is empty");
    expect(rig.sandbox.orders()[0]?.refundedAmount).toBe("0.00");
    const right = await operate(rig, "refund-v2", "card", { amount: "1", websiteId: "107" });
    expect(right.result["code"]).toBe("0");
  });

  test.each([true, false])("the WSDL requires websiteId: %s", async (websiteIdMandatory) => {
    const sandbox = await sandboxForTest({ websiteIdMandatory });
    const wsdl = await (await fetch(`${sandbox.url}/soap/refund-v2?wsdl`)).text();
    const field = /<xsd:element name="websiteId"[^>]*>/.exec(wsdl)?.[0] ?? "";
    expect(field.includes("nillable")).toBe(!websiteIdMandatory);
  });
});
