import { describe, expect, test } from "vitest";
import type { PaymentEnd, TelecollectionEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { baseline, identity, report } from "../../support/terminals/reports.ts";
import { disconnected, lost } from "../../support/terminals/scripted-terminal.ts";

const MINUTE_MS = 60_000;
const completed: TelecollectionEnd = {
  end: "completed",
  applications: [{ name: "Visa", status: "0", count: 1, sumMinor: 999 }],
  ticket: "END OF DAY",
};
const declinedEnd: PaymentEnd = {
  end: "aborted",
  code: "05",
  text: "declined",
  reason: "declined",
  ticket: "",
};
const failed: TelecollectionEnd = { end: "failed", code: "77", text: "no end of day" };

/** A terminal that demands an end of day until it has completed one. */
function demanding(
  at: House,
  ends: readonly TelecollectionEnd[] = [completed],
): { begun: number[] } {
  const begun: number[] = [];
  at.terminal.telecollect = () => {
    const end = ends[Math.min(begun.length, ends.length - 1)] ?? completed;
    begun.push(at.clock.monotonicMs());
    if (end.end === "completed") at.terminal.become({ demands: [] });
    return Promise.resolve(end);
  };
  at.terminal.become({ demands: ["end-of-day"] });
  at.terminal.emit({ type: "demand", demand: "end-of-day" });
  return { begun };
}

function open(path?: string): House {
  const at = house(path);
  at.start();
  at.closing.start();
  return at;
}

const eventsOf = (at: House) =>
  at.hub.source
    .after(0, 1_000)
    .filter(({ name }) => name === "end-of-day")
    .reverse();

describe("an end of day that the terminal demands", () => {
  test("runs at once on an idle terminal, and is recorded like one by API call", async () => {
    const at = open();
    const { begun } = demanding(at);
    await at.clock.advance(0);
    expect(begun).toHaveLength(1);
    expect(at.journal.days.closings(0, Number.MAX_SAFE_INTEGER).at(-1)?.end).toEqual(completed);
    expect(eventsOf(at)).toMatchObject([
      { data: { askedBy: "terminal", end: "completed", applications: [{ count: 1 }] } },
    ]);
    await at.clock.advance(60 * MINUTE_MS);
    expect(begun).toHaveLength(1);
    expect(at.clock.running).toEqual([]);
  });

  test("waits for the running payment, and five minutes longer", async () => {
    const at = open();
    let finish = (): void => {};
    at.terminal.script = () =>
      new Promise((resolve) => {
        const end = { end: "aborted", code: "6C", text: "", reason: "cancelled", ticket: "" };
        finish = () => resolve(end as never);
      });
    void pay(at, request("A-1"));
    await at.clock.advance(0);
    const { begun } = demanding(at);
    await at.clock.advance(20_000);
    finish();
    await at.clock.advance(290_000);
    expect(begun).toEqual([]);
    await at.clock.advance(20_000);
    expect(begun).toHaveLength(1);
  });

  test("waits five minutes after a payment in doubt turns out to be charged", async () => {
    const at = open();
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return Promise.resolve(lost("line broken"));
    };
    at.terminal.last = { kind: "not-told", why: "nothing to repeat" };
    await pay(at, request("A-1"));
    await at.clock.advance(1_000);
    at.terminal.baseline = { ...baseline, last: at.terminal.last };
    at.terminal.script = () => Promise.resolve(declinedEnd);
    await pay(at, request("A-2"));
    await at.clock.advance(2 * MINUTE_MS);
    at.terminal.last = { kind: "transaction", report: report() };
    const repeated = pay(at, request("A-1"));
    await at.clock.advance(15_000);
    expect(outcome(await repeated)).toBe("Success");
    const { begun } = demanding(at);
    await at.clock.advance(280_000);
    expect(begun).toEqual([]);
    await at.clock.advance(20_000);
    expect(begun).toHaveLength(1);
  });

  test("waits without alarms until the operator accepts a replaced terminal", async () => {
    const at = open();
    await pay(at, request("A-1"));
    await at.clock.advance(2 * MINUTE_MS);
    const other = { ...identity, serialNumber: "SN-2" };
    at.terminal.baseline = { ...baseline, identity: other };
    at.terminal.become({ identity: other });
    const { begun } = demanding(at);
    await at.clock.advance(10 * MINUTE_MS);
    expect(begun).toEqual([]);
    expect(at.hub.source.alarms(9)).toEqual([]);
    at.arbiter.identityCheck.accept();
    await at.clock.advance(2 * MINUTE_MS);
    expect(begun).toHaveLength(1);
  });

  test("does not wait after a payment when the terminal is locked until it has run", async () => {
    const at = open();
    await pay(at, request("A-1"));
    const { status } = at.terminal.state;
    at.terminal.become({ status: status && { ...status, cr: "2", call: "1" } });
    const { begun } = demanding(at);
    await at.clock.advance(0);
    expect(begun).toHaveLength(1);
  });

  test("waits until probes have proved an order in doubt (docs/rules/05-evidence.md)", async () => {
    const at = open();
    at.terminal.script = () => Promise.resolve(lost("line broken"));
    await pay(at, request("A-1"));
    const { begun } = demanding(at);
    await at.clock.advance(2 * MINUTE_MS);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    expect(begun).toEqual([]);
    await at.clock.advance(2 * MINUTE_MS);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("not-charged");
    await at.clock.advance(5 * MINUTE_MS);
    expect(begun).toHaveLength(1);
  });

  test("that fails is tried again after growing pauses, with an alarm each time", async () => {
    const at = open();
    const { begun } = demanding(at, [failed]);
    await at.clock.advance(5 * 60 * MINUTE_MS);
    const pauses = begun.slice(1).map((atMs, i) => (atMs - (begun[i] ?? 0)) / MINUTE_MS);
    for (const [i, pause] of pauses.entries()) {
      const expected = Math.min(2 ** i, 60);
      expect(pause).toBeGreaterThanOrEqual(expected);
      expect(pause).toBeLessThan(expected + 1.2);
    }
    expect(pauses.length).toBeGreaterThanOrEqual(8);
    const alarms = at.lines.filter((line) => line.includes('"alarm":"end-of-day-failed"'));
    expect(alarms).toHaveLength(begun.length);
  });

  test("that does not end the demand runs only four times in ten minutes", async () => {
    const at = open();
    const begun: number[] = [];
    demanding(at);
    at.terminal.telecollect = () => {
      begun.push(at.clock.monotonicMs());
      return Promise.resolve(completed);
    };
    await at.clock.advance(10 * MINUTE_MS);
    expect(begun).toHaveLength(4);
  });

  test("is refused with an alarm while pre-authorisations are open", async () => {
    const at = open();
    const refused: TelecollectionEnd = { end: "open-pre-authorisations", receiptNumbers: ["0007"] };
    demanding(at, [refused, completed]);
    await at.clock.advance(0);
    expect(at.lines.filter((line) => line.includes('"alarm":"open-pre'))).toHaveLength(1);
    expect(at.hub.source.alarms(1)).toMatchObject([{ data: { alarm: "open-pre-authorisations" } }]);
    await at.clock.advance(3 * MINUTE_MS);
    expect(at.journal.days.closings(0, Number.MAX_SAFE_INTEGER).at(-1)?.end).toEqual(completed);
  });

  test("is not run when the terminal no longer demands it", async () => {
    const at = open();
    const { begun } = demanding(at);
    at.terminal.check = () => {
      at.terminal.become({ demands: [] });
      return Promise.resolve({ cr: "0", card: "0", call: "0", periph: "0", detail: "ready" });
    };
    await at.clock.advance(MINUTE_MS);
    expect(begun).toEqual([]);
  });

  test("runs as soon as the terminal is connected again", async () => {
    const at = open();
    const { begun } = demanding(at);
    at.terminal.unavailable = disconnected();
    await at.clock.advance(2 * MINUTE_MS);
    expect(begun).toEqual([]);
    at.terminal.unavailable = undefined;
    await at.clock.advance(MINUTE_MS);
    expect(begun).toHaveLength(1);
  });

  test("runs after a restart too, once the pause after its failure is over", async () => {
    const before = open();
    const first = demanding(before, [failed]);
    await before.clock.advance(0);
    expect(first.begun).toHaveLength(1);
    before.closing.close();
    before.close();
    const after = house(before.path);
    const second = demanding(after);
    after.start();
    after.closing.start();
    await after.clock.advance(50_000);
    expect(second.begun).toEqual([]);
    await after.clock.advance(20_000);
    expect(second.begun).toHaveLength(1);
  });

  test("does not begin once the program is stopping", async () => {
    const at = open();
    at.closing.close();
    const { begun } = demanding(at);
    await at.clock.advance(MINUTE_MS);
    expect(begun).toEqual([]);
    expect(at.clock.running).toEqual([]);
  });
});
