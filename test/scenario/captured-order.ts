import { expect } from "vitest";
import { until } from "../support/programs/child-program.ts";
import { type Answer, freePort, TestInstallation } from "../support/programs/installation.ts";

const operator = { OPERATOR_LOGIN: "operator", OPERATOR_PWD: "maintenance-password" };
const asOperator = {
  headers: {
    authorization: `Basic ${btoa(`${operator.OPERATOR_LOGIN}:${operator.OPERATOR_PWD}`)}`,
  },
};

/** A whole installation whose gateway captures every order and notifies it. */
export async function notifiedInstallation(): Promise<TestInstallation> {
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
  await at.start();
  return at;
}

interface Refunded {
  readonly merchantReference: string;
  readonly transactionPublicId: string;
  readonly state: string;
  readonly refundedAmount: string;
}

export interface OrderRead {
  readonly status: string;
  readonly error: { readonly charged: string } | null;
  readonly warnings: readonly string[];
  readonly gateway: { readonly state: string } | null;
}

/** A charged order of 5.00 that the gateway has captured and notified. */
export async function captured(at: TestInstallation, orderId: string) {
  await at.connected();
  const before = (await at.ledger()).entries.length;
  expect((await at.pay(5, orderId)).one.status).toBe("Success");
  const read = async () =>
    (await at.call("GET", `/payment/${orderId}`)).one as unknown as OrderRead;
  const gatewayState = async () => (await read()).gateway?.state;
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
  const refund = (more: object = {}): Promise<Answer> =>
    at.call("POST", "/gateway/refund", { orderId, ...more }, asOperator);
  const settle = (happened: boolean): Promise<Answer> => {
    const decision = { orderId, happened, note: "seen in the merchant account" };
    return at.call("POST", "/gateway/settle", decision, asOperator);
  };
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
  const programs = { killBoth, startBoth };
  return { read, order, refund, settle, fault, hanging, hasten, booked, ...programs };
}
