import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/child-program.ts";
import { freePort, TestInstallation } from "../support/installation.ts";
import { asSlow } from "../support/patience.ts";

/**
 * A refund whose programs die between the reservation and the answer (docs/design.md 3.7): nothing
 * is sent again, nothing is forgotten, and the reservation ends only with the truth. All tests have
 * one installation, each an order of its own.
 */

const operator = { OPERATOR_LOGIN: "operator", OPERATOR_PWD: "maintenance-password" };
const asOperator = {
  headers: {
    authorization: `Basic ${btoa(`${operator.OPERATOR_LOGIN}:${operator.OPERATOR_PWD}`)}`,
  },
};

interface Refunded {
  readonly merchantReference: string;
  readonly transactionPublicId: string;
  readonly state: string;
  readonly refundedAmount: string;
}

let at: TestInstallation;
beforeAll(async () => {
  const port = await freePort();
  at = new TestInstallation({
    terminalSwitches: ["--instant"],
    sandboxSwitches: ["--auto-pay"],
    config: {
      ...operator,
      GATEWAY_CALLBACK_URL: `http://127.0.0.1:${port}/notify`,
      NOTIFICATION_PORT: port,
      GATEWAY_TIMEOUT: 60_000,
    },
  });
  await at.start();
});
afterAll(() => at?.stop());

/** A charged order of 5.00 that the gateway has captured and notified. */
async function captured(orderId: string) {
  await at.connected();
  const before = (await at.ledger()).entries.length;
  expect((await at.pay(5, orderId)).one.status).toBe("Success");
  const look = async () => (await at.call("GET", `/payment/${orderId}`)).one as unknown as Looked;
  const gatewayState = async () => (await look()).gateway?.state;
  // The pauses between the gateway's attempts grow to minutes.
  const hasten = () => fetch(`${at.sandboxUrl}/sandbox/notifications`, { method: "POST" });
  await until("the capture is notified", async () => {
    await hasten();
    return (await gatewayState()) === "captured" || undefined;
  });
  const order = async (): Promise<Refunded | undefined> =>
    ((await at.orders()) as unknown as Refunded[]).find(
      ({ merchantReference }) => merchantReference === orderId,
    );
  const refund = () => at.call("POST", "/gateway/refund", { orderId }, asOperator);
  const fault = async (kind: string, delayMs = 1_000): Promise<void> => {
    const body = JSON.stringify({ kind, delayMs, times: 1, operation: "card" });
    const headers = { "content-type": "application/json" };
    await fetch(`${at.sandboxUrl}/sandbox/faults`, { method: "POST", headers, body });
  };
  /** The gateway has the refund and does not answer. */
  const hanging = async (): Promise<void> => {
    await until("the gateway has the request", async () => {
      const left = await (await fetch(`${at.sandboxUrl}/sandbox/faults`)).json();
      return (left as unknown[]).length === 0 || undefined;
    });
  };
  /** What the terminal's bank has booked since. */
  const booked = async () => (await at.ledger()).entries.slice(before).map(({ kind }) => kind);
  const killBoth = () => Promise.all([at.supervisor?.end("SIGKILL"), at.tpManager?.end("SIGKILL")]);
  const startBoth = () => Promise.all([at.startSupervisor(), at.startTpManager()]);
  return { look, order, refund, fault, hanging, hasten, booked, killBoth, startBoth };
}

interface Looked {
  readonly status: string;
  readonly error: { readonly charged: string } | null;
  readonly gateway: { readonly state: string } | null;
}

const isStatus = (status: string, look: () => Promise<Looked>) =>
  until(`the order is ${status}`, async () => (await look()).status === status || undefined);

describe("both programs are killed while the gateway has the refund", () => {
  test("that it carried out: unknown, and settled by the notification's repetition", async () => {
    const { look, order, refund, fault, hanging, ...rest } = await captured("A-1");
    const { hasten, booked, killBoth, startBoth } = rest;
    await fault("hang-after-commit");
    const asked = refund().catch(() => "the connection broke");
    await hanging();
    await killBoth();
    expect(await asked).toBe("the connection broke");
    await startBoth();
    const again = await refund();
    // Either the notification's repetition has come already, or nothing may be sent meanwhile.
    expect(["GATEWAY_OPERATION_OPEN", "ORDER_REVERSED"]).toContain(again.one.error?.code);
    const hastened = async () => {
      await hasten();
      return await look();
    };
    await isStatus("Reversed", hastened);
    expect(await order()).toMatchObject({ state: "refunded", refundedAmount: "5.00" });
    expect(await booked()).toEqual(["charge"]);
  });

  test("that it did not carry out: open until an operator says so", async () => {
    const { look, order, refund, fault, hanging, ...rest } = await captured("A-2");
    const { booked, killBoth, startBoth } = rest;
    await fault("hang-before-commit");
    const asked = refund().catch(() => undefined);
    await hanging();
    await killBoth();
    await asked;
    await startBoth();
    await at.connected();
    expect(await look()).toMatchObject({ status: "Success", warnings: [expect.any(String)] });
    expect((await refund()).one.error?.code).toBe("GATEWAY_OPERATION_OPEN");
    const reversal = await at.call("POST", "/reversal", { orderId: "A-2" });
    expect(reversal.one.error?.code).toBe("GATEWAY_OPERATION_OPEN");
    expect(await order()).toMatchObject({ state: "captured", refundedAmount: "0.00" });
    const word = { orderId: "A-2", happened: false, note: "seen in the merchant account" };
    const settled = await at.call("POST", "/gateway/settle", word, asOperator);
    expect(settled.http).toBe(200);
    expect((await look()).status).toBe("Success");
    expect((await refund()).http).toBe(200);
    expect(await order()).toMatchObject({ state: "refunded", refundedAmount: "5.00" });
    expect(await booked()).toEqual(["charge"]);
  });
});

test("tp-manager is killed while the gateway works: the next start hears the end", async () => {
  const { look, order, refund, fault, hanging, booked } = await captured("A-3");
  await fault("latency", asSlow(1_000));
  const asked = refund().catch(() => undefined);
  await hanging();
  await at.tpManager?.end("SIGKILL");
  await asked;
  await at.startTpManager();
  await isStatus("Reversed", look);
  expect(await order()).toMatchObject({ state: "refunded", refundedAmount: "5.00" });
  expect((await refund()).one.error?.code).toBe("ORDER_REVERSED");
  expect(await booked()).toEqual(["charge"]);
});
