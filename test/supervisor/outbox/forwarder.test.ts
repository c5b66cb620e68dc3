import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { PROBE_INTERVAL_MS } from "../../../src/supervisor/outbox/retry-policy.ts";
import {
  accepted,
  type Behaviour,
  RecordingGateway,
  refusedCredentials,
  refusedOrder,
} from "../recording-gateway.ts";
import { openRig, PASSWORD } from "../supervisor-rig.ts";

const SECOND = 1_000;
const HOUR = 60 * 60 * SECOND;
const unavailable: Behaviour = { status: 503 };
const serverError: Behaviour = { status: 500 };

test("a new transaction is tried at once and sent", async () => {
  const rig = await openRig();
  rig.forwarder.start();
  const id = rig.handOver("a");
  expect(await rig.tries(id, 1)).toEqual(["sent"]);
  expect(rig.store.delivery(id)).toEqual({
    state: "sent",
    firstTryEnded: true,
    ambiguous: false,
  });
  expect(rig.server.references).toEqual(["a"]);
});

test("a sent transaction is never sent again", async () => {
  const rig = await openRig();
  rig.forwarder.start();
  await rig.tries(rig.handOver("a"), 1);
  await rig.clock.advance(48 * HOUR);
  expect(rig.server.references).toEqual(["a"]);
});

test("the payment page is kept in the database and nowhere else", async () => {
  const rig = await openRig();
  rig.forwarder.start();
  const id = rig.handOver("a");
  await rig.tries(id, 1);
  await rig.stop();
  expect(readFileSync(rig.path, "latin1") + readFileSync(rig.path, "latin1")).toContain(
    "https://pay.gateway.test/index/ws/id/",
  );
  expect(JSON.stringify(rig.lines)).not.toContain("pay.gateway.test");
});

test("answers without a result are retried with doubling delays", async () => {
  const rig = await openRig();
  rig.server.behave = () => ({ status: 400 });
  rig.forwarder.start();
  const id = rig.handOver("a");
  await rig.tries(id, 1);
  for (const [i, delayMs] of [1, 2, 4, 8, 16, 32, 64, 128, 256, 450, 450].entries()) {
    await rig.clock.advance(delayMs * SECOND - 1);
    expect(rig.store.attempts(id)).toHaveLength(i + 1);
    await rig.clock.advance(1);
    await rig.tries(id, i + 2);
  }
  rig.server.behave = () => accepted;
  await rig.clock.advance(450 * SECOND);
  expect((await rig.tries(id, 13)).at(-1)).toBe("sent");
});

test("a gateway that is gone is tried with doubling delays, by the oldest item alone", async () => {
  const server = await RecordingGateway.start();
  const rig = await openRig({ server });
  await server.stop();
  rig.forwarder.start();
  const first = rig.handOver("a");
  await rig.tries(first, 1);
  const second = rig.handOver("b");
  await rig.tries(second, 1);
  // The first failure makes the queue wait half of 2 s. After that only the oldest is tried.
  for (const [i, delayMs] of [1, 2, 4, 8, 16].entries()) {
    await rig.clock.advance(delayMs * SECOND - 1);
    expect(rig.store.attempts(first)).toHaveLength(i + 1);
    await rig.clock.advance(1);
    await rig.tries(first, i + 2);
  }
  expect(rig.store.attempts(second)).toHaveLength(1);
  expect(new Set(await rig.tries(first, 6))).toEqual(new Set(["unreachable"]));
});

test("after an outage everything is sent at once, oldest first", async () => {
  const server = await RecordingGateway.start();
  const port = Number(new URL(server.url).port);
  const rig = await openRig({ server });
  await server.stop();
  rig.forwarder.start();
  for (const order of ["a", "b", "c", "d", "e"]) {
    await rig.tries(rig.handOver(order), 1);
    await rig.clock.advance(10);
  }
  const back = await RecordingGateway.start(port);
  await rig.advanceInSteps(SECOND, () => back.requests.length > 0);
  await rig.drained();
  expect(back.references).toEqual(["a", "b", "c", "d", "e"]);
});

