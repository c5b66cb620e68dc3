import { describe, expect, test } from "vitest";
import { AttemptWriter } from "../../../src/tp-manager/attempts/attempt-writer.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { report } from "../../support/terminals/reports.ts";
import { saleReport } from "../../support/terminals/scripted-terminal.ts";

/** What left for the terminal, by name. */
type Left = string[];

/** A house with a charged order "A-0" and an order "A-1" in doubt that no probe has read. */
async function oneWayKiosk(): Promise<{ at: House; left: Left }> {
  const before = house();
  await pay(before, request("A-0"));
  before.terminal.script = () => new Promise(() => {});
  void pay(before, request("A-1"));
  await before.clock.advance(0);
  before.close();
  const at = house(before.path);
  const [sent] = at.journal.attempts.unfinished();
  if (!sent) throw new Error("the journal has no attempt that runs");
  new AttemptWriter(sent, at).advance({ input: "interrupted" });
  const left: Left = [];
  const { terminal } = at;
  const { pay: sale, reverse, reset, telecollect } = terminal;
  terminal.pay = (...given) => leaves("payment", () => sale.apply(terminal, given));
  terminal.reverse = (...given) => leaves("reversal", () => reverse.apply(terminal, given));
  terminal.reset = (...given) => leaves("reset", () => reset.apply(terminal, given));
  terminal.telecollect = (...given) =>
    leaves("end of day", () => telecollect.apply(terminal, given));
  function leaves<T>(name: string, work: () => T): T {
    left.push(name);
    return work();
  }
  return { at, left };
}

const unmatched = report({ amountMinor: 1250, receiptNumber: "0042", traceNumber: "000077" });

function reportUnmatched(at: House): void {
  at.terminal.last = { kind: "transaction", report: unmatched };
  at.terminal.emit({ type: "unmatched-report", report: unmatched });
}

/** What stops a command until the terminal was probed; both can arise at any moment. */
const openInquiries: ReadonlyArray<readonly [string, (at: House) => void]> = [
  ["an unmatched transaction", reportUnmatched],
  ["an order in doubt that is asked for again", (at) => void pay(at, request("A-1"))],
];

/** Reverses the newest sale, which is what the terminal has stored last. */
function reverse(at: House): Promise<unknown> {
  const isCharged = at.journal.attempts.decisive("A-1")?.state.phase === "charged";
  const newest = saleReport(isCharged ? at.terminal.soldBefore : 0);
  if (at.arbiter.inquiries.blockedBy === undefined && !at.arbiter.inquiries.unmatchedAsked)
    at.terminal.stores(newest);
  return at.afterSale.reverse(isCharged ? "A-1" : "A-0");
}

/** Everything that takes the terminal and could hide or change what the terminal knows. */
const users: ReadonlyArray<readonly [string, (at: House) => Promise<unknown>]> = [
  ["payment", (at) => pay(at, request("B-1"))],
  ["reversal", reverse],
  ["reset", (at) => at.upkeep.reset()],
  ["end of day", (at) => at.upkeep.telecollect()],
];

/** Opens the house, which listens from then on, without a recovery of "A-1". */
function listen(at: House): void {
  const { unfinished } = at.journal.attempts;
  at.journal.attempts.unfinished = () => [];
  at.start();
  at.journal.attempts.unfinished = unfinished;
}

/** `act` runs while the terminal is made ready. */
function whilePreparing(at: House, act: () => void): void {
  at.terminal.prepare = async () => {
    await Promise.resolve();
    act();
    return at.terminal.baseline;
  };
}

describe.each(openInquiries)("%s", (_name, arises) => {
  test.each(users)("lets no %s begin", async (what, use) => {
    const { at, left } = await oneWayKiosk();
    listen(at);
    arises(at);
    let prepared = false;
    whilePreparing(at, () => {
      prepared = true;
    });
    const refused = use(at);
    expect(at.arbiter.lease.current).toBeUndefined();
    await expect(refused).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    expect([left, prepared]).toEqual([[], false]);
    expect(at.journal.attempts.decisive("B-1")).toBeUndefined();
    expect(at.journal.days.closings(0, Number.MAX_SAFE_INTEGER)).toEqual([]);
    await at.clock.advance(400_000);
    if (what === "payment") expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    else await use(at);
    expect(left.at(-1)).toBe(what);
  });

  test.each(users)("that arises while the terminal is prepared stops a %s", async (what, use) => {
    const { at, left } = await oneWayKiosk();
    listen(at);
    whilePreparing(at, () => arises(at));
    const refused = use(at);
    // A reset does not prepare the terminal: the wait for its lease is the preparation.
    if (what === "reset") arises(at);
    if (what === "payment") {
      expect(await refused).toMatchObject({
        body: { status: "Failed", error: { code: "TERMINAL_IN_DOUBT", charged: "no" } },
      });
      expect(at.journal.attempts.decisive("B-1")?.state.phase).toBe("not-charged");
    } else {
      await expect(refused).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    }
    expect(left).toEqual([]);
    expect(at.journal.attempts.decisive("A-0")?.state.phase).toBe("charged");
    expect(at.journal.days.closings(0, Number.MAX_SAFE_INTEGER)).toEqual([]);
  });

  test("that arises during the preparation stops an end of day that is demanded", async () => {
    const { at, left } = await oneWayKiosk();
    listen(at);
    at.terminal.become({ demands: ["end-of-day"] });
    await at.clock.advance(600_000);
    whilePreparing(at, () => arises(at));
    at.closing.start();
    await at.clock.advance(0);
    expect(left).toEqual([]);
    expect(at.journal.days.closings(0, Number.MAX_SAFE_INTEGER)).toEqual([]);
    expect(at.lines.join()).toContain("the end of day that the terminal demands begins now");
    expect(at.lines.join()).not.toContain("end-of-day-failed");
    at.closing.close();
  });

  test("stops the driver's own housekeeping from the moment it arises", async () => {
    const { at } = await oneWayKiosk();
    listen(at);
    const kept: boolean[] = [];
    whilePreparing(at, () => {
      kept.push(at.terminal.evidenceKept);
      arises(at);
      kept.push(at.terminal.evidenceKept);
    });
    await pay(at, request("B-1"));
    expect(kept).toEqual([false, true]);
  });
});

test.each(users)(
  "no unmatched transaction comes between the last check and the command of a %s",
  async (_w, use) => {
    const refused: number[] = [];
    for (let turns = 0; turns < 12; turns++) {
      const { at, left } = await oneWayKiosk();
      listen(at);
      const answer = use(at).catch(() => undefined);
      for (let i = 0; i < turns; i++) await Promise.resolve();
      if (left.length === 0) {
        refused.push(turns);
        reportUnmatched(at);
        await answer;
        expect(left).toEqual([]);
      }
      await answer;
      at.close();
    }
    // Every moment before the command leaves was tried.
    expect(refused).toEqual([...refused.keys()]);
    expect(refused.length).toBeLessThan(12);
  },
);
