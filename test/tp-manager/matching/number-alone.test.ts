import { expect, test } from "vitest";
import {
  alarms,
  type House,
  house,
  matcherFor,
  outcome,
  pay,
  request,
} from "../../support/payment-house.ts";
import { baseline, declined, identity, report } from "../../support/reports.ts";
import {
  aborted,
  ends,
  HOUR_MS,
  inWords,
  notTold,
  sells,
  stored,
  untimed,
} from "./told-payments.ts";

const bare = { ...untimed, traceNumber: null };
const ofA = report({ receiptNumber: "0005" });
const shown = report({ receiptNumber: "0005", ...bare });
const refused = { ...aborted, code: "05", reason: "declined" } as const;
const unsent = { end: "not-sent", code: "", text: "no link" } as const;

function whose({ journal, terminal, clock }: House, record = shown, source = "baseline" as const) {
  return inWords(matcherFor(journal, terminal, clock, {}).whose(record, source, identity));
}

test.each([[1], [13]])(
  "declined B behind sale A, and an unsent C saw nothing: %s h",
  async (hours) => {
    const at = house();
    await sells(at, "A", ofA);
    await at.clock.advance(60_000);
    await ends(at, "B", refused, { told: [declined()], before: stored(shown) });
    await at.clock.advance(60_000);
    await ends(at, "C", unsent, { before: notTold });
    await at.clock.advance(hours * HOUR_MS);
    expect(whose(at)).toBe(hours === 1 ? "known A?" : "none");
  },
);

test("without C", async () => {
  const at = house();
  await sells(at, "A", ofA);
  await at.clock.advance(60_000);
  await ends(at, "B", refused, { told: [declined()], before: stored(shown) });
  await at.clock.advance(13 * HOUR_MS);
  expect(whose(at)).toBe("none");
});

test("declined B is not charged by the stored sale of A", async () => {
  const at = house();
  await sells(at, "A", ofA);
  await at.clock.advance(60_000);
  await ends(at, "B", refused, { told: [declined()], before: stored(shown) });
  await at.clock.advance(60_000);
  await ends(at, "C", unsent, { before: notTold });
  await at.clock.advance(13 * HOUR_MS);
  at.terminal.baseline = { ...baseline, last: stored(shown) };
  at.terminal.last = stored(shown);
  const before = alarms(at).length;
  at.terminal.script = (_order, observer) => {
    observer.report(report({ amountMinor: 500, receiptNumber: "0006", ...bare }));
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  const paid = await pay(at, request("D", { amountMinor: 500 })).then(outcome, (e) => String(e));
  await at.clock.advance(60_000);
  const latest = at.journal.attempts.latest("B");
  expect([paid, latest?.state.phase, alarms(at).slice(before)]).toEqual([
    "Success",
    "not-charged",
    [],
  ]);
});
