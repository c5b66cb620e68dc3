import { expect, test } from "vitest";
import type { BrokerFiles } from "../../../src/supervisor/fleet/broker.ts";
import { fleetDocuments, topicOf } from "../../../src/supervisor/fleet/documents.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { advanceUntil, FLEET_ROUND_MS, KIOSK, openFleet, TRANSACTION } from "./fleet-rig.ts";
import { ScriptedBroker } from "./scripted-broker.ts";

async function connected(options: Partial<Parameters<typeof openFleet>[0]> = {}) {
  const broker = new ScriptedBroker();
  await broker.up();
  const rig = openFleet({ url: broker.url, ...options });
  rig.fleet.start();
  await expect.poll(() => broker.documents("state").length).toBe(1);
  return { broker, ...rig };
}

/** Lets the fleet check for news once, and publish it. */
async function poll(clock: TestClock): Promise<void> {
  await clock.advance(FLEET_ROUND_MS);
}

test("the birth is retained, the connection has a last will, a stop is published", async () => {
  const { broker, stop } = await connected();
  const [connect] = broker.connects;
  expect(connect).toMatchObject({
    protocolVersion: 5,
    clientId: "connector-kiosk-7",
    clean: true,
    keepalive: 24,
    username: "kiosk",
    will: { topic: "connector/1/kiosk-7/state", qos: 1, retain: true },
  });
  expect(JSON.parse(String(connect?.will?.payload))).toMatchObject({
    kiosk: KIOSK,
    connection: "lost",
    now: null,
  });
  const [birth] = broker.published;
  expect(birth).toMatchObject({ topic: "connector/1/kiosk-7/state", qos: 1, retain: true });
  expect(broker.documents("state")[0]).toMatchObject({
    connection: "online",
    now: { canPay: "yes", obstacles: [], terminal: { state: "ready", terminalId: "12345678" } },
  });
  await stop();
  expect(broker.documents("state").at(-1)).toMatchObject({ connection: "stopped", now: null });
  expect(broker.farewells).toEqual([0]);
  expect(broker.wills).toEqual([]);
});

test("a payment is published with outcome, amount and duration, without the customer", async () => {
  const { broker, clock, tpManager, store } = await connected();
  tpManager.payment("running");
  await poll(clock);
  tpManager.payment("charged", { chargedAmountMinor: 1_250 });
  await poll(clock);
  await expect.poll(() => broker.documents("payment")).toHaveLength(1);
  const [payment] = broker.documents("payment");
  expect(payment).toMatchObject({
    transactionId: TRANSACTION,
    outcome: "charged",
    charged: "yes",
    error: null,
    amountMinor: 1_250,
    chargedAmountMinor: 1_250,
    currency: "EUR",
    durationMs: FLEET_ROUND_MS,
  });
  expect(JSON.stringify(payment)).not.toMatch(/Ada|order/);
  const [message] = broker.published.filter(({ topic }) => topic.endsWith("payment"));
  expect(message).toMatchObject({ qos: 1, retain: false });
  const heldBackSeconds = FLEET_ROUND_MS / 1_000;
  expect(message?.properties?.messageExpiryInterval).toBe(7 * 86_400 - heldBackSeconds);
  await expect.poll(() => store.waiting).toBe(0);
});

test("FLEET_PAYMENTS=no publishes no payment, and still counts them", async () => {
  const { broker, clock, tpManager, store } = await connected({ payments: false });
  tpManager.payment("charged");
  await poll(clock);
  expect(store.waiting).toBe(0);
  await advanceUntil(clock, FLEET_ROUND_MS, () => broker.documents("metrics").length > 0);
  expect(broker.documents("payment")).toEqual([]);
  expect(broker.documents("metrics")[0]).toMatchObject({ payments: { charged: 1, declined: 0 } });
});

test("a condition's alarm is raised once and ends; a payment's ends with its outcome", async () => {
  const { broker, clock, tpManager } = await connected();
  const about = { message: "of Ada", orderId: "o-1", transactionId: TRANSACTION };
  tpManager.payment("in-doubt");
  tpManager.emit("alarm", { alarm: "payment-unknown", source: "tp-manager", ...about });
  tpManager.answer = { troubles: { obstacles: [], refusedHandOffs: 2 } };
  await poll(clock);
  await poll(clock);
  tpManager.answer = {};
  tpManager.payment("charged");
  await poll(clock);
  const documents = () => broker.documents("alarm").map(({ phase, alarm }) => `${phase} ${alarm}`);
  await expect
    .poll(documents)
    .toEqual([
      "raised payment-unknown",
      "raised hand-off-refused",
      "ended payment-unknown",
      "ended hand-off-refused",
    ]);
});

