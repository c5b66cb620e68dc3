import { expect, onTestFinished, test } from "vitest";
import { IpcError } from "../../src/shared/ipc/client.ts";
import { systemClock } from "../../src/shared/time.ts";
import { selfSignedTls } from "../../src/simulator/gateway/http/self-signed.ts";
import type { SandboxOptions } from "../../src/simulator/gateway/parts.ts";
import { startGatewaySandbox } from "../../src/simulator/gateway/sandbox.ts";
import { NotificationHandler } from "../../src/supervisor/notifications/notification-handler.ts";
import * as listening from "../../src/supervisor/notifications/notification-listener.ts";
import { englishTexts } from "../../src/tp-manager/console/english-texts.ts";
import { mapiOf, md5, resultOf } from "../supervisor/notifications/mapi.ts";
import { PASSWORD } from "../supervisor/supervisor-rig.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { pay, request } from "../support/house/payment-house.ts";
import { freePort } from "../support/programs/installation.ts";
import { isWhole } from "../support/run/scope.ts";
import { lost } from "../support/terminals/scripted-terminal.ts";
import { expectConditions, openFaces } from "./condition-faces.ts";

const secrets = [{ setting: "GATEWAY_PWD", value: PASSWORD }];
const HOUR = 3_600_000;
const MINUTE = 60_000;
/** The time without a refused notification after which that condition is over. */
const QUIET_MS = 10 * MINUTE;

/** The sandbox with its own switches; it can be ended and begun again at the same port. */
async function sandbox({ password = PASSWORD, ...more }: Partial<SandboxOptions> & Password = {}) {
  const websites = [{ id: 107, currency: "EUR", categories: [{ id: 5, label: "Vending" }] }];
  const accounts = [{ login: "login", password, websites }];
  // The port of one that has ended must be nobody else's.
  const { port = await freePort() } = more;
  const running = await startGatewaySandbox({ accounts, database: ":memory:", ...more, port });
  onTestFinished(() => running.close());
  return running;
}
interface Password {
  readonly password?: string;
}

test("wrong credentials: one alarm for longer than a day, gone when they are right", async () => {
  const wrong = await sandbox({ password: "another" });
  const at = await openFaces({ url: wrong.url });
  at.rig.forwarder.start();
  const id = at.rig.handOver("A-1");
  await at.rig.tries(id, 1);
  await at.watchFor(0);
  await expectConditions(at, ["credentials-refused"]);
  for (let hour = 1; hour <= 25; hour++) {
    await at.rig.clock.advance(HOUR);
    await at.rig.tries(id, hour + 1);
  }
  await at.at.clock.advance(25 * HOUR);
  await at.watchFor(MINUTE);
  const health = await expectConditions(at, ["credentials-refused", "queue-old"]);
  expect(at.alarms()).toEqual(["queue-old", "gateway-credentials-refused"]);
  expect(health.alarms).toMatchObject([
    { alarm: "queue-old", trouble: { count: 1 } },
    { alarm: "gateway-credentials-refused", trouble: { trouble: "credentials-refused" } },
  ]);
  await wrong.close();
  await sandbox({ port: wrong.port });
  at.rig.requeued(id);
  await at.rig.advanceInSteps(1_000, () => at.rig.store.counts().pending === 0);
  await at.watchFor(MINUTE);
  const over = await expectConditions(at, []);
  expect(over.alarms).toEqual([]);
  // The condition returns within the same day: its alarm is raised at once.
  at.rig.log.error({ alarm: "gateway-credentials-refused" }, "nothing is sent");
  await at.watchFor(0);
  expect(at.alarms()).toHaveLength(3);
});

test("an untrusted certificate is shown until the gateway answers again", async () => {
  const made = () => selfSignedTls(["127.0.0.1"], systemClock.now());
  const [trusted, other] = [made(), made()];
  const wrong = await sandbox({ tls: other });
  const at = await openFaces({ url: wrong.url, certificates: [String(trusted.cert)] });
  at.rig.forwarder.start();
  const id = at.rig.handOver("A-1");
  expect(await at.rig.tries(id, 1)).toEqual(["certificate"]);
  await at.watchFor(0);
  const health = await expectConditions(at, ["gateway-misconfigured"]);
  expect(health.warnings[0]).toMatch(/certificate is not trusted.*GATEWAY_CA_FILE/);
  await wrong.close();
  // No connection proves nothing about the certificate.
  await at.rig.clock.advance(5 * MINUTE);
  await expect.poll(() => at.rig.store.attempts(id).at(-1)?.class).toBe("unreachable");
  await expectConditions(at, ["gateway-misconfigured"]);
  await sandbox({ tls: trusted, port: wrong.port });
  at.rig.requeued(id);
  await at.rig.advanceInSteps(1_000, () => at.rig.store.counts().pending === 0);
  await at.watchFor(MINUTE);
  await expectConditions(at, []);
  expect(at.alarms()).toEqual(["gateway-misconfigured"]);
});