test("a new transaction that gets through ends the queue's wait", async () => {
  const server = await RecordingGateway.start();
  const port = Number(new URL(server.url).port);
  const rig = await openRig({ server });
  await server.stop();
  rig.forwarder.start();
  const first = rig.handOver("a");
  await rig.tries(first, 1);
  const back = await RecordingGateway.start(port);
  await rig.tries(rig.handOver("b"), 1);
  await rig.drained();
  expect(back.references).toEqual(["b", "a"]);
});

test("an item that always fails never keeps the others back", async () => {
  const rig = await openRig();
  rig.server.behave = ({ reference }) => (reference === "bad" ? "reset" : accepted);
  rig.forwarder.start();
  const bad = rig.handOver("bad");
  await rig.tries(bad, 1);
  for (let i = 0; i < 20; i++) {
    const good = rig.handOver(`good ${i}`);
    expect(await rig.tries(good, 1)).toEqual(["sent"]);
    await rig.clock.advance(60 * SECOND);
    await rig.tries(bad, 1);
  }
  expect(rig.store.delivery(bad)?.state).toBe("pending");
  expect(rig.store.counts().sent).toBe(20);
});

test("many items that always fail leave turns for the others in the queue", async () => {
  const rig = await openRig();
  rig.server.behave = () => refusedCredentials;
  rig.forwarder.start();
  await rig.tries(rig.handOver("first"), 1); // pauses: what follows waits in the queue
  for (let i = 0; i < 30; i++) rig.handOver(`bad ${i}`);
  rig.handOver("good");
  rig.server.behave = ({ reference }) => (reference.startsWith("bad") ? serverError : accepted);
  rig.forwarder.resume();
  await expect.poll(() => rig.store.counts().sent).toBe(2);
  expect(rig.server.references.indexOf("good")).toBe(32);
});

test("HTTP 503 makes the item wait as long as Retry-After asks", async () => {
  const rig = await openRig();
  rig.server.behave = () => ({ status: 503, headers: { "retry-after": "3600" } });
  rig.forwarder.start();
  const id = rig.handOver("a");
  await rig.tries(id, 1);
  rig.server.behave = () => accepted;
  await rig.clock.advance(HOUR - 1);
  expect(rig.server.requests).toHaveLength(1);
  await rig.clock.advance(1);
  expect(await rig.tries(id, 2)).toEqual(["unavailable", "sent"]);
});

test("Retry-After as a date is honoured too", async () => {
  const rig = await openRig();
  const date = new Date(rig.clock.now() + 600 * SECOND).toUTCString();
  rig.server.behave = () => ({ status: 503, headers: { "retry-after": date } });
  rig.forwarder.start();
  const id = rig.handOver("a");
  await rig.tries(id, 1);
  rig.server.behave = () => accepted;
  await rig.clock.advance(600 * SECOND - 1);
  expect(rig.server.requests).toHaveLength(1);
  await rig.clock.advance(1);
  expect(await rig.tries(id, 2)).toEqual(["unavailable", "sent"]);
});

