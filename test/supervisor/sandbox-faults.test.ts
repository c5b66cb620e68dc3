import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { newId } from "../../src/shared/new-id.ts";
import { systemClock } from "../../src/shared/time.ts";
import type { faultKinds } from "../../src/simulator/gateway/faults.ts";
import { selfSignedTls } from "../../src/simulator/gateway/http/self-signed.ts";
import { startGatewaySandbox } from "../../src/simulator/gateway/sandbox.ts";
import { readCommandLine } from "../../src/simulator/gateway/switches.ts";
import type { TryClass } from "../../src/supervisor/gateway/fault-table.ts";
import { NotificationHandler } from "../../src/supervisor/notifications/notification-handler.ts";
import * as listener from "../../src/supervisor/notifications/notification-listener.ts";
import { gatewayHistoryOf } from "../../src/supervisor/operations/gateway-history.ts";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { recordingLog } from "../support/house/recording-log.ts";
import { ChildProgram } from "../support/programs/child-program.ts";
import { rowsOf } from "../support/run/scope.ts";
import { secrets } from "./notifications/mapi.ts";
import { sampleTransaction } from "./sample-transaction.ts";
import { SupervisorProcess, writeConfig } from "./supervisor-process.ts";
import { openRig, PASSWORD, type RigOptions } from "./supervisor-rig.ts";

type FaultKind = keyof typeof faultKinds;
type NotificationFault = Extract<FaultKind, `notification-${string}`>;
type LookupFault = Extract<FaultKind, `lookup-${string}`>;
type AnswerFault = Exclude<FaultKind, NotificationFault | LookupFault>;

interface Expected {
  /** What the first try comes to. */
  readonly first: TryClass;
  /** The try may have made an order at the gateway. */
  readonly ambiguous: boolean;
  /** Orders that the sandbox has in the end: after a lost answer it is looked up. */
  readonly orders: number;
}

const answers: Readonly<Record<AnswerFault, Expected>> = {
  // These strike later than the order that is handed off here.
  "capture-nok": { first: "sent", ambiguous: false, orders: 1 },
  "refund-nok": { first: "sent", ambiguous: false, orders: 1 },
  "cancellation-nok": { first: "sent", ambiguous: false, orders: 1 },
  latency: { first: "sent", ambiguous: false, orders: 1 },
  "hang-before-commit": { first: "answer-timeout", ambiguous: true, orders: 1 },
  "hang-after-commit": { first: "answer-timeout", ambiguous: true, orders: 1 },
  "reset-before-commit": { first: "lost-answer", ambiguous: true, orders: 1 },
  "reset-after-commit": { first: "lost-answer", ambiguous: true, orders: 1 },
  "error-500": { first: "soap-fault", ambiguous: true, orders: 1 },
  "error-500-empty": { first: "server-error", ambiguous: true, orders: 1 },
  "unavailable-503": { first: "unavailable", ambiguous: false, orders: 1 },
  "not-found-404": { first: "not-found", ambiguous: false, orders: 1 },
  "malformed-xml": { first: "unreadable-answer", ambiguous: true, orders: 1 },
  "wrong-code": { first: "order-refused", ambiguous: false, orders: 0 },
  // An order's result has neither of these; they are lies about a refund (below).
  "wrong-id": { first: "sent", ambiguous: false, orders: 1 },
  "wrong-amount": { first: "sent", ambiguous: false, orders: 1 },
  "wrong-currency": { first: "sent", ambiguous: false, orders: 1 },
  "answer-twice": { first: "unreadable-answer", ambiguous: true, orders: 1 },
};

/** Lookups after a lost answer: how many sends, and what the item comes to within the hour. */
const lookups: Readonly<Record<LookupFault, { orders: number; state: string }>> = {
  "lookup-refused": { orders: 2, state: "sent" },
  "lookup-plural-refused": { orders: 1, state: "sent" },
};

