import { describe, expect, test, vi } from "vitest";
import type {
  Recollection,
  TerminalUnavailable,
} from "../../../src/tp-manager/terminal/terminal.ts";
import {
  answered,
  busy,
  cancels,
  failing,
  houseOf,
  loses,
  other,
  phaseOf,
  running,
  sold,
} from "../../support/house/by-id-house.ts";
import { alarms, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { LIMIT_MS } from "../../support/terminals/asked-by-id.ts";
import { report } from "../../support/terminals/reports.ts";
import { lost, ScriptedTerminal } from "../../support/terminals/scripted-terminal.ts";

const HOUR_MS = 3_600_000;

const reporting =
  (change: Parameters<typeof sold>[0] = {}): ScriptedTerminal["script"] =>
  (_order, observer) => {
    observer.report(sold(change));
    return Promise.resolve({ end: "completed", ticket: "" });
  };

describe("a payment whose answer was lost", () => {
  test("is asked about until its time limit, whatever else the terminal answers", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = other;
    await loses(at);
    const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
    for (const each of [running, other, { kind: "not-found" }, other, running] as const) {
      terminal.recollection = each;
      await at.clock.advance(10_000);
    }
    expect([phaseOf(at), alarms(at), terminal.asked.length > 10]).toEqual(["in-doubt", [], true]);
    expect(at.arbiter.inquiries.untilMs(transactionId)).toBeGreaterThan(at.clock.now() + 100_000);
    await expect(pay(at, request("B-1"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    terminal.recollection = answered();
    await at.clock.advance(5_000);
    expect(phaseOf(at)).toBe("charged");
  });

  test.each<[string, Recollection | TerminalUnavailable]>([
    ["an answer to something else", other],
    ["a failure of the question", failing],
    ["busy", busy],
  ])("of which it only has %s stays unknown after its time limit", async (_what, said) => {
    const { at, terminal } = houseOf();
    terminal.recollection = said;
    await loses(at);
    await at.clock.advance(LIMIT_MS - 20_000);
    expect(alarms(at)).toEqual([]);
    await at.clock.advance(40_000);
    expect([phaseOf(at), alarms(at)]).toEqual(["in-doubt", ["payment-unknown"]]);
    // The terminal may have charged it all the same, so a cancel still leaves.
    terminal.aborted.length = 0;
    await at.arbiter.running.cancel();
    expect(terminal.aborted).toHaveLength(1);
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
    const stored = at.journal.attempts.events(transactionId).length;
    await at.clock.advance(HOUR_MS);
    expect(at.journal.attempts.events(transactionId)).toHaveLength(stored);
    terminal.recollection = answered();
    await at.clock.advance(HOUR_MS);
    expect([phaseOf(at), alarms(at)]).toEqual(["charged", ["payment-unknown"]]);
  });

  test("is ended at its time limit although the clock was set back", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = running;
    await loses(at);
    at.clock.jumpWallClock(-HOUR_MS);
    await at.clock.advance(50_000);
    expect(terminal.aborted).toEqual([]);
    await at.clock.advance(20_000);
    expect(terminal.aborted).toHaveLength(1);
  });

  test("is ended by a cancel although the journal can be neither read nor written", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = running;
    await loses(at);
    await at.clock.advance(10_000);
    for (const method of ["unfinished", "addEvent"] as const) {
      vi.spyOn(at.journal.attempts, method).mockImplementation(() => {
        throw new Error("the disk is gone");
      });
    }
    await at.arbiter.running.cancel();
    expect([terminal.aborted.length, alarms(at)]).toEqual([1, ["journal"]]);
  });

  test("is not cancelled any more once an operator has settled it", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = other;
    await loses(at);
    await at.clock.advance(LIMIT_MS + 10_000);
    terminal.aborted.length = 0;
    await at.settle({ orderId: "A-1", outcome: "charged", note: "in the account" });
    await expect(at.arbiter.running.cancel()).rejects.toMatchObject({ charged: "no" });
    expect(terminal.aborted).toEqual([]);
  });

  test("does not shorten the time of its own reversal", async () => {
    const { at, terminal } = houseOf();
    await loses(at);
    await at.clock.advance(LIMIT_MS);
    const attempt = at.journal.attempts.decisive("A-1");
    if (!attempt) throw new Error("no attempt");
    at.arbiter.settle(attempt, { outcome: "charged", report: sold(), note: "in the account" });
    terminal.reversal = () => Promise.resolve(lost("no answer"));
    terminal.recollection = running;
    const reversing = at.afterSale.reverse("A-1").catch(() => undefined);
    await at.clock.advance(20_000);
    await reversing;
    expect([phaseOf(at), alarms(at)]).toEqual(["reversal-in-doubt", ["payment-unknown"]]);
    expect(terminal.asked.at(-1)?.command).toBe("reversal");
    expect(at.arbiter.inquiries.blockedBy).toBe("A-1");
    await expect(at.arbiter.running.cancel()).rejects.toMatchObject({ charged: "unknown" });
  });
});