test("an unmatched transaction's alarm carries its former name with the new one", async () => {
  const { broker, clock, tpManager, store } = await connected();
  const waits = { obstacles: [], unmatched: { count: 1, sinceMs: 0 } };
  const alarm = { alarm: "unmatched-transaction", source: "tp-manager", message: "of Ada" };
  const nobody = { orderId: null, transactionId: null };
  tpManager.emit("alarm", { ...alarm, formerly: "unexpected-report", ...nobody });
  const held = { ...alarm, formerly: "sale-without-order", finding: "held" };
  const named = { orderId: "o-1", transactionId: TRANSACTION, orders: ["o-1"] };
  for (const about of [nobody, named]) tpManager.emit("alarm", { ...held, ...about });
  tpManager.answer = { troubles: waits };
  await poll(clock);
  tpManager.answer = {};
  await poll(clock);
  const lasting = { alarm: alarm.alarm, formerly: "sale-without-order", transactionId: null };
  const documents = () => broker.documents("alarm");
  await expect.poll(documents).toHaveLength(4);
  expect(documents()).toMatchObject([
    { phase: "raised", alarm: alarm.alarm, formerly: "unexpected-report", transactionId: null },
    { phase: "raised", ...lasting, finding: "held", transactionId: TRANSACTION },
    { phase: "raised", ...lasting },
    { phase: "ended", ...lasting },
  ]);
  expect(JSON.stringify(documents())).not.toMatch(/o-1|Ada/);
  // A version before had raised the alarm by its old name.
  store.raise("sale-without-order", "");
  tpManager.answer = { troubles: waits };
  await poll(clock);
  expect(documents()).toHaveLength(4);
  tpManager.answer = {};
  await poll(clock);
  await expect.poll(documents).toHaveLength(5);
  expect(documents()[4]).toMatchObject({ phase: "ended", alarm: "sale-without-order" });
  expect(documents()[4]).not.toHaveProperty("formerly");
});

test("an end of day and its comparison are published in numbers", async () => {
  const { broker, clock, tpManager } = await connected();
  const applications = [
    { name: "VISA of Ada", status: "ok", count: 2, sumMinor: 700 },
    { name: "girocard", status: "ok", count: 1, sumMinor: 50 },
  ];
  tpManager.emit("end-of-day", { askedBy: "operator", end: "completed", text: "", applications });
  const orderIds = ["of Ada"];
  const compared = { id: 1, kind: "end-of-day", result: "differs", differenceMinor: -50 };
  tpManager.emit("reconciliation", { ...compared, currency: "EUR", orderIds });
  await poll(clock);
  await expect.poll(() => broker.documents("reconciliation")).toHaveLength(2);
  expect(broker.documents("reconciliation")).toMatchObject([
    { kind: "closing", result: "completed", transactions: 3, sumMinor: 750 },
    { kind: "end-of-day", result: "differs", differenceMinor: -50, currency: "EUR" },
  ]);
});

test("a silent tp-manager and a not-ready reason are states, with names only", async () => {
  const { broker, clock, tpManager } = await connected();
  tpManager.answer = "silent";
  await poll(clock);
  const says = { says: "no link to the terminal of Ada", todo: "" };
  const codes = ["TERMINAL_DISCONNECTED", "ONE_OF_A_NEWER_VERSION"];
  tpManager.answer = { troubles: { obstacles: codes.map((code) => ({ code, ...says })) } };
  await poll(clock);
  const documents = () => broker.documents("state").map(({ now }) => now);
  await expect
    .poll(documents)
    .toMatchObject([
      { canPay: "yes" },
      { canPay: "no", obstacles: ["tp-manager-silent"], terminal: null },
      { canPay: "no", obstacles: ["TERMINAL_DISCONNECTED", "other"] },
    ]);
});

test("a broker that is down for hours at the start gets each document once, in order", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  await broker.down();
  const { fleet, clock, tpManager, store, lines } = openFleet({ url: broker.url });
  fleet.start();
  await poll(clock);
  for (let i = 0; i < 60; i++) {
    tpManager.payment("charged", { attempt: i });
    await clock.advance(180_000);
  }
  expect(store.waiting).toBe(60);
  const unreached = lines.filter((line) => line.includes("there is no connection"));
  expect(unreached.length).toBeLessThan(4);
  await broker.up();
  await advanceUntil(clock, 10_000, () => broker.documents("payment").length === 60);
  await expect.poll(() => store.waiting).toBe(0);
  const attempts = broker.documents("payment").map(({ attempt }) => attempt);
  expect(attempts).toEqual(Array.from({ length: 60 }, (_, i) => i));
  const ids = new Set(broker.documents("payment").map(({ id }) => id));
  expect(ids.size).toBe(60);
});