interface Notified {
  /** How often each document came, by operation and status if not ok, in order of first coming. */
  readonly copies: Readonly<Record<string, number>>;
  readonly state: "captured" | "unknown";
}

const notifications: Readonly<Record<NotificationFault, Notified>> = {
  "notification-twice": { copies: { authorization: 2, capture: 2 }, state: "captured" },
  "notification-reversed": { copies: { capture: 1, authorization: 1 }, state: "captured" },
  "notification-waiting": {
    copies: { "authorization waiting": 1, authorization: 1, "capture waiting": 1, capture: 1 },
    state: "captured",
  },
  "notification-delayed": { copies: { authorization: 1, capture: 1 }, state: "captured" },
  "notification-bad-digest": { copies: {}, state: "unknown" },
  "notification-before-answer": { copies: { authorization: 1, capture: 1 }, state: "captured" },
};

/** What became of each fault, printed at the end of the run. */
const tableRows: string[] = [];
afterAll(() => {
  if (tableRows.length > 0) process.stdout.write(`${tableRows.join("\n")}\n`);
});

const row = (...cells: readonly string[]): number =>
  tableRows.push(
    cells
      .map((cell) => cell.padEnd(28))
      .join("")
      .trimEnd(),
  );

const tls = selfSignedTls(["127.0.0.1"], systemClock.now());

async function openWithSandbox(options: RigOptions & { autoPay?: boolean; secure?: boolean } = {}) {
  const { autoPay = false, secure = false, ...more } = options;
  const categories = [{ id: 5, label: "Vending" }];
  const websites = [{ id: 107, currency: "EUR", categories }];
  const sandbox = await startGatewaySandbox({
    accounts: [{ login: "login", password: PASSWORD, websites }],
    database: ":memory:",
    autoPay,
    ...(secure ? { tls } : {}),
  });
  onTestFinished(() => sandbox.close());
  const certificates = secure ? [String(tls.cert)] : [];
  const rig = await openRig({ url: sandbox.url, certificates, ...more });
  rig.forwarder.start();
  return { ...rig, sandbox };
}

test("every fault switch of --help has a row here", () => {
  const asked = readCommandLine(["--help"]);
  const text = asked.ask === "help" ? asked.text : "";
  const help = text.split("\nFaults ")[1]?.split("\n\n")[0] ?? "";
  const kinds = [...help.matchAll(/^ {2}([a-z][a-z0-9-]+) /gm)].map(([, kind]) => kind);
  expect(kinds.length).toBeGreaterThan(10);
  const rows = [answers, lookups, notifications].flatMap((table) => Object.keys(table));
  expect(rows.sort()).toEqual(kinds.sort());
});

/** Over http and https in the whole scope; elsewhere each fault over one of them. */
const overEach = (Object.entries(answers) as Array<[AnswerFault, Expected]>).flatMap(
  ([kind, expected], number) =>
    rowsOf([false, true], 2, number % 2).map((secure) => ({
      kind,
      scheme: secure ? "https" : "http",
      secure,
      expected,
    })),
);

test.each(overEach)(
  "$kind over $scheme loses no transaction",
  async ({ kind, scheme, secure, expected: { first, ambiguous, orders } }) => {
    const rig = await openWithSandbox({ secure });
    rig.sandbox.addFault({ kind, times: 1, delayMs: 50 });
    const id = rig.handOver("Order_1");
    if (kind.startsWith("hang")) {
      // The fault is used up when the sandbox has the request.
      await expect.poll(() => rig.sandbox.faults()).toEqual([]);
      await rig.clock.advance(30_000);
    }
    expect((await rig.tries(id, 1))[0]).toBe(first);
    const state = () => rig.store.delivery(id)?.state;
    if (first !== "order-refused") await rig.advanceInSteps(1_000, () => state() === "sent");
    expect(state()).toBe(first === "order-refused" ? "parked" : "sent");
    expect(rig.store.attempts(id)[0]?.ambiguous).toBe(ambiguous);
    expect(rig.store.delivery(id)?.ambiguous).toBe(ambiguous);
    expect(rig.sandbox.orders()).toHaveLength(orders);
    for (const order of rig.sandbox.orders()) {
      expect(order).toMatchObject({
        merchantReference: "Order_1",
        amount: "8.99",
        freeData: { transactionId: id },
      });
    }
    row(`${kind} (${scheme})`, first, ambiguous ? "ambiguous" : "", `${state()}, ${orders} orders`);
  },
);