describe("an operator's decision", () => {
  const note = "read in the merchant's account";

  test.each(["charged", "not_charged"] as const)(
    "%s is refused while the terminal can still carry the payment out",
    async (outcome) => {
      const { at, terminal } = houseOf();
      terminal.recollection = running;
      await loses(at);
      await at.clock.advance(LIMIT_MS - 60_000);
      const early = () => at.settle({ orderId: "A-1", note, outcome });
      expect(early).toThrow(/may still carry this out for \d+ s: settle it after that/);
      expect(early).toThrow(expect.objectContaining({ code: "PAYMENT_RUNNING" }));
      terminal.recollection = failing;
      terminal.become({ link: "disconnected" });
      expect(early).toThrow(expect.objectContaining({ charged: "unknown" }));
      await at.clock.advance(70_000);
      await early();
      expect(phaseOf(at)).toBe(outcome.replace("_", "-"));
    },
  );

  test("waits an hour at most, however often the connector starts", async () => {
    const first = houseOf();
    await loses(first.at);
    let { path } = first.at;
    let early = 0;
    for (let starts = 0; starts < 30; starts += 1) {
      const { at, terminal } = houseOf([], path);
      ({ path } = at);
      at.clock.jumpWallClock(starts * 150_000);
      terminal.recollection = failing;
      terminal.become({ link: "disconnected" });
      at.start();
      await at.clock.advance(150_000);
      try {
        await at.settle({ orderId: "A-1", note, outcome: "not_charged" });
        break;
      } catch {
        early += 1;
      }
      at.close();
    }
    expect(early).toBe(24);
  });

  test("about a payment that the terminal has answered itself needs no waiting", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = failing;
    terminal.script = reporting({ amountMinor: 1 });
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    await at.settle({ orderId: "A-1", note, outcome: "charged", amountMinor: 1 });
    expect(phaseOf(at)).toBe("charged");
  });

  test("about a reversal waits too, also if its outcome could not be written", async () => {
    const { at, terminal } = houseOf();
    terminal.script = reporting();
    await pay(at, request("A-1"));
    terminal.recollection = running;
    const update = vi.spyOn(at.journal.attempts, "update");
    terminal.reversal = () => {
      update.mockImplementation(() => {
        throw new Error("the disk is full");
      });
      return Promise.resolve(lost("no answer"));
    };
    await at.afterSale.reverse("A-1").catch(() => undefined);
    update.mockRestore();
    await at.clock.advance(10_000);
    expect(phaseOf(at)).toBe("reversal-in-doubt");
    const early = () => at.settle({ orderId: "A-1", note, outcome: "charged" });
    expect(early).toThrow(expect.objectContaining({ code: "PAYMENT_RUNNING" }));
  });

  test("about an order of another kind of terminal needs no waiting, nor a cancel", async () => {
    const first = house(undefined, new ScriptedTerminal());
    first.terminal.script = () => Promise.resolve(lost("the line broke"));
    await pay(first, request("A-1"));
    first.close();
    const { at, terminal } = houseOf([], first.path);
    terminal.recollection = failing;
    at.start();
    await at.clock.advance(0);
    await expect(at.arbiter.running.cancel()).rejects.toMatchObject({ charged: "unknown" });
    await at.settle({ orderId: "A-1", note, outcome: "not_charged" });
    expect([phaseOf(at), terminal.aborted]).toEqual(["not-charged", []]);
  });

  test("is taken at once where the asking had ended before, also after a start", async () => {
    const first = houseOf();
    first.terminal.recollection = answered({ amountMinor: 1 });
    await loses(first.at);
    await first.at.clock.advance(0);
    expect(alarms(first.at)).toEqual(["payment-unknown"]);
    first.at.close();
    const { at, terminal } = houseOf([], first.at.path);
    terminal.recollection = running;
    at.start();
    await at.clock.advance(10_000);
    await at.settle({ orderId: "A-1", note, outcome: "not_charged" });
    expect(phaseOf(at)).toBe("not-charged");
  });
});

describe("a payment at another kind of terminal", () => {
  test.each([
    ["an approval", report()],
    ["a failure", report({ good: false, resultCode: "6C", reason: "cancelled" })],
  ])("is not ended by a terminal that is asked by id, after %s", async (_what, heard) => {
    const first = house(undefined, new ScriptedTerminal());
    first.terminal.script = (_order, observer) => {
      observer.report(heard);
      return new Promise(() => {});
    };
    void pay(first, request("A-1"));
    await first.clock.advance(0);
    first.close();
    const { at, terminal } = houseOf([], first.path);
    at.start();
    await at.clock.advance(LIMIT_MS + HOUR_MS);
    expect([phaseOf(at), alarms(at)]).toEqual(["in-doubt", ["payment-unknown"]]);
    terminal.recollection = answered();
    await at.clock.advance(HOUR_MS);
    expect([phaseOf(at), alarms(at)]).toEqual(["in-doubt", ["payment-unknown"]]);
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
  });

  test("that was asked by id is not ended by what another kind has stored", async () => {
    const first = houseOf();
    first.terminal.recollection = busy;
    await cancels(first);
    first.at.close();
    const terminal = new ScriptedTerminal();
    const second = house(first.at.path, terminal, { confirmAfterMs: 0 });
    second.start();
    await second.clock.advance(LIMIT_MS);
    expect([phaseOf(second), alarms(second)]).toEqual(["in-doubt", ["payment-unknown"]]);
    expect(second.arbiter.inquiries.blockedBy).toBeUndefined();
  });
});