describe("a lost answer", () => {
  test("marks try and item as ambiguous; not found twice, the order is sent again", async () => {
    const rig = await openRig();
    rig.server.behave = () => "reset";
    rig.forwarder.start();
    const id = rig.handOver("a");
    await rig.tries(id, 1);
    rig.server.behave = () => accepted;
    await rig.advanceInSteps(SECOND, () => rig.server.lookups.length === 1);
    await rig.clock.advance(59 * SECOND);
    expect(rig.server.requests).toHaveLength(1);
    await rig.advanceInSteps(SECOND, () => rig.server.lookups.length === 2);
    expect(await rig.tries(id, 2)).toEqual(["lost-answer", "sent"]);
    expect(rig.store.attempts(id).map(({ ambiguous }) => ambiguous)).toEqual([true, false]);
    expect(rig.store.delivery(id)).toMatchObject({ state: "sent", ambiguous: true });
    expect(rig.server.references).toEqual(["a", "a"]);
  });

  test("by time-out is recorded when GATEWAY_TIMEOUT is over", async () => {
    const rig = await openRig();
    rig.server.behave = () => "hang";
    rig.forwarder.start();
    const id = rig.handOver("a");
    await expect.poll(() => rig.server.requests).toHaveLength(1);
    await rig.clock.advance(30 * SECOND - 1);
    expect(rig.store.attempts(id)).toEqual([]);
    await rig.clock.advance(1);
    expect(await rig.tries(id, 1)).toEqual(["answer-timeout"]);
    expect(rig.store.delivery(id)).toMatchObject({ state: "pending", ambiguous: true });
    expect(rig.store.attempts(id)[0]).toMatchObject({ ambiguous: true, httpStatus: null });
  });

  test("is never the class of a refused connection", async () => {
    const rig = await openRig();
    await rig.server.stop();
    rig.forwarder.start();
    const id = rig.handOver("a");
    expect(await rig.tries(id, 1)).toEqual(["unreachable"]);
    expect(rig.store.delivery(id)?.ambiguous).toBe(false);
  });
});

describe("a refused order", () => {
  test("is parked with an alarm and its reason, and the others go on", async () => {
    const rig = await openRig();
    rig.server.behave = ({ reference }) => (reference === "bad" ? refusedOrder : accepted);
    rig.forwarder.start();
    const bad = rig.handOver("bad");
    const good = rig.handOver("good");
    expect(await rig.tries(bad, 1)).toEqual(["order-refused"]);
    expect(await rig.tries(good, 1)).toEqual(["sent"]);
    expect(rig.store.delivery(bad)?.state).toBe("parked");
    expect(rig.alarms()).toEqual(["transaction-parked"]);
    expect(rig.lines.find((line) => line["alarm"])).toMatchObject({
      level: "error",
      orderId: "bad",
      transactionId: bad,
      code: 3,
      description: "amount invalid",
    });
    await rig.clock.advance(48 * HOUR);
    expect(rig.server.references).toEqual(["bad", "good"]);
  });

  test("that does not fit the fields is parked without having been sent", async () => {
    const rig = await openRig();
    rig.forwarder.start();
    const id = rig.handOver("a\u0007b");
    expect(await rig.tries(id, 1)).toEqual(["unsendable"]);
    expect(rig.store.delivery(id)?.state).toBe("parked");
    expect(rig.alarms()).toEqual(["transaction-parked"]);
    expect(rig.server.requests).toEqual([]);
  });
});

test("a stored transaction that cannot be read is parked and keeps nobody back", async () => {
  const rig = await openRig();
  await rig.server.stop();
  const ids = [rig.handOver("damaged"), rig.handOver("strange"), rig.handOver("good")];
  for (const id of ids) await rig.tries(id, 1);
  const damage = rig.database.prepare(`UPDATE transactions SET content = ? WHERE order_id = ?`);
  damage.run("{broken", "damaged");
  damage.run("{}", "strange");
  rig.forwarder.start();
  await rig.advanceInSteps(SECOND, () => rig.store.counts().parked === 2);
  expect(ids.map((id) => rig.store.delivery(id)?.state)).toEqual(["parked", "parked", "pending"]);
  expect(rig.alarms()).toEqual(["transaction-parked", "transaction-parked"]);
});