test.each([
  ["refuses the login", { refuse: 0x87 }],
  ["says nothing", { silent: true }],
] as const)(
  "a broker that %s is tried later and later, and reached when it is well",
  async (_, habits) => {
    const broker = new ScriptedBroker();
    await broker.up();
    Object.assign(broker.habits, habits);
    const { fleet, clock } = openFleet({ url: broker.url });
    fleet.start();
    await advanceUntil(clock, 1_000, () => broker.connects.length > 4);
    const untilMs = clock.monotonicMs() + 3_600_000;
    await advanceUntil(clock, 5_000, () => clock.monotonicMs() > untilMs);
    expect(broker.connects.length).toBeLessThan(20);
    Object.assign(broker.habits, { refuse: 0, silent: false });
    await advanceUntil(clock, 5_000, () => broker.documents("state").length > 0);
  },
);

test("a broker that sends no PUBACK is disconnected, and no document is lost", async () => {
  const { broker, clock, tpManager, store } = await connected();
  broker.habits.holdsBack = true;
  tpManager.payment("charged");
  await poll(clock);
  await expect.poll(() => broker.documents("payment").length).toBe(1);
  expect(store.waiting).toBe(1);
  await advanceUntil(clock, 5_000, () => broker.connects.length > 1);
  broker.habits.holdsBack = false;
  await advanceUntil(clock, 5_000, () => store.waiting === 0);
  const ids = broker.documents("payment").map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(1);
  expect(new Set(ids).size).toBe(1);
});

test("no more messages wait for their PUBACK than the broker takes", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  Object.assign(broker.habits, { holdsBack: true, receiveMaximum: 3 });
  const { fleet, clock, tpManager } = openFleet({ url: broker.url });
  fleet.start();
  await poll(clock);
  for (let i = 0; i < 10; i++) tpManager.payment("charged", { attempt: i });
  await poll(clock);
  await expect.poll(() => broker.published.length).toBe(3);
  await poll(clock);
  expect(broker.published.length).toBe(3);
});

test("a twin with the same id raises an alarm, and is not thrown out at once", async () => {
  const { broker, clock, lines, status } = await connected();
  broker.send({ cmd: "disconnect", reasonCode: 0x8e });
  const twin = () => lines.filter((line) => line.includes('"alarm":"fleet-twin"'));
  await expect.poll(() => twin().length).toBe(1);
  expect(twin()[0]).toContain("follow docs/fleet.md 3.5");
  expect(status()?.fault).toMatch(/^another client at the broker has the FLEET_ID .* 3\.5$/);
  await clock.advance(4 * 60_000);
  expect(broker.connects.length).toBe(1);
  await advanceUntil(clock, 10_000, () => broker.connects.length === 2);
});

test("changed certificates: a new connection when no payment runs, nothing is lost", async () => {
  let files = { certificate: undefined, key: undefined, trusted: [] as string[] };
  const rig = await connected({ files: () => files });
  const { broker, clock, tpManager, lines, store } = rig;
  files = { ...files };
  tpManager.answer = { payments: { running: 1, inDoubt: 0, notHandedOver: 0 } };
  await poll(clock);
  await poll(clock);
  tpManager.answer = "slow";
  await poll(clock);
  expect(broker.connects.length).toBe(1);
  tpManager.payment("charged", { attempt: 1 });
  tpManager.answer = {};
  await poll(clock);
  await expect.poll(() => broker.connects.length).toBe(2);
  await expect.poll(() => store.waiting).toBe(0);
  const states = () => broker.documents("state").map(({ connection }) => connection);
  await expect.poll(() => states().slice(-2)).toEqual(["lost", "online"]);
  expect(new Set(broker.documents("payment").map(({ id }) => id)).size).toBe(1);
  await poll(clock);
  expect(broker.connects.length).toBe(2);
  expect([broker.wills, lines.filter((line) => line.includes("fleet-twin"))]).toEqual([[], []]);

  // Without a connection the new ones are tried at once, not after the wait.
  await broker.down();
  await expect.poll(() => lines.some((line) => line.includes("no connection to the"))).toBe(true);
  await broker.up();
  files = { ...files };
  await poll(clock);
  await expect.poll(() => broker.connects.length).toBe(3);
});