const refusals = (
  Object.entries(lookups) as Array<[LookupFault, { orders: number; state: string }]>
).flatMap(([kind, expected], number) =>
  rowsOf([400, 404, 405], 3, number).map((status) => ({ kind, status, ...expected })),
);

test.each(refusals)(
  "a lost answer with $kind, status $status: $orders orders, an alarm when it may be two",
  async ({ kind, status, orders, state }) => {
    const rig = await openWithSandbox();
    rig.sandbox.addFault({ kind: "reset-after-commit", times: 1 });
    rig.sandbox.addFault({ kind, status });
    const id = rig.handOver("Order_1");
    await rig.tries(id, 1);
    await rig.advanceInSteps(5_000, () => rig.store.delivery(id)?.state === state);
    expect(rig.sandbox.orders()).toHaveLength(orders);
    expect(rig.alarms()).toEqual(orders > 1 ? ["gateway-order-ambiguous"] : []);
    expect(gatewayHistoryOf("Order_1", rig.operationStore).possibleOrders).toBe(orders > 1 ? 2 : 0);
    row(`${kind} ${status}`, "lost-answer", "ambiguous", `${state}, ${orders} orders`);
  },
);

test.each(["wrong-id", "wrong-amount", "wrong-currency", "answer-twice"] as const)(
  "a refund whose answer lies (%s) is unknown until a lookup shows it",
  async (kind) => {
    const rig = await openWithSandbox({ autoPay: true });
    const transactionId = rig.handOver("Order_1");
    await rig.tries(transactionId, 1);
    const publicId = rig.sandbox.orders()[0]?.transactionPublicId ?? "";
    rig.operationStore.learnId(publicId, transactionId, "notification", 1);
    rig.sandbox.addFault({ kind, operation: "card" });
    const { operation } = await rig.operations.operate({
      operationId: newId(),
      kind: "refund",
      transactionPublicId: publicId,
      amountMinor: 899,
      currency: "EUR",
      exponent: 2,
    });
    expect(operation?.state).toBe("unknown");
    expect(rig.alarms()).toEqual(["gateway-operation-unknown"]);
    const open = () => rig.operationStore.openOf(publicId);
    await rig.advanceInSteps(5_000, () => open() === undefined);
    expect(gatewayHistoryOf("Order_1", rig.operationStore)).toMatchObject({
      operations: [{ state: "done" }],
    });
    row(`${kind} (refund)`, "unknown", "", "done by lookup");
  },
);

async function openWithListener() {
  let handler: NotificationHandler | undefined;
  const listening = await listener.startNotificationListener({
    host: "127.0.0.1",
    port: 0,
    handler: {
      takeOperation: (one, mayStore) => handler?.takeOperation(one, mayStore) ?? "refused",
      takeFraud: () => "refused",
    },
    clock: new TestClock(),
    log: recordingLog().log,
  });
  onTestFinished(() => listening.close());
  const callbackUrl = `http://127.0.0.1:${listening.port}/notify`;
  const rig = await openWithSandbox({ autoPay: true, callbackUrl });
  handler = new NotificationHandler({
    operations: rig.operationStore,
    losses: rig.losses,
    tally: rig.tally,
    clock: rig.clock,
    log: rig.log,
    secrets,
    fraudSecret: undefined,
    onAccepted: (id) => rig.operations.notified(id),
  });
  return rig;
}