test("an answer without a result for a whole day parks the item with an alarm", async () => {
  const rig = await openRig();
  rig.server.behave = () => serverError;
  rig.forwarder.start();
  const id = rig.handOver("a");
  await rig.tries(id, 1);
  const startMs = rig.clock.now();
  const elapsedMs = () => rig.clock.now() - startMs;
  // Shorter than GATEWAY_TIMEOUT: a step that ends in the middle of a try is no time-out.
  await rig.advanceInSteps(25 * SECOND, () => rig.store.delivery(id)?.state !== "pending");
  expect(elapsedMs()).toBeLessThan(25 * HOUR);
  expect(elapsedMs()).toBeGreaterThanOrEqual(24 * HOUR);
  expect(rig.store.delivery(id)?.state).toBe("parked");
  expect(rig.alarms()).toEqual(["transaction-parked"]);
});

describe("refused credentials", () => {
  test("pause the queue with an alarm: new transactions wait without a try", async () => {
    const rig = await openRig();
    rig.server.behave = () => refusedCredentials;
    rig.forwarder.start();
    const first = rig.handOver("a");
    expect(await rig.tries(first, 1)).toEqual(["credentials-refused"]);
    expect(rig.forwarder.paused).toMatch(/GATEWAY_LOGIN and GATEWAY_PWD: Bad password for login/);
    expect(rig.alarms()).toEqual(["gateway-credentials-refused"]);
    rig.handOver("b");
    await rig.clock.advance(PROBE_INTERVAL_MS - 1);
    expect(rig.server.references).toEqual(["a"]);
    expect(rig.store.counts()).toMatchObject({ pending: 2, parked: 0 });
  });

  test("are probed once an hour by the oldest item, and good ones end the pause", async () => {
    const rig = await openRig();
    rig.server.behave = () => refusedCredentials;
    rig.forwarder.start();
    const first = rig.handOver("a");
    await rig.tries(first, 1);
    rig.handOver("b");
    await rig.clock.advance(PROBE_INTERVAL_MS);
    await rig.tries(first, 2);
    await rig.clock.advance(PROBE_INTERVAL_MS - 1);
    expect(rig.server.references).toEqual(["a", "a"]);
    rig.server.behave = () => accepted;
    await rig.clock.advance(1);
    await rig.drained();
    expect(rig.server.references).toEqual(["a", "a", "a", "b"]);
    expect(rig.forwarder.paused).toBeNull();
  });

  test("are probed again soon, but never in a loop, when a probe learns nothing", async () => {
    const rig = await openRig();
    rig.server.behave = () => refusedCredentials;
    rig.forwarder.start();
    const id = rig.handOver("a");
    await rig.tries(id, 1);
    rig.server.behave = () => "reset";
    await rig.clock.advance(PROBE_INTERVAL_MS);
    await rig.tries(id, 2);
    expect(rig.forwarder.paused).not.toBeNull();
    await rig.clock.advance(59 * SECOND);
    expect(rig.server.requests).toHaveLength(2);
    rig.server.behave = () => accepted;
    await rig.advanceInSteps(SECOND, () => rig.server.requests.length === 3);
    expect(await rig.tries(id, 3)).toEqual(["credentials-refused", "lost-answer", "sent"]);
  });

  test("end with an operator's decision", async () => {
    const rig = await openRig();
    rig.server.behave = () => refusedCredentials;
    rig.forwarder.start();
    const id = rig.handOver("a");
    await rig.tries(id, 1);
    rig.server.behave = () => accepted;
    rig.forwarder.resume();
    await rig.drained();
    expect(rig.forwarder.paused).toBeNull();
  });

  test("are tried again after a restart, when the configuration may be another one", async () => {
    const before = await openRig();
    before.server.behave = () => refusedCredentials;
    before.forwarder.start();
    const id = before.handOver("a");
    await before.tries(id, 1);
    await before.stop();
    before.server.behave = () => accepted;
    const after = await openRig({ path: before.path, server: before.server });
    after.forwarder.start();
    expect(await after.tries(id, 2)).toEqual(["credentials-refused", "sent"]);
  });
});