test("a gateway that is away for more than ten minutes is shown, with the age", async () => {
  const away = await sandbox();
  const at = await openFaces({ url: away.url });
  await away.close();
  at.rig.forwarder.start();
  const ids = ["A-1", "A-2"].map((orderId) => at.rig.handOver(orderId));
  for (const id of ids) await at.rig.tries(id, 1);
  await at.rig.advanceInSteps(MINUTE, () => at.rig.clock.monotonicMs() >= 10 * MINUTE);
  await expectConditions(at, []);
  await at.rig.clock.advance(MINUTE);
  await at.watchFor(MINUTE);
  const health = await expectConditions(at, ["queue-old"]);
  expect(health.troubles[0]).toMatchObject({
    count: 2,
    says: "Transactions that wait for the gateway: 2, the oldest for 12 minutes",
  });
  expect(Date.parse(health.troubles[0].since)).toBe(new TestClock().now());
  await sandbox({ port: away.port });
  await at.rig.advanceInSteps(MINUTE, () => at.rig.store.counts().pending === 0);
  await at.watchFor(MINUTE);
  expect((await expectConditions(at, [])).alarms).toEqual([]);
  expect(at.alarms()).toEqual(["queue-old"]);
});

test("a parked order is shown until an operator has dealt with it", async () => {
  const refusing = await sandbox({ faults: [{ kind: "wrong-code", times: 1 }] });
  const at = await openFaces({ url: refusing.url });
  at.rig.forwarder.start();
  const id = at.rig.handOver("A-1");
  await at.rig.tries(id, 1);
  await at.watchFor(0);
  await at.at.clock.advance(30 * HOUR);
  const health = await expectConditions(at, ["transactions-parked"]);
  expect(health.troubles[0].count).toBe(1);
  expect(health.alarms).toMatchObject([{ alarm: "transaction-parked", orderId: "A-1" }]);
  // The labels are those that the console's English page gets.
  const { "nav.in-doubt": view = "", requeue = "", drop = "" } = englishTexts("");
  const { rows } = await at.faces();
  expect(rows).toContain("queue warn parked 0 sent, 1 parked until an operator decides");
  const row = rows.find((one) => one.includes("Parked")) ?? "";
  expect([view, requeue, drop].map((label) => label !== "" && row.includes(`“${label}”`))).toEqual([
    true,
    true,
    true,
  ]);
  expect(at.rig.admin.requeue(id, at.rig.clock.now())).toBe("queued");
  at.rig.requeued(id);
  await at.rig.advanceInSteps(1_000, () => at.rig.store.counts().pending === 0);
  await at.watchFor(MINUTE);
  expect((await expectConditions(at, [])).alarms).toEqual([]);
});

test("status says until when the terminal is asked about an order in doubt", async () => {
  const at = await openFaces();
  const { terminal, clock, arbiter } = at.at;
  const asked = async () =>
    (await at.faces()).rows.filter((row) => row.startsWith("recovery warn asking "));
  expect(await asked()).toEqual([]);
  terminal.script = () => Promise.resolve(lost("line broken"));
  await pay(at.at, request("A-1"));
  await clock.advance(1_000);
  const time = new Date(arbiter.inquiries.untilMs() ?? 0).toTimeString().slice(0, 8);
  const says = `The connector is still asking the terminal, until about ${time}.`;
  expect(await asked()).toEqual([`recovery warn asking ${says}`]);
  terminal.become({ link: "disconnected", linkProblem: "unplugged" });
  const later = "The connector asks the terminal again when the terminal is back and free.";
  expect(await asked()).toEqual([`recovery warn asking ${later}`]);
  terminal.become({ link: "connected", linkProblem: null });
  await clock.advance(200_000);
  expect(await asked()).toEqual([]);
});

const WRONG_DIGESTS = isWhole ? 651 : 251;

