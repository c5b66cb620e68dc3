import { describe, expect, test } from "vitest";
import type { Assumption } from "../../../src/tp-manager/matching/assumptions.ts";
import {
  type Recollection,
  TerminalUnavailable,
} from "../../../src/tp-manager/terminal/terminal.ts";
import {
  answered,
  busy,
  cancels,
  failed,
  failing,
  houseOf,
  loses,
  other,
  phaseOf,
  refused,
  running,
  sold,
} from "../../support/house/by-id-house.ts";
import { alarms, type House, outcome, pay, request } from "../../support/house/payment-house.ts";
import { LIMIT_MS } from "../../support/terminals/asked-by-id.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

const HOUR_MS = 3_600_000;

/** The proof of the last verdict about an order. */
function proofOf(at: House, orderId = "A-1") {
  const { transactionId = "" } = at.journal.attempts.decisive(orderId) ?? {};
  const events = at.journal.attempts.events(transactionId);
  return events.findLast(({ detail, input }) => "proof" in { ...detail, ...input });
}

describe("a payment whose answer was lost", () => {
  test("is asked about by the reference that was sent, and is charged at once", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = { kind: "answered", report: sold(), ticket: "its own receipt" };
    expect(await loses(at)).toBe("Unknown");
    await at.clock.advance(0);
    expect(phaseOf(at)).toBe("charged");
    const [paid] = terminal.paid;
    expect(terminal.asked).toMatchObject([{ command: "payment", reference: paid?.reference }]);
    expect(at.journal.attempts.decisive("A-1")?.ticket).toBe("its own receipt");
    expect(JSON.stringify(proofOf(at))).toContain("status-remembers");
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(terminal.paid).toHaveLength(1);
    expect(at.supervisor.stored).toMatchObject([{ orderId: "A-1", origin: "recovery" }]);
  });

  test("that failed is not charged, and can be paid again", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = failed();
    await loses(at);
    await at.clock.advance(0);
    expect(phaseOf(at)).toBe("not-charged");
    expect(at.journal.attempts.decisive("A-1")?.state).toMatchObject({
      outcome: { status: "declined", error: "PAYMENT_DECLINED", terminalCode: "Refusal" },
    });
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  });

  test("is not decided while it runs, and blocks other sales meanwhile", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = running;
    await loses(at);
    await at.clock.advance(60_000);
    expect([phaseOf(at), terminal.asked.length > 3]).toEqual(["in-doubt", true]);
    await expect(pay(at, request("B-1"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    terminal.recollection = answered();
    await at.clock.advance(20_000);
    expect(phaseOf(at)).toBe("charged");
  });

  test("that runs for ever blocks no sale for ever, and is asked about on and on", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = running;
    await loses(at);
    await at.clock.advance(LIMIT_MS + 10_000);
    expect([phaseOf(at), alarms(at)]).toEqual(["in-doubt", ["payment-unknown"]]);
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    terminal.recollection = answered();
    await at.clock.advance(HOUR_MS);
    expect(phaseOf(at)).toBe("charged");
  });

  test.each<[string, string, Recollection | TerminalUnavailable]>([
    ["still runs", "a cancel", running],
    ["still runs", "the time limit", running],
    ["can still run, after an answer to something else,", "a cancel", other],
    ["can still run, after an answer to something else,", "the time limit", other],
    ["can still run, without an answer,", "a cancel", failing],
    ["can still run, without an answer,", "the time limit", failing],
  ])("and that %s is ended by %s", async (_stage, what, recollection) => {
    const { at, terminal } = houseOf();
    terminal.recollection = recollection;
    await loses(at);
    await at.clock.advance(10_000);
    expect(terminal.aborted).toEqual([]);
    if (what === "a cancel") await at.arbiter.running.cancel();
    else await at.clock.advance(60_000);
    const reference = terminal.paid[0]?.reference ?? "";
    expect(terminal.aborted).toEqual([{ command: "payment", reference, registerId: "kiosk" }]);
    expect(phaseOf(at)).toBe("in-doubt");
    terminal.recollection = failed({ resultCode: "Aborted", reason: "cancelled" });
    await at.clock.advance(15_000);
    expect(phaseOf(at)).toBe("not-charged");
    await expect(at.arbiter.running.cancel()).rejects.toMatchObject({
      code: "NOTHING_TO_CANCEL",
      charged: "no",
    });
  });

  test("is asked about by the name that the register had then", async () => {
    const first = houseOf();
    first.terminal.recollection = busy;
    await loses(first.at);
    await first.at.clock.advance(0);
    first.at.close();
    const second = houseOf([], first.at.path);
    second.terminal.baseline = { ...second.terminal.baseline, registerId: "another" };
    second.at.start();
    await second.at.clock.advance(0);
    expect(second.terminal.asked[0]?.registerId).toBe("kiosk");
  });

  test("is asked about although two others before it get no answer", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = other;
    for (const orderId of ["A-1", "A-2", "A-3"]) {
      await loses(at, orderId);
      await at.clock.advance(LIMIT_MS);
    }
    terminal.asked.length = 0;
    terminal.takesMs = 15_000;
    terminal.recollection = new TerminalUnavailable("no-answer", "silent");
    await at.clock.advance(HOUR_MS);
    expect(new Set(terminal.asked.map(({ reference }) => reference)).size).toBe(3);
  });

  test("that is not found may still be found within its time limit", async () => {
    const { at, terminal } = houseOf();
    await loses(at);
    await at.clock.advance(30_000);
    expect(phaseOf(at)).toBe("in-doubt");
    terminal.recollection = answered();
    await at.clock.advance(5_000);
    expect(phaseOf(at)).toBe("charged");
  });

  test("that is never found stays unknown, and no second charge leaves", async () => {
    const { at, terminal } = houseOf();
    await loses(at);
    await at.clock.advance(LIMIT_MS + 10_000);
    expect([phaseOf(at), alarms(at)]).toEqual(["in-doubt", ["payment-unknown"]]);
    const again = pay(at, request("A-1"));
    await at.clock.advance(2 * LIMIT_MS);
    expect(outcome(await again)).toBe("Unknown");
    expect(terminal.paid).toHaveLength(1);
    // Another order may be paid: the terminal would say so if the lost one still ran.
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
  });

  test.each<[string, Recollection]>([
    ["another amount", answered({ amountMinor: 998 })],
    ["no amount", answered({ amountMinor: null })],
    ["another currency", answered({ currencyNumeric: "840" })],
    ["no clear result", answered({ good: false, resultCode: null })],
  ])("with %s stays unknown, with an alarm", async (_what, recollection) => {
    const { at, terminal } = houseOf();
    terminal.recollection = recollection;
    await loses(at);
    await at.clock.advance(LIMIT_MS);
    expect([phaseOf(at), alarms(at)]).toEqual(["in-doubt", ["payment-unknown"]]);
    expect(terminal.asked).toHaveLength(1);
    // It is asked again every few minutes; an answer that says nothing new is stored once.
    const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
    const stored = at.journal.attempts.events(transactionId).length;
    await at.clock.advance(HOUR_MS);
    expect(terminal.asked.length).toBeGreaterThan(10);
    expect(at.journal.attempts.events(transactionId)).toHaveLength(stored);
    expect([phaseOf(at), alarms(at)]).toEqual(["in-doubt", ["payment-unknown"]]);
  });

  test.each([
    ["its record", {}],
    // The name stays, whatever the machine makes of the terminal's time stamp.
    ["its record in the time of another zone", { localTime: "235959" }],
  ])("is not taken for another order's, when the terminal answers with %s", async (_, change) => {
    const { at, terminal } = houseOf();
    terminal.script = (_order, observer) => {
      observer.report(sold());
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    terminal.recollection = answered(change);
    await loses(at);
    await at.clock.advance(LIMIT_MS);
    expect(phaseOf(at)).toBe("in-doubt");
  });

  test.each<[Assumption, Recollection]>([
    ["status-remembers", answered()],
    ["status-remembers", failed()],
    ["decline-final", failed()],
  ])("without %s proves nothing", async (off, recollection) => {
    const { at, terminal } = houseOf([off]);
    terminal.recollection = recollection;
    await loses(at);
    await at.clock.advance(LIMIT_MS);
    expect(phaseOf(at)).toBe("in-doubt");
  });

  test("is asked about after a crash, by the same reference", async () => {
    const { at, terminal } = houseOf();
    terminal.script = () => new Promise(() => {});
    void pay(at, request("A-1"));
    await at.clock.advance(0);
    const [paid] = terminal.paid;
    at.close();
    const later = houseOf([], at.path);
    later.terminal.recollection = answered();
    later.at.start();
    await later.at.clock.advance(0);
    const asked = { command: "payment", reference: paid?.reference };
    expect(later.terminal.asked).toMatchObject([asked]);
    expect(phaseOf(later.at)).toBe("charged");
  });

  test.each([
    ["an approval", sold(), "charged", 0],
    ["a failure", sold(refused), "not-charged", 1],
    ["another amount", sold({ amountMinor: 500 }), "in-doubt", 1],
  ])("after a crash with %s on disk needs no terminal that remembers it", async (...row) => {
    const [, stored, phase, asked] = row;
    const { at, terminal } = houseOf();
    terminal.script = (_order, observer) => {
      observer.report(stored);
      return new Promise(() => {});
    };
    void pay(at, request("A-1"));
    await at.clock.advance(0);
    at.close();
    const later = houseOf([], at.path);
    later.at.start();
    await later.at.clock.advance(0);
    expect([phaseOf(later.at), later.terminal.asked.length]).toEqual([phase, asked]);
  });
});