test("a wrong address raises one alarm and is retried for ever", async () => {
  const rig = await openRig();
  rig.server.behave = () => ({ status: 301, headers: { location: "https://elsewhere.test/" } });
  rig.forwarder.start();
  const id = rig.handOver("a");
  await rig.tries(id, 1);
  for (let i = 2; i < 6; i++) {
    await rig.clock.advance(15 * 60 * SECOND);
    await rig.tries(id, i);
  }
  expect(rig.alarms()).toEqual(["gateway-misconfigured"]);
  expect(rig.store.delivery(id)?.state).toBe("pending");
});

test("a burst of transactions starts a few tries at once, and every one is sent", async () => {
  const rig = await openRig();
  rig.server.behave = () => "hang";
  rig.forwarder.start();
  for (let i = 0; i < 50; i++) rig.handOver(`order ${i}`);
  // All of them hang: those tried at once, and the one of the runner.
  const atOnce = 4 + 1; // IMMEDIATE_TRIES_MAX, and one more
  await expect.poll(() => rig.server.requests).toHaveLength(atOnce);
  await rig.clock.advance(29 * SECOND);
  expect(rig.server.requests).toHaveLength(atOnce);
  rig.server.behave = () => accepted;
  await rig.clock.advance(SECOND);
  await rig.advanceInSteps(SECOND, () => rig.store.counts().pending === 0);
  expect(rig.store.counts().sent).toBe(50);
  expect(rig.server.requests).toHaveLength(50 + atOnce);
});

test("a stop lets running tries end, and the next start goes on where it ended", async () => {
  const rig = await openRig();
  rig.server.behave = () => "hang";
  rig.forwarder.start();
  const id = rig.handOver("a");
  await expect.poll(() => rig.server.requests).toHaveLength(1);
  await rig.stop();
  rig.server.behave = () => accepted;
  const after = await openRig({ path: rig.path, server: rig.server });
  expect(after.store.attempts(id)).toMatchObject([{ class: "interrupted", ambiguous: true }]);
  after.forwarder.endInterrupted();
  after.forwarder.start();
  await after.advanceInSteps(SECOND, () => rig.server.requests.length === 2);
  expect(rig.server.lookups).toHaveLength(2);
  expect(await after.tries(id, 2)).toEqual(["interrupted", "sent"]);
});

test("a stop before the queue's turn loses nothing", async () => {
  const server = await RecordingGateway.start();
  const port = Number(new URL(server.url).port);
  const rig = await openRig({ server });
  await server.stop();
  rig.forwarder.start();
  const id = rig.handOver("a");
  await rig.tries(id, 1);
  await rig.stop();
  const back = await RecordingGateway.start(port);
  const after = await openRig({ path: rig.path, server: back });
  after.forwarder.start();
  expect(await after.tries(id, 2)).toEqual(["unreachable", "sent"]);
});

test("a clock that jumps back for years delays nothing", async () => {
  const rig = await openRig();
  rig.server.behave = () => unavailable;
  rig.forwarder.start();
  const id = rig.handOver("a");
  await rig.tries(id, 1);
  rig.clock.jumpWallClock(-5 * 365 * 24 * HOUR);
  rig.server.behave = () => accepted;
  await rig.clock.advance(60 * SECOND);
  expect(await rig.tries(id, 2)).toEqual(["unavailable", "sent"]);
});

test("no log line and no database holds the password", async () => {
  const rig = await openRig();
  rig.server.behave = () => ({ status: 400, body: `<p>${PASSWORD}</p>` });
  rig.forwarder.start();
  await rig.tries(rig.handOver("a"), 1);
  rig.server.behave = () => refusedCredentials;
  await rig.tries(rig.handOver("b"), 1);
  await rig.stop();
  expect(rig.lines.length).toBeGreaterThan(3);
  expect(JSON.stringify(rig.lines)).not.toContain(PASSWORD);
  expect(readFileSync(rig.path, "latin1")).not.toContain(PASSWORD);
});
