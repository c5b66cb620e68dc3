import { expect, test } from "vitest";
import { ConditionWatch } from "../../../src/shared/catalog/condition-watch.ts";
import { conditionsOf, conditionText } from "../../../src/shared/catalog/conditions.ts";
import { supervisorMessages, tpManagerMessages } from "../../../src/shared/ipc/contract.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { recordingLog } from "../../support/house/recording-log.ts";

/** How often the watch checks by itself (docs/design.md 8.8). */
const CHECK_EVERY_MS = 10_000;
const ALARM_AFTER_MS = 60_000;
const QUEUE_OLD_MS = 10 * 60_000;
/** An answer of the previous version: without the members that report conditions. */
const older = {
  program: "supervisor",
  version: "0.0.9",
  pid: 1,
  uptimeMs: 1,
  outbox: { pending: 3, parked: 2, sent: 0, oldestAgeMs: QUEUE_OLD_MS + 1, paused: "refused" },
};
const names = (facts: Parameters<typeof conditionsOf>[0]) =>
  conditionsOf(facts).map(({ name }) => name);

test("conditions of a supervisor of the previous version are found from its counts", () => {
  const supervisor = supervisorMessages.status.response.parse(older);
  const conditions = conditionsOf({ supervisor, tpManager: undefined });
  expect(conditions.map(({ name, sinceMs }) => [name, sinceMs])).toEqual([
    ["credentials-refused", null],
    ["queue-old", null],
    ["transactions-parked", null],
  ]);
  expect(conditionText(conditions[2] as never)).toMatch(
    /^Parked transactions, .*: 2 -> Open “In doubt” .* GET \/outbox/,
  );
});

test("exactly ten minutes are no condition, and a program that was not asked has none", () => {
  const outbox = { pending: 1, parked: 0, sent: 0, oldestAgeMs: QUEUE_OLD_MS, paused: null };
  const supervisor = supervisorMessages.status.response.parse({ ...older, outbox });
  expect(names({ supervisor, tpManager: {} })).toEqual([]);
  expect(names({ supervisor: undefined, tpManager: undefined })).toEqual([]);
  expect(names({ supervisor: null, tpManager: {} })).toEqual(["supervisor-silent"]);
});

test("orders that the gateway may have twice are a condition", () => {
  const ambiguous = { sends: 7, inDoubt: 1, possibleCopies: 2 };
  const outbox = { pending: 0, parked: 0, sent: 2, oldestAgeMs: null, paused: null, ambiguous };
  const supervisor = supervisorMessages.status.response.parse({ ...older, outbox });
  expect(conditionsOf({ supervisor, tpManager: {} })).toMatchObject([
    {
      name: "order-copies",
      count: 2,
      says: "Orders that the gateway may have received more than once: 2",
    },
  ]);
});

test("a tp-manager of the previous version reports no conditions", () => {
  const status = {
    program: "tp-manager",
    version: "0.0.9",
    pid: 1,
    uptimeMs: 1,
    port: 8765,
    terminal: { link: "connected", problem: null, terminalId: "", status: "ready" },
    payments: { running: 0, inDoubt: 0, notHandedOver: 1 },
  };
  const tpManager = tpManagerMessages.status.response.parse(status);
  expect(names({ supervisor: undefined, tpManager })).toEqual([]);
});

function watched() {
  const facts = { silent: true, broken: false };
  const clock = new TestClock();
  const { log, lines } = recordingLog();
  const read = () => {
    if (facts.broken) throw new Error("the disk");
    return conditionsOf({ supervisor: facts.silent ? null : undefined, tpManager: {} });
  };
  const watch = new ConditionWatch({ by: "tp-manager", read, clock, log });
  const alarms = () => lines.filter((line) => line.includes('"alarm":"supervisor-silent"')).length;
  return { facts, clock, watch, lines, alarms };
}

test("a short absence raises no alarm, a long one raises one, a second one another", async () => {
  const { facts, clock, watch, alarms, lines } = watched();
  watch.start();
  await clock.advance(ALARM_AFTER_MS);
  facts.silent = false;
  await clock.advance(2 * CHECK_EVERY_MS);
  expect(alarms()).toBe(0);
  facts.silent = true;
  await clock.advance(30 * 3_600_000);
  expect(alarms()).toBe(1);
  facts.silent = false;
  await clock.advance(CHECK_EVERY_MS);
  expect(lines.filter((line) => line.includes("hindered the kiosk has ended"))).toHaveLength(2);
  facts.silent = true;
  await clock.advance(2 * ALARM_AFTER_MS);
  expect(alarms()).toBe(2);
  await watch.close();
  expect(clock.running).toEqual([]);
});

test("facts that cannot be read end neither the watch nor a condition", async () => {
  const { facts, clock, watch, alarms } = watched();
  watch.start();
  await clock.advance(2 * ALARM_AFTER_MS);
  facts.broken = true;
  await clock.advance(2 * ALARM_AFTER_MS);
  facts.broken = false;
  await clock.advance(2 * ALARM_AFTER_MS);
  expect(alarms()).toBe(1);
  await watch.close();
});