test("a busy terminal is asked again about a payment that stayed unknown", async () => {
  const { at, terminal } = houseOf();
  terminal.recollection = other;
  await loses(at);
  await at.clock.advance(LIMIT_MS);
  terminal.recollection = answered();
  terminal.unavailable = busy;
  expect((await pay(at, request("B-1"))).body.error).toMatchObject({ code: "TERMINAL_BUSY" });
  terminal.unavailable = undefined;
  await at.clock.advance(1_000);
  expect(phaseOf(at)).toBe("charged");
});

describe("a payment with an answer", () => {
  test("that was reported and then found as a failure stays unknown", async () => {
    const { at, terminal } = houseOf();
    terminal.script = (_order, observer) => {
      observer.report(sold());
      return Promise.resolve(lost("the disk failed"));
    };
    terminal.recollection = failed();
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    await at.clock.advance(LIMIT_MS);
    expect(phaseOf(at)).toBe("in-doubt");
  });

  test("that a cancel crossed is borne out by one question", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = failed({ resultCode: "Aborted", reason: "cancelled" });
    const { paying } = await cancels({ at, terminal });
    expect((await paying).body).toMatchObject({
      status: "Cancelled",
      error: { code: "PAYMENT_CANCELLED", charged: "no" },
    });
    expect(terminal.asked).toHaveLength(1);
  });

  test.each<[string, Recollection]>([
    ["a part", answered({ amountMinor: 500 })],
    ["nothing clear", answered({ good: false, resultCode: null })],
    ["another answer", other],
  ])("that a cancel crossed, of which it remembers %s, stays unknown", async (_what, said) => {
    const { at, terminal } = houseOf();
    terminal.recollection = said;
    const { paying } = await cancels({ at, terminal });
    await at.clock.advance(LIMIT_MS);
    expect(outcome(await paying)).toBe("Unknown");
    // The terminal has forgotten both orders when the next one is paid.
    terminal.recollection = { kind: "not-found" };
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
    await at.clock.advance(LIMIT_MS);
    expect([phaseOf(at), alarms(at)]).toEqual(["in-doubt", ["payment-unknown"]]);
  });

  test("that a cancel crossed waits for an answer of a terminal that is busy", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = busy;
    const { paying } = await cancels({ at, terminal });
    await at.clock.advance(60_000);
    expect([outcome(await paying), phaseOf(at)]).toEqual(["Unknown", "in-doubt"]);
    terminal.recollection = answered();
    await at.clock.advance(20_000);
    expect(phaseOf(at)).toBe("charged");
  });

  test("without a clear result, then found as a failure, stays unknown", async () => {
    const { at, terminal } = houseOf();
    terminal.script = (_order, observer) => {
      observer.report(sold({ good: false, resultCode: null }));
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    terminal.recollection = failed();
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    await at.clock.advance(LIMIT_MS);
    expect(phaseOf(at)).toBe("in-doubt");
  });

  test.each<[string, Recollection]>([
    ["a failure", failed()],
    ["an approval", answered({ receiptNumber: "sim1.S2" })],
    ["nothing", { kind: "not-found" }],
  ])("of another amount, then found as %s after a restart, stays unknown", async (_what, later) => {
    const first = houseOf();
    first.terminal.recollection = answered({ amountMinor: 500 });
    await loses(first.at);
    await first.at.clock.advance(0);
    first.at.close();
    const second = houseOf([], first.at.path);
    second.terminal.recollection = later;
    second.at.start();
    await second.at.clock.advance(2 * LIMIT_MS);
    expect(second.terminal.asked.length).toBeGreaterThan(0);
    expect(phaseOf(second.at)).toBe("in-doubt");
  });

  test("that it does not know stays unknown, for a reason that people understand", async () => {
    const { at, terminal } = houseOf();
    terminal.recollection = { kind: "not-found" };
    await loses(at);
    await at.clock.advance(2 * LIMIT_MS);
    const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
    const why = at.journal.attempts.events(transactionId).at(-1)?.detail["because"];
    expect([phaseOf(at), alarms(at)]).toEqual(["in-doubt", ["payment-unknown"]]);
    expect(why).toMatch(/^the terminal does not know the command, .*, which alone proves nothing$/);
  });

  test("that failed is not taken for another order's failure", async () => {
    const { at, terminal } = houseOf();
    terminal.script = (_order, observer) => {
      observer.report(sold(refused));
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    await pay(at, request("B-1"));
    terminal.recollection = failed();
    await loses(at);
    await at.clock.advance(LIMIT_MS);
    expect([phaseOf(at, "B-1"), phaseOf(at)]).toEqual(["not-charged", "in-doubt"]);
  });
});
