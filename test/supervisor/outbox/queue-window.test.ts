import { expect, test } from "vitest";
import { faultTable, type TryClass } from "../../../src/supervisor/gateway/fault-table.ts";
import type { Verdict } from "../../../src/supervisor/gateway/faults.ts";
import { QueueWindow, WINDOW_MAX } from "../../../src/supervisor/outbox/queue-window.ts";
import { decide, PROBE_INTERVAL_MS } from "../../../src/supervisor/outbox/retry-policy.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { recordingLog } from "../../support/house/recording-log.ts";
import { accepted, type Behaviour, refusedCredentials } from "../recording-gateway.ts";
import { sampleTransaction } from "../sample-transaction.ts";
import { openRig } from "../supervisor-rig.ts";

const WINDOW_DOUBLES_AFTER = 8;

function openWindow() {
  const clock = new TestClock();
  const { log, lines } = recordingLog();
  const queue = new QueueWindow(clock, log);
  const learn = (tryClass: TryClass, times = 1): void => {
    const history = { failures: 0, noResultSinceMs: null, noResultTries: 0 };
    const circumstances = { nowMs: 0, retryAfterMs: null, resends: 0, slot: 0, random: () => 0.5 };
    for (let i = 0; i < times; i++) {
      const verdict: Verdict = {
        class: tryClass,
        httpStatus: 200,
        code: 0,
        description: "",
        retryAfter: null,
        fields: new Map(),
      };
      const now = { ...circumstances, queueFailures: queue.failures };
      queue.learn(queue.begin(), verdict, decide(faultTable[tryClass], history, now));
    }
  };
  return { queue, clock, learn, lines };
}

test("the window doubles while everything is answered with results, up to its limit", () => {
  const { queue, learn } = openWindow();
  const windows = [queue.size];
  for (let i = 0; i < 5; i++) {
    learn("sent", WINDOW_DOUBLES_AFTER - 1);
    expect(queue.size).toBe(windows.at(-1));
    learn("order-refused"); // a result as well
    windows.push(queue.size);
  }
  expect(windows).toEqual([1, 2, 4, WINDOW_MAX, WINDOW_MAX, WINDOW_MAX]);
});

test.each(["unreachable", "lost-answer", "unavailable", "server-error", "soap-fault"] as const)(
  "after %s the queue goes on one by one",
  async (failure) => {
    const { queue, clock, learn } = openWindow();
    learn("sent", 4 * WINDOW_DOUBLES_AFTER);
    learn(failure);
    await clock.advance(60_000);
    expect(queue.size).toBe(1);
    learn("sent", WINDOW_DOUBLES_AFTER - 1);
    expect(queue.size).toBe(1);
    learn("sent");
    expect(queue.size).toBe(2);
  },
);

test("of several tries that meet refused credentials together one raises the alarm", async () => {
  const { queue, clock, learn, lines } = openWindow();
  learn("credentials-refused", 5);
  expect(queue.size).toBe(0);
  expect(lines.filter((line) => line.includes('"alarm"'))).toHaveLength(1);
  await clock.advance(PROBE_INTERVAL_MS);
  expect(queue.size).toBe(1);
  learn("credentials-refused");
  expect(lines.filter((line) => line.includes('"alarm"'))).toHaveLength(2);
  expect(queue.heldMs).toBe(PROBE_INTERVAL_MS);
});

test("tries that fail together make the queue wait once", () => {
  const { queue, learn } = openWindow();
  learn("unreachable", 5);
  expect(queue.failures).toBe(1);
  expect(queue.heldMs).toBe(1_000);
});

test("a backlog goes out several at a time, and from the first failure on one by one", async () => {
  const rig = await openRig();
  const { requests } = rig.server;
  const answered = 3 * WINDOW_DOUBLES_AFTER;
  rig.server.behave = () => (requests.length <= answered ? accepted : "hang");
  for (let i = 0; i < 60; i++) {
    rig.store.add(sampleTransaction({ orderId: `order ${i}` }), rig.clock.now());
  }
  rig.forwarder.start();
  const full = answered + WINDOW_MAX;
  await expect.poll(() => requests).toHaveLength(full);
  await rig.clock.advance(29_000);
  expect(requests).toHaveLength(full);
  // All of those under way time out; the queue waits half of 2 s, then a single one goes.
  await rig.clock.advance(1_999);
  expect(requests).toHaveLength(full);
  await rig.clock.advance(1);
  await expect.poll(() => requests).toHaveLength(full + 1);
  await rig.clock.advance(10_000);
  expect(requests).toHaveLength(full + 1);
  expect(rig.store.counts()).toMatchObject({ sent: answered, pending: 60 - answered });
});

const tooMany: Behaviour = { status: 429, headers: { "retry-after": "60" } };

test.each([
  ["asks for a minute", tooMany, 59_999],
  ["refuses the credentials", refusedCredentials, PROBE_INTERVAL_MS - 1],
] as const)(
  "a gateway that %s is left alone, although others that were under way got through",
  async (_what, refusal, quietMs) => {
    const rig = await openRig();
    const { requests } = rig.server;
    const full = 3 * WINDOW_DOUBLES_AFTER + 2 * WINDOW_MAX;
    const [first, others] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // The window is full of tries under way; the first of them is refused, then the others pass.
    rig.server.behave = async () => {
      const position = requests.length - (full - WINDOW_MAX);
      if (position === 1) await first.promise;
      if (position > 1) await others.promise;
      return position === 1 ? refusal : accepted;
    };
    for (let i = 0; i < 60; i++) {
      rig.store.add(sampleTransaction({ orderId: `order ${i}` }), rig.clock.now());
    }
    rig.forwarder.start();
    await expect.poll(() => requests.length).toBeGreaterThan(full - WINDOW_MAX / 2);
    first.resolve();
    const isLogged = () => rig.lines.some(({ level }) => level === "warn" || level === "error");
    await expect.poll(isLogged).toBe(true);
    const begun = requests.length;
    others.resolve();
    await expect.poll(() => rig.store.counts().sent).toBe(begun - 1);
    await rig.clock.advance(quietMs);
    expect(requests).toHaveLength(begun);
    await rig.clock.advance(1);
    await rig.drained();
    expect(rig.store.counts().sent).toBe(60);
  },
);

test("a try that the gateway answers slowly is overtaken by at most seven others", async () => {
  const rig = await openRig();
  const { requests } = rig.server;
  const grown = 3 * WINDOW_DOUBLES_AFTER;
  for (let i = 0; i < 100; i++) {
    rig.store.add(sampleTransaction({ orderId: `order ${i}` }), rig.clock.now());
  }
  const slow = `order ${grown + 5}`;
  rig.server.behave = ({ reference }) => (reference === slow ? "hang" : accepted);
  rig.forwarder.start();
  await expect.poll(() => rig.server.references).toContain(slow);
  const overtaking = () => rig.store.counts().sent - (grown + 5);
  await expect.poll(overtaking).toBe(WINDOW_MAX - 1);
  await rig.clock.advance(29_000);
  expect(overtaking()).toBe(WINDOW_MAX - 1);
  expect(requests.length - 1 - rig.server.references.indexOf(slow)).toBeLessThan(WINDOW_MAX);
  rig.server.behave = () => accepted;
  await rig.advanceInSteps(1_000, () => rig.store.counts().sent === 100);
});