test("without usable certificates the kiosk waits, and connects when they are there", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  let files: BrokerFiles | undefined;
  const { fleet, clock, tpManager, store, status } = openFleet({
    url: broker.url,
    files: () => files,
  });
  fleet.start();
  await poll(clock);
  await expect.poll(() => status()?.fault).toContain("certificates");
  tpManager.payment("charged", { attempt: 1 });
  await poll(clock);
  expect([broker.connects.length, store.waiting]).toEqual([0, 1]);
  files = { certificate: undefined, key: undefined, trusted: [] };
  await poll(clock);
  await expect.poll(() => store.waiting).toBe(0);
  expect(broker.documents("payment").length).toBe(1);
});

test("a broker that ends each connection with a reason, or floods, is no twin", async () => {
  const { broker, clock, lines } = await connected();
  const births = () => lines.filter((line) => line.includes("connected to the fleet")).length;
  const denied = { cmd: "disconnect", reasonCode: 0x87 } as const;
  const flood = { cmd: "publish", topic: "a", payload: Buffer.alloc(100_000), qos: 0 } as const;
  for (const [i, packet] of [denied, flood, denied, flood, denied].entries()) {
    await advanceUntil(clock, 1_000, () => broker.connects.length === i + 1);
    await expect.poll(() => births()).toBe(i + 1);
    broker.send({ ...packet, retain: false, dup: false } as never);
    await expect.poll(() => broker.connections).toBe(0);
  }
  await advanceUntil(clock, 1_000, () => broker.connects.length === 6);
  expect(lines.filter((line) => line.includes("fleet-twin"))).toEqual([]);
});

test("a document refused for good is dropped and counted, one without access is kept", async () => {
  const { broker, clock, tpManager, store } = await connected();
  broker.habits.answer = 0x99;
  tpManager.payment("charged", { attempt: 1 });
  await poll(clock);
  await expect.poll(() => store.figure("dropped")).toBe(1);
  broker.habits.answer = 0x87;
  tpManager.payment("charged", { attempt: 2 });
  await poll(clock);
  await advanceUntil(clock, 5_000, () => broker.connects.length > 1);
  expect(store.waiting).toBe(1);
  broker.habits.answer = 0;
  await advanceUntil(clock, 5_000, () => store.waiting === 0);
});

test("a restart continues with what waited, and publishes nothing twice", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  await broker.down();
  const clock = new TestClock();
  const first = openFleet({ url: broker.url, clock });
  first.fleet.start();
  await poll(clock);
  first.tpManager.payment("charged");
  await poll(clock);
  await first.stop();
  await broker.up();
  const second = openFleet({ url: broker.url, clock, path: first.path });
  second.tpManager.events.push(...first.tpManager.events);
  second.fleet.start();
  await expect.poll(() => broker.documents("payment").length).toBe(1);
  await expect.poll(() => second.store.waiting).toBe(0);
  await poll(clock);
  expect(broker.documents("payment").length).toBe(1);
});

test("a full queue drops and counts its oldest documents; others expire after a week", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  await broker.down();
  const { fleet, clock, store } = openFleet({ url: broker.url });
  store.together(() => {
    for (let i = 0; i < 5_010; i++) store.add("payment", clock.now(), { attempt: i });
  });
  expect(store.waiting).toBe(5_000);
  expect(store.figure("dropped")).toBe(10);
  expect(store.after(0, 1)[0]?.content).toEqual({ attempt: 10 });
  clock.jumpWallClock(8 * 86_400_000);
  await broker.up();
  fleet.start();
  await expect.poll(() => store.waiting).toBe(0);
  expect(broker.documents("payment")).toEqual([]);
  expect(store.figure("dropped")).toBe(5_010);
});

test("a connection that falls silent is noticed by the keep-alive", async () => {
  const { broker, clock } = await connected();
  await advanceUntil(clock, 1_000, () => broker.pings > 0);
  broker.habits.silent = true;
  await advanceUntil(clock, 1_000, () => broker.connections === 0);
  expect(broker.wills).toHaveLength(1);
});

test("every document is as its schema says", async () => {
  const { broker, clock, tpManager } = await connected();
  tpManager.payment("charged");
  tpManager.emit("alarm", { alarm: "card-number-masked", message: "", orderId: "1" });
  tpManager.emit("reconciliation", { kind: "receipt-jump", result: "jump" });
  await advanceUntil(clock, FLEET_ROUND_MS, () => broker.documents("metrics").length > 0);
  for (const { topic, payload } of broker.published) {
    const name = topic.split("/").at(-1) as keyof typeof fleetDocuments;
    expect(topic).toBe(topicOf(KIOSK, name));
    fleetDocuments[name].schema.parse(JSON.parse(payload.toString()));
  }
  expect(new Set(broker.published.map(({ topic }) => topic)).size).toBe(5);
});
