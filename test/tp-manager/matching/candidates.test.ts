import { expect, test } from "vitest";
import type { LastTransaction } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { report } from "../../support/terminals/reports.ts";
import { lost, saleReport } from "../../support/terminals/scripted-terminal.ts";

const LIMIT_MS = 180_000;

async function statusOf(at: House, orderId: string): Promise<string> {
  await at.clock.advance(LIMIT_MS + 60_000);
  return at.journal.attempts.decisive(orderId)?.state.phase ?? "never begun";
}

const refuses = { kind: "not-told", why: "it refuses" } as const;

/** A payment whose outcome is lost. `last`: what the terminal shows then. */
async function isLost(
  at: House,
  orderId: string,
  last: LastTransaction = at.terminal.baseline.last,
): Promise<void> {
  at.terminal.last = last;
  at.terminal.script = () => Promise.resolve(lost("the line broke"));
  expect(outcome(await pay(at, request(orderId)))).toBe("Unknown");
}

test("a command whose time limit was over before the next one is no candidate", async () => {
  const at = house();
  await isLost(at, "A-1");
  expect(await statusOf(at, "A-1")).toBe("not-charged");
  await isLost(at, "B-1");
  at.terminal.stores(report({ localTime: timeOf(at) }));
  expect(await statusOf(at, "B-1")).toBe("charged");
});

test("a sale after the next baseline can still belong to an unproved earlier command", async () => {
  const at = house();
  await isLost(at, "A-1", refuses);
  await at.clock.advance(LIMIT_MS + 5_000);
  await isLost(at, "B-1");
  at.terminal.stores(report({ localTime: timeOf(at) }));
  expect(await statusOf(at, "B-1")).toBe("in-doubt");
});

test.each([
  ["minutes", 20 * 60_000],
  ["hours", 5 * 3_600_000],
])("a reversal is a candidate from its own start on, %s after its sale", async (_age, ageMs) => {
  const before = house();
  await pay(before, request("A-1"));
  await before.clock.advance(ageMs);
  before.terminal.stores(saleReport(0));
  before.terminal.reversal = () => new Promise(() => {});
  void before.afterSale.reverse("A-1");
  await before.clock.advance(0);
  before.close();
  const at = house(before.path, undefined, { clock: before.clock });
  at.terminal.last = refuses;
  at.terminal.baseline = before.terminal.baseline;
  at.arbiter.start();
  await at.clock.advance(1_000);
  await isLost(at, "B-1");
  at.terminal.stores(report({ traceNumber: "000077", localTime: timeOf(at) }));
  expect(await statusOf(at, "B-1")).toBe("in-doubt");
});

const timeOf = ({ clock }: House): string =>
  new Date(clock.now()).toTimeString().slice(0, 8).replaceAll(":", "");