test(`${WRONG_DIGESTS} notifications with a wrong digest: one alarm, count and since`, async () => {
  const at = await openFaces();
  const { rig } = at;
  const listenerClock = new TestClock();
  const handler = new NotificationHandler({
    operations: rig.operationStore,
    tally: rig.tally,
    losses: rig.losses,
    clock: rig.clock,
    log: rig.log,
    secrets,
    fraudSecret: undefined,
    onAccepted: (id) => rig.operations.notified(id),
  });
  const address = { host: "127.0.0.1", port: 0 };
  const listener = await listening.startNotificationListener({
    ...address,
    handler,
    log: rig.log,
    clock: listenerClock,
  });
  onTestFinished(() => listener.close());
  const send = async (secret: string): Promise<number> => {
    const result = resultOf();
    const body = new URLSearchParams({ xml: mapiOf(result, md5(result + secret)) });
    const response = await fetch(`http://127.0.0.1:${listener.port}/`, { method: "POST", body });
    return response.status;
  };
  const sinceMs = rig.clock.now();
  rig.handOver("A-1");
  for (let i = 1; i <= WRONG_DIGESTS; i++) {
    expect(await send("an old password")).toBe(403);
    if (i % 100 === 0) {
      await at.watchFor(0);
      await listenerClock.advance(MINUTE);
    }
  }
  await rig.clock.advance(26 * HOUR);
  await at.at.clock.advance(26 * HOUR);
  await at.watchFor(0);
  const expected = ["notifications-refused"] as const;
  const health = await expectConditions(at, expected);
  expect(health.troubles[0]).toEqual({
    trouble: "notifications-refused",
    orderIds: [],
    says:
      `Notifications of the gateway that were refused: ${WRONG_DIGESTS}, ` +
      "the last one because: wrong digest",
    todo: expect.stringContaining("GATEWAY_PWD"),
    since: new Date(sinceMs).toISOString(),
    count: WRONG_DIGESTS,
  });
  expect(at.alarms().filter((alarm) => alarm === "notifications-refused")).toHaveLength(1);
  const about = { trouble: "notifications-refused", count: WRONG_DIGESTS };
  expect(health.alarms).toContainEqual(
    expect.objectContaining({ trouble: expect.objectContaining(about) }),
  );
  expect((await at.faces()).metrics).toContain(
    `connector_notifications_total{verdict="wrong-digest"} ${WRONG_DIGESTS}`,
  );
  // A good one alone is not the end: the next wrong one may be a minute away.
  expect(await send("an old password")).toBe(403);
  expect(await send(PASSWORD)).toBe(200);
  await expectConditions(at, expected);
  await rig.clock.advance(QUIET_MS);
  await at.watchFor(MINUTE);
  await expectConditions(at, []);
});

test("the sandbox's own bad digests are counted and shown", async () => {
  const at = await openFaces();
  const { rig } = at;
  const handler = new NotificationHandler({
    operations: rig.operationStore,
    tally: rig.tally,
    losses: rig.losses,
    clock: rig.clock,
    log: rig.log,
    secrets,
    fraudSecret: undefined,
    onAccepted: (id) => rig.operations.notified(id),
  });
  const parts = { host: "127.0.0.1", port: 0, handler, log: rig.log, clock: new TestClock() };
  const listener = await listening.startNotificationListener(parts);
  onTestFinished(() => listener.close());
  const gateway = await sandbox({ autoPay: true, faults: [{ kind: "notification-bad-digest" }] });
  const callbackUrl = `http://127.0.0.1:${listener.port}/`;
  const sending = await openFaces({ url: gateway.url, callbackUrl });
  sending.rig.forwarder.start();
  sending.rig.handOver("A-1");
  await expect.poll(() => rig.tally.figures.verdicts["wrong-digest"]).toBe(2);
  await at.watchFor(0);
  await expectConditions(at, ["notifications-refused"]);
});