test.each(Object.entries(notifications) as Array<[NotificationFault, Notified]>)(
  "%s leaves the order's gateway state true",
  async (kind, { copies, state }) => {
    const rig = await openWithListener();
    rig.sandbox.addFault({ kind, delayMs: 50 });
    const id = rig.handOver("Order_1");
    const sent = async () => {
      const response = await fetch(`${rig.sandbox.url}/sandbox/notifications`);
      return (await response.json()) as Array<{ state: string }>;
    };
    const expected = Object.values(copies).reduce((sum, count) => sum + count, 0) || 2;
    await expect.poll(async () => (await sent()).length).toBe(expected);
    const waiting = async () => (await sent()).filter((one) => one.state === "waiting");
    await expect.poll(waiting).toEqual([]);
    const history = () => gatewayHistoryOf("Order_1", rig.operationStore);
    const events = history().events.map(({ operation, status, copies: came }) => [
      status === "ok" ? operation : `${operation} ${status}`,
      came,
    ]);
    expect(Object.fromEntries(events)).toEqual(copies);
    expect(events.map(([operation]) => operation)).toEqual(Object.keys(copies));
    expect(history().state).toBe(state);
    expect(await rig.tries(id, 1)).toEqual(["sent"]);
    row(
      kind,
      "sent",
      "",
      `${state}, ${events.map((one) => one.join(" ")).join(", ") || "refused"}`,
    );
  },
);

describe("a sandbox with a self-made certificate, as a process", () => {
  /** The gateway of the environment's proxy is asked for nothing: it is on this machine. */
  const deadProxy = { HTTPS_PROXY: "http://127.0.0.1:9", HTTP_PROXY: "http://127.0.0.1:9" };

  async function processes(trusting: boolean) {
    const folder = temporaryFolder();
    const [certificate, ready] = [join(folder, "gateway.pem"), join(folder, "ready.json")];
    const sandbox = new ChildProgram("simulator/gateway/main.ts", [
      "--port",
      "0",
      "--database",
      ":memory:",
      "--ready-file",
      ready,
      "--login",
      "login",
      "--password",
      PASSWORD,
      "--website",
      "107",
      "--category",
      "5=Vending",
      "--tls-self-signed",
      certificate,
    ]);
    onTestFinished(async () => void (await sandbox.end("SIGKILL")));
    const { url } = await sandbox.readyFile<{ url: string }>(ready);
    expect(url).toMatch(/^https:/);
    const data = join(folder, "data");
    writeConfig(data, url, trusting ? { GATEWAY_CA_FILE: certificate } : {});
    for (const [name, value] of Object.entries(deadProxy)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const supervisor = new SupervisorProcess(data);
    await supervisor.ready();
    const transaction = sampleTransaction();
    await supervisor.call("store-transaction", { transaction }, PATIENCE_MS);
    const { transactionId } = transaction;
    const request = { transactionId, waitMs: 10_000 };
    const delivery = await supervisor.call("transaction-delivery", request, 11_000);
    return { supervisor, delivery };
  }

  test("is trusted with GATEWAY_CA_FILE", async () => {
    const { delivery } = await processes(true);
    expect(delivery).toMatchObject({ sent: true });
    row("TLS, GATEWAY_CA_FILE", "sent", "", "sent");
  });

  test("is not trusted without it: nothing is sent, and an alarm reports it", async () => {
    const { supervisor, delivery } = await processes(false);
    expect(delivery).toMatchObject({ sent: false, state: "pending" });
    const { items } = await supervisor.call("outbox-list", { limit: 1 }, PATIENCE_MS);
    expect(items[0]).toMatchObject({ ambiguous: false, lastTry: { class: "certificate" } });
    expect(supervisor.log()).toContain('"alarm":"gateway-misconfigured"');
    row("TLS, no GATEWAY_CA_FILE", "certificate", "", "pending, alarm");
  });
});
