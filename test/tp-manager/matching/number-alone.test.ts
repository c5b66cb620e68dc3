import { expect, test } from "vitest";
import {
  alarms,
  type House,
  house,
  matcherFor,
  outcome,
  pay,
  request,
} from "../../support/house/payment-house.ts";
import { baseline, declined, identity, report } from "../../support/terminals/reports.ts";
import { aborted } from "../../support/terminals/scripted-terminal.ts";
import { ends, HOUR_MS, notReported, sells, stored, textOf, untimed } from "./reported-payments.ts";

const bare = { ...untimed, traceNumber: null };
const ofA = report({ receiptNumber: "0005" });
const lastRecord = report({ receiptNumber: "0005", ...bare });
const refused = { ...aborted, code: "05", reason: "declined" } as const;
const completed = { end: "completed", ticket: "" } as const;
const unsent = { end: "not-sent", code: "", text: "no link" } as const;

function whose({ journal, terminal, clock }: House, record = lastRecord) {
  return textOf(matcherFor(journal, terminal, clock, {}).whose(record, identity));
}

test.each([[1], [13]])(
  "the number of sale A, after declined B and unsent C, is known for hours only: %s h",
  async (hours) => {
    const at = house();
    await sells(at, "A", ofA);
    await at.clock.advance(60_000);
    await ends(at, "B", refused, { reports: [declined()], before: stored(lastRecord) });
    await at.clock.advance(60_000);
    await ends(at, "C", unsent, { before: notReported });
    await at.clock.advance(hours * HOUR_MS);
    expect(whose(at)).toBe(hours === 1 ? "known A" : "none");
  },
);

test("the number of sale A, after declined B, is of no order 13 hours later", async () => {
  const at = house();
  await sells(at, "A", ofA);
  await at.clock.advance(60_000);
  await ends(at, "B", refused, { reports: [declined()], before: stored(lastRecord) });
  await at.clock.advance(13 * HOUR_MS);
  expect(whose(at)).toBe("none");
});

test("a declined order is no candidate for a number that its baseline showed", async () => {
  const at = house();
  await sells(at, "A", ofA);
  await at.clock.advance(60_000);
  await ends(at, "B", refused, { reports: [declined()], before: stored(lastRecord) });
  await at.clock.advance(60_000);
  const sold = report({ amountMinor: 500, receiptNumber: "0006", ...bare });
  const change = { amountMinor: 500 };
  await ends(at, "C", completed, { reports: [sold], before: stored(lastRecord), change });
  await at.clock.advance(13 * HOUR_MS);
  expect(whose(at)).toBe("none");
});

test("a declined order B is not charged by the stored sale of order A", async () => {
  const at = house();
  await sells(at, "A", ofA);
  await at.clock.advance(60_000);
  await ends(at, "B", refused, { reports: [declined()], before: stored(lastRecord) });
  await at.clock.advance(60_000);
  await ends(at, "C", unsent, { before: notReported });
  await at.clock.advance(13 * HOUR_MS);
  at.terminal.baseline = { ...baseline, last: stored(lastRecord) };
  at.terminal.last = stored(lastRecord);
  const before = alarms(at).length;
  at.terminal.script = (_order, observer) => {
    observer.report(report({ amountMinor: 500, receiptNumber: "0006", ...bare }));
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  const paid = await pay(at, request("D", { amountMinor: 500 })).then(outcome, (e) => String(e));
  await at.clock.advance(60_000);
  const latest = at.journal.attempts.decisive("B");
  expect([paid, latest?.state.phase, alarms(at).slice(before)]).toEqual([
    "Success",
    "not-charged",
    [],
  ]);
});

test.each([
  ["never", 0],
  ["after A", 1],
  ["after Q", 2],
])("A's number stored after Q may belong to B, the clock set back %s", async (_when, setBackAt) => {
  const at = house();
  const bareOf = (receiptNumber: string, amountMinor = 999) =>
    report({ receiptNumber, amountMinor, ...bare });
  await sells(at, "A", bareOf("0005"));
  await at.clock.advance(60_000);
  if (setBackAt === 1) at.clock.jumpWallClock(-2 * HOUR_MS);
  await sells(at, "Q", bareOf("0006"), stored(lastRecord));
  await at.clock.advance(60_000);
  if (setBackAt === 2) at.clock.jumpWallClock(-2 * HOUR_MS);
  await ends(at, "B", aborted, { before: notReported });
  await at.clock.advance(60_000);
  expect(whose(at)).toBe("many B: retold");
});

test("the reversal of order A after a sale of order B stays known as A's", async () => {
  const at = house();
  const bareOf = (receiptNumber: string, amountMinor = 999) =>
    report({ receiptNumber, amountMinor, ...bare });
  await sells(at, "A", bareOf("0005"));
  await at.clock.advance(60_000);
  await sells(at, "B", bareOf("0006", 500), stored(lastRecord));
  await at.clock.advance(60_000);
  at.terminal.baseline = { ...baseline, last: stored(bareOf("0006", 500)) };
  at.terminal.reversal = (_order, observer) => {
    observer.report(bareOf("0007"));
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  const attempt = at.journal.attempts.decisive("A");
  if (!attempt) throw new Error("A is not in the journal");
  await at.arbiter.commands.reverse("A", () => ({ attempt, reversedBefore: null }));
  await at.clock.advance(60_000);
  expect(at.journal.attempts.decisive("A")?.state.phase).toBe("reversed");
  expect(whose(at, bareOf("0007"))).toBe("known A");
});

test("no command is sent for B while A's number is stored and the clock was set back", async () => {
  const at = house();
  await sells(at, "A", report({ receiptNumber: "0005", ...bare }));
  await at.clock.advance(60_000);
  at.clock.jumpWallClock(-2 * HOUR_MS);
  const ofQ = report({ receiptNumber: "0006", ...bare });
  await sells(at, "Q", ofQ, stored(lastRecord));
  await at.clock.advance(60_000);
  await ends(at, "B", aborted, { before: stored(ofQ) });
  at.terminal.last = stored(lastRecord);
  let commands = 0;
  at.terminal.baseline = { ...baseline, last: stored(lastRecord) };
  at.terminal.script = () => {
    commands += 1;
    return Promise.resolve(aborted);
  };
  await pay(at, request("B")).catch(() => undefined);
  expect(commands).toBe(0);
});

test("a command that was never sent and read no storage leaves A's sale known", async () => {
  const at = house();
  await sells(at, "A", ofA);
  await at.clock.advance(60_000);
  await ends(at, "B", aborted, { before: stored(lastRecord) });
  await at.clock.advance(60_000);
  await ends(at, "C", unsent, { before: notReported });
  await at.clock.advance(HOUR_MS);
  expect(whose(at)).toBe("known A");
});

test.each([
  ["declined", refused, [declined()]],
  ["aborted", aborted, []],
])("a record without date and time charges no %s order for certain", async (_how, end, reports) => {
  const at = house();
  await sells(at, "A", ofA);
  await at.clock.advance(60_000);
  await ends(at, "B", end, { reports, before: stored(lastRecord) });
  await at.clock.advance(20 * HOUR_MS);
  const record = report({ receiptNumber: "0007", ...bare });
  expect(whose(at, record)).toBe("many B: untimed");
});
