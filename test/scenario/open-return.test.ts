import { describe, expect, onTestFinished, test } from "vitest";
import { until } from "../support/child-program.ts";
import { freePort, TestInstallation } from "../support/installation.ts";
import { asSlow } from "../support/patience.ts";

/**
 * A refund whose programs die between the reservation and the answer (docs/design.md 3.7): nothing
 * is sent again, nothing is forgotten, and the reservation ends only with the truth.
 */

const operator = { OPERATOR_LOGIN: "operator", OPERATOR_PWD: "maintenance-password" };
const asOperator = {
  headers: {
    authorization: `Basic ${btoa(`${operator.OPERATOR_LOGIN}:${operator.OPERATOR_PWD}`)}`,
  },
};

interface Refunded {
  readonly transactionPublicId: string;
  readonly state: string;
  readonly refundedAmount: string;
}

/** A charged order of 5.00 that the gateway has captured and notified. */
async function captured() {
  const port = await freePort();
  const at = new TestInstallation({
    terminalSwitches: ["--instant"],
    sandboxSwitches: ["--auto-pay"],
    config: {
      ...operator,
      GATEWAY_CALLBACK_URL: `http://127.0.0.1:${port}/notify`,
      NOTIFICATION_PORT: port,
      GATEWAY_TIMEOUT: 60_000,
    },
  });
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  expect((await at.pay(5, "A-1")).one.status).toBe("Success");
  const look = async () => (await at.call("GET", "/payment/A-1")).one as unknown as Looked;
  const gatewayState = async () => (await look()).gateway?.state;
  // The pauses between the gateway's attempts grow to minutes.
  const hasten = () => fetch(`${at.sandboxUrl}/sandbox/notifications`, { method: "POST" });
  await until("the capture is notified", async () => {
    await hasten();
    return (await gatewayState()) === "captured" || undefined;
  });
  const order = async (): Promise<Refunded> =>
    ((await at.orders()) as unknown as Refunded[])[0] as Refunded;
  const refund = () => at.call("POST", "/gateway/refund", { orderId: "A-1" }, asOperator);
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
  const killBoth = () => Promise.all([at.supervisor?.end("SIGKILL"), at.tpManager?.end("SIGKILL")]);
  const startBoth = () => Promise.all([at.startSupervisor(), at.startTpManager()]);
  return { at, look, order, refund, fault, hanging, hasten, killBoth, startBoth };
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
    const { at, look, order, refund, fault, hanging, ...rest } = await captured();
    const { hasten, killBoth, startBoth } = rest;
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
    expect((await at.ledger()).entries.map(({ kind }) => kind)).toEqual(["charge"]);
  });

  test("that it did not carry out: open until an operator says so", async () => {
    const { at, look, order, refund, fault, hanging, killBoth, startBoth } = await captured();
    await fault("hang-before-commit");
    const asked = refund().catch(() => undefined);
    await hanging();
    await killBoth();
    await asked;
    await startBoth();
    await at.connected();
    expect(await look()).toMatchObject({ status: "Success", warnings: [expect.any(String)] });
    expect((await refund()).one.error?.code).toBe("GATEWAY_OPERATION_OPEN");
    const reversal = await at.call("POST", "/reversal", { orderId: "A-1" });
    expect(reversal.one.error?.code).toBe("GATEWAY_OPERATION_OPEN");
    expect(await order()).toMatchObject({ state: "captured", refundedAmount: "0.00" });
    const word = { orderId: "A-1", happened: false, note: "seen in the merchant account" };
    const settled = await at.call("POST", "/gateway/settle", word, asOperator);
    expect(settled.http).toBe(200);
    expect((await look()).status).toBe("Success");
    expect((await refund()).http).toBe(200);
    expect(await order()).toMatchObject({ state: "refunded", refundedAmount: "5.00" });
    expect((await at.ledger()).entries.map(({ kind }) => kind)).toEqual(["charge"]);
  });
});

test("tp-manager is killed while the gateway works: the next start hears the end", async () => {
  const { at, look, order, refund, fault, hanging } = await captured();
  await fault("latency", asSlow(1_000));
  const asked = refund().catch(() => undefined);
  await hanging();
  await at.tpManager?.end("SIGKILL");
  await asked;
  await at.startTpManager();
  await isStatus("Reversed", look);
  expect(await order()).toMatchObject({ state: "refunded", refundedAmount: "5.00" });
  expect((await refund()).one.error?.code).toBe("ORDER_REVERSED");
  expect((await at.ledger()).entries.map(({ kind }) => kind)).toEqual(["charge"]);
});