test("a supervisor that is down is shown at once, by an alarm after a minute", async () => {
  const at = await openFaces();
  await at.stopSupervisor();
  at.at.supervisor.reachable = false;
  await at.watchFor(30_000);
  await expectConditions(at, ["supervisor-silent"]);
  expect(at.alarms()).toEqual([]);
  const paid = at.at.orders.pay(request("A-1"));
  await expect.poll(() => at.at.handOff.trouble?.pending).toBe(1);
  await at.watchFor(2 * MINUTE);
  expect(await paid).toMatchObject({ delivery: "pending" });
  await expectConditions(at, ["supervisor-silent", "hand-over-failing"]);
  await at.at.clock.advance(26 * HOUR);
  await at.watchFor(MINUTE);
  const health = await expectConditions(at, ["supervisor-silent", "hand-over-failing"]);
  expect(health.troubles[1]).toMatchObject({ count: 1 });
  expect(health.troubles[1].says).toMatch(/ handed off to the supervisor: 1 \(nobody listens/);
  expect(health.alarms.map(({ alarm }: { alarm: string }) => alarm).sort()).toEqual([
    "hand-over-failing",
    "supervisor-silent",
  ]);
  await at.startSupervisor();
  at.at.supervisor.reachable = true;
  await at.at.clock.advance(MINUTE);
  await at.watchFor(MINUTE);
  expect((await expectConditions(at, [])).alarms).toEqual([]);
  expect(at.alarms()).toHaveLength(2);
});

test("a supervisor that answers but refuses a transaction is shown with its reason", async () => {
  const at = await openFaces();
  const refuse = () => {
    throw new IpcError("refused", "supervisor answered 500: the disk is full", { status: 500 });
  };
  at.at.supervisor.refuse = refuse;
  const paid = at.at.orders.pay(request("A-1"));
  await expect.poll(() => at.at.handOff.trouble?.pending).toBe(1);
  await at.watchFor(2 * MINUTE);
  await paid;
  const health = await expectConditions(at, ["hand-over-failing"]);
  expect(health.troubles[0].says).toMatch(/: 1 \(supervisor answered 500: the disk is full\)$/);
  expect(at.alarms()).toEqual(["hand-over-failing"]);
  at.at.supervisor.refuse = () => {};
  await at.at.clock.advance(MINUTE);
  await at.watchFor(MINUTE);
  expect((await expectConditions(at, [])).alarms).toEqual([]);
});

test("an order that the gateway may have twice is shown until it has named both", async () => {
  const gateway = await sandbox({
    faults: [{ kind: "reset-after-commit", times: 1 }, { kind: "lookup-refused" }],
  });
  const at = await openFaces({ url: gateway.url });
  at.rig.forwarder.start();
  const id = at.rig.handOver("A-1");
  expect(await at.rig.tries(id, 1)).toEqual(["lost-answer"]);
  await at.watchFor(0);
  await expectConditions(at, []);
  const figures = async () =>
    (await at.faces()).metrics.filter((line) =>
      /^connector_(outbox_in_doubt|gateway_(possible_copies|ambiguous_sends)) /.test(line),
    );
  expect(await figures()).toEqual([
    "connector_outbox_in_doubt 1",
    "connector_gateway_possible_copies 0",
    "connector_gateway_ambiguous_sends 1",
  ]);
  await at.rig.advanceInSteps(20_000, () => at.rig.store.counts().pending === 0);
  expect(gateway.orders()).toHaveLength(2);
  await at.at.clock.advance(26 * HOUR);
  await at.watchFor(MINUTE);
  const health = await expectConditions(at, ["order-copies"]);
  expect(health.warnings[0]).toMatch(
    /^Orders that the gateway may have received more than once: 1 -> /,
  );
  expect(health.outbox.ambiguous).toEqual({ sends: 1, inDoubt: 0, possibleCopies: 1 });
  expect(await figures()).toEqual([
    "connector_outbox_in_doubt 0",
    "connector_gateway_possible_copies 1",
    "connector_gateway_ambiguous_sends 1",
  ]);
  expect(at.alarms()).toEqual(["gateway-order-ambiguous"]);
  for (const { transactionPublicId } of gateway.orders()) {
    at.rig.operationStore.learnId(transactionPublicId, id, "notification", at.rig.clock.now());
  }
  await at.watchFor(MINUTE);
  await expectConditions(at, []);
});

test("a lookup that refuses our credentials raises one alarm until it answers", async () => {
  const gateway = await sandbox({
    faults: [{ kind: "reset-before-commit" }, { kind: "lookup-refused", status: 401 }],
  });
  const at = await openFaces({ url: gateway.url });
  at.rig.forwarder.start();
  const id = at.rig.handOver("A-1");
  await at.rig.tries(id, 1);
  for (let minute = 0; minute < 60; minute++) {
    await at.rig.advanceInSteps(20_000, () => at.rig.clock.monotonicMs() >= minute * MINUTE);
    await at.watchFor(0);
  }
  const health = await expectConditions(at, ["lookup-refused", "queue-old", "order-copies"]);
  expect(health.warnings[0]).toMatch(/GATEWAY_API_KEY/);
  expect(at.alarms().filter((alarm) => alarm === "gateway-lookup-refused")).toHaveLength(1);
  gateway.clearFaults();
  await at.rig.advanceInSteps(20_000, () => at.rig.store.counts().pending === 0);
  await at.watchFor(MINUTE);
  expect((await at.faces()).measured).not.toContain("lookup-refused");
});

test("an operation with an unknown end is shown until an operator settles it", async () => {
  const at = await openFaces();
  const { rig } = at;
  const asked = {
    kind: "refund",
    transactionPublicId: "5CF62325CB217655",
    amountMinor: null,
    operationId: "0d5c9a3c-9f0e-4a41-9b1c-000000000009",
    currency: "EUR",
    exponent: 2,
  } as const;
  rig.operationStore.begin(asked, rig.clock.now());
  rig.operations.start(); // the process that sent it is gone
  await at.watchFor(0);
  await expectConditions(at, ["operations-unknown"]);
  rig.operationStore.settle(asked.operationId, "done", "operator", "found");
  await at.watchFor(MINUTE);
  await expectConditions(at, []);
});
