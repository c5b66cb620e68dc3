import { describe, expect, test } from "vitest";
import type { OneWayResult, TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { reportedNow } from "../../support/house/one-way-house.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { ScriptedTerminal } from "../../support/terminals/scripted-terminal.ts";

const nobody = { serialNumber: "", deviceId: "", terminalId: "", version: "" };

/** A kiosk whose terminal cannot be asked, cancelled, refused or named. */
function oneWayKiosk(path?: string, identity = nobody, cannotRefuse = true): House {
  const terminal = new ScriptedTerminal();
  const baseline = { ...terminal.baseline, identity, last: cannotBeAsked };
  const capabilities = { ...terminal.capabilities, ...(cannotRefuse ? { cannotRefuse } : {}) };
  Object.assign(terminal, { capabilities, baseline, last: cannotBeAsked });
  Object.assign(terminal, { takeLateResults: () => undefined });
  return house(path, terminal);
}
const cannotBeAsked = { kind: "not-told", why: "cannot be asked" } as const;

/** The process dies when the result is on disk, before its end is. */
async function killedAfter(said: TransactionReport, at: House): Promise<void> {
  at.start();
  at.terminal.script = (_order, observer) => {
    observer.report(said);
    return new Promise(() => undefined);
  };
  void pay(at, request("A-1"));
  await at.clock.advance(0);
  at.close();
}

/** The disk fails at every step to another phase. */
function takesOnly({ journal: { attempts } }: House, phase: string): void {
  const { update } = attempts;
  attempts.update = (id, change) => {
    if (change.state.phase !== phase) throw new Error("disk full");
    return update.call(attempts, id, change);
  };
}

async function phaseAfter(path: string, ...how: [identity?: typeof nobody, refuses?: boolean]) {
  const next = oneWayKiosk(path, ...how);
  next.start();
  await next.clock.advance(60_000);
  return next.journal.attempts.decisive("A-1")?.state.phase;
}

describe("a result on disk whose end is not (docs/rules/25-one-way.md)", () => {
  test.each([
    ["an approval", report(), "charged"],
    ["a refusal", declined(), "not-charged"],
    ["an approval of another amount", report({ amountMinor: 1 }), "in-doubt"],
    ["a result that says nothing", report({ good: false, resultCode: null }), "in-doubt"],
  ])("%s is the end after a restart as far as it is clear", async (_, said, phase) => {
    const at = oneWayKiosk();
    await killedAfter(said, at);
    expect(await phaseAfter(at.path)).toBe(phase);
  });

  test("is the end when the disk took the result and not the end", async () => {
    const at = oneWayKiosk();
    at.start();
    const { update } = at.journal.attempts;
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      at.journal.attempts.update = () => {
        throw new Error("disk full");
      };
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    at.journal.attempts.update = update;
    await at.clock.advance(60_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
    expect(at.supervisor.stored.map(({ orderId }) => orderId)).toEqual(["A-1"]);
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  });

  test("is no sale without an order when the next process hears it again, unnamed", async () => {
    const at = oneWayKiosk();
    await killedAfter(report(), at);
    const next = oneWayKiosk(at.path);
    let take = (_again: OneWayResult): boolean => false;
    Object.assign(next.terminal, {
      takeLateResults: (listener: typeof take) => {
        take = listener;
      },
    });
    next.start();
    const again = reportedNow(report());
    expect(take(again)).toBe(true);
    expect(next.hub.source.alarms(9)).toEqual([]);
    await next.clock.advance(31_000);
    expect(take(again)).toBe(true);
    expect(next.hub.source.alarms(9)).toHaveLength(1);
    expect(next.supervisor.stored.map(({ orderId }) => orderId)).toEqual(["A-1"]);
  });

  test("is the end when the process died between its two steps", async () => {
    const at = oneWayKiosk();
    await killedAfter(report(), at);
    const next = oneWayKiosk(at.path);
    takesOnly(next, "in-doubt");
    expect(() => next.start()).toThrow("disk full");
    expect(next.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    next.close();
    expect(await phaseAfter(at.path)).toBe("charged");
  });

  test("is the end when the disk failed again between its two steps", async () => {
    const at = oneWayKiosk();
    at.start();
    const { update } = at.journal.attempts;
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      takesOnly(at, "in-doubt");
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    await at.clock.advance(5_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    at.journal.attempts.update = update;
    await at.clock.advance(60_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
  });

  test("is no end at a terminal that takes back what gets no ACK", async () => {
    const named = { ...nobody, terminalId: "52500001" };
    const at = oneWayKiosk(undefined, named, false);
    await killedAfter(report(), at);
    expect(await phaseAfter(at.path, named, false)).toBe("in-doubt");
    const other = oneWayKiosk(undefined, named, false);
    await killedAfter(report(), other);
    expect(await phaseAfter(other.path)).toBe("in-doubt");
    const nameless = oneWayKiosk(undefined, nobody, false);
    const { baseline } = nameless.terminal;
    Object.assign(nameless.terminal, { baseline: { ...baseline, last: { kind: "none" } } });
    await killedAfter(report(), nameless);
    expect(await phaseAfter(nameless.path)).toBe("in-doubt");
  });
});
