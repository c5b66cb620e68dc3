import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { errorTable } from "../../../src/shared/catalog/errors.ts";
import { type Config, parseConfig } from "../../../src/shared/config/config.ts";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import { driverFor, protocolPart } from "../../../src/tp-manager/terminal/registry.ts";
import { setupText } from "../../shared/config/setup-text.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { baseline, identity, report } from "../../support/terminals/reports.ts";
import {
  approves,
  disconnected,
  lost,
  reversalReport,
  reverses,
} from "../../support/terminals/scripted-terminal.ts";

/** The journal waits two seconds for the lock of another process, each time. */
const givesUpSoon = (at: House) => at.journal.database.exec("PRAGMA busy_timeout = 50");

describe("a payment in doubt", () => {
  async function leaveInDoubt(at: House): Promise<void> {
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return Promise.resolve(lost("line broken"));
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    at.terminal.script = approves;
  }

  test("becomes charged by two matching probes and is handed off like any other", async () => {
    const at = house();
    at.terminal.last = { kind: "transaction", report: report() };
    await leaveInDoubt(at);
    await at.clock.advance(10_000);
    expect(at.terminal.probes).toBe(2);
    const again = await pay(at, request("A-1"));
    expect([again.body.status, again.body.notificationGatewaySent]).toEqual(["Success", true]);
    expect(at.supervisor.stored).toMatchObject([{ orderId: "A-1", origin: "recovery" }]);
    expect(at.terminal.paid).toHaveLength(1);
  });

  const reversal = { traceNumber: "000099", originalTrace: "000012", localTime: "130105" };
  test.each([
    ["no-end", reversal, "SALE_TAKEN_BACK", errorTable.SALE_TAKEN_BACK.meaning],
    ["protocol", reversal, "TERMINAL_FAULT", "the terminal has reversed what it had reported"],
    [
      "no-end",
      baseline.last.kind === "transaction" ? baseline.last.report : {},
      "TERMINAL_FAULT",
      "the terminal is idle and its last transaction is still the one from before this payment " +
        "or reversal",
    ],
  ])("after the end %s is not charged, by its proof alone: %o, %s", async (...row) => {
    const [code, stored, error, message] = row;
    const at = house();
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      return Promise.resolve({ end: "lost", code, text: "line broken", ticket: "" });
    };
    at.terminal.last = { kind: "transaction", report: report(stored) };
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    await at.clock.advance(180_000);
    const { attempt, delivery } = await at.orders.lookUp("A-1");
    const { http, body } = answerOf(attempt, delivery);
    expect([http, body.status]).toEqual([503, "Failed"]);
    expect(body.error).toMatchObject({ code: error, message, charged: "no", retry: "safe" });
  });

  test("whose process ended says nothing of the line, although the sale was reversed", async () => {
    const before = house();
    before.terminal.script = (_order, observer) => {
      observer.report(report());
      return new Promise(() => {});
    };
    void pay(before, request("A-1"));
    await before.clock.advance(0);
    before.close();
    const at = house(before.path);
    at.terminal.last = { kind: "transaction", report: report(reversal) };
    at.start();
    await at.clock.advance(20_000);
    expect(at.journal.attempts.decisive("A-1")?.state).toMatchObject({
      outcome: { error: "TERMINAL_FAULT" },
    });
    expect(at.journal.attempts.decisive("A-1")?.state).not.toHaveProperty("outcome.newer");
  });

  test("whose sale was stored before the storage was emptied stays unknown", async () => {
    const at = house();
    const none = { kind: "none" } as const;
    at.terminal.baseline = { ...baseline, last: none };
    at.terminal.script = () => Promise.resolve(lost("line broken"));
    at.terminal.last = { kind: "transaction", report: report() };
    await pay(at, request("A-1"));
    await at.clock.advance(5_000);
    at.terminal.last = none;
    await at.clock.advance(400_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    expect(at.arbiter.inquiries.blockedBy).toBeUndefined();
  });

  test("whose result had no code stays unknown when the storage is empty", async () => {
    const at = house();
    const none = { kind: "none" } as const;
    at.terminal.baseline = { ...baseline, last: none };
    at.terminal.script = (_order, observer) => {
      observer.report(report({ good: false, resultCode: null }));
      return Promise.resolve(lost("line broken"));
    };
    at.terminal.last = none;
    await pay(at, request("A-1"));
    await at.clock.advance(400_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
  });

  test("is not charged after the terminal's own time limit, and can be paid then", async () => {
    const at = house();
    await leaveInDoubt(at);
    await at.clock.advance(180_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("not-charged");
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(at.terminal.paid).toHaveLength(2);
  });

  test("holds up sales until one recovery run has ended (docs/rules/05-evidence.md)", async () => {
    const at = house();
    await leaveInDoubt(at);
    await expect(pay(at, request("A-2"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    await at.clock.advance(180_000);
    expect(outcome(await pay(at, request("A-2")))).toBe("Success");
  });

  test("is probed although the write-ahead record of an earlier reversal failed", async () => {
    const at = house();
    at.terminal.remembers = true;
    await pay(at, request("A-0"));
    const { update } = at.journal.attempts;
    at.journal.attempts.update = () => {
      at.journal.attempts.update = update;
      throw new Error("the disk is full");
    };
    await expect(at.afterSale.reverse("A-0")).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    await at.clock.advance(0);
    await leaveInDoubt(at);
    await at.clock.advance(180_000);
    expect(at.terminal.probes).toBeGreaterThan(0);
    expect(at.arbiter.inquiries.blockedBy).toBeUndefined();
  });

  test("holds up sales as well when the journal cannot be read at the payment's end", async () => {
    const at = house();
    const { events } = at.journal.attempts;
    at.terminal.script = () => {
      at.journal.attempts.events = () => {
        at.journal.attempts.events = events;
        throw new Error("disk I/O error");
      };
      return Promise.resolve(lost("line broken"));
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    at.journal.attempts.events = events;
    await expect(pay(at, request("A-2"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    await at.clock.advance(180_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("not-charged");
  });

  test("holds up sales as a reversal too, although its sale was in doubt before", async () => {
    const at = house();
    at.terminal.last = { kind: "not-told", why: "nothing to repeat" };
    await leaveInDoubt(at);
    await at.clock.advance(0);
    at.terminal.stores(report());
    const repeated = pay(at, request("A-1"));
    await at.clock.advance(10_000);
    expect(outcome(await repeated)).toBe("Success");
    at.terminal.reversal = () => new Promise(() => {});
    void at.afterSale.reverse("A-1");
    await at.clock.advance(0);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("reversing");
    at.close();

    const after = house(at.path);
    after.terminal.last = { kind: "transaction", report: report() };
    after.start();
    await expect(pay(after, request("A-2"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    expect(after.terminal.paid).toEqual([]);
  });

  test("stops the driver's housekeeping until recovery ends, after a restart too", async () => {
    const before = house();
    before.terminal.script = () => new Promise(() => {});
    void pay(before, request("A-1"));
    await before.clock.advance(0);
    before.close();

    const after = house(before.path);
    after.start();
    expect(after.terminal.evidenceKept).toBe(true);
    await after.clock.advance(0);
    expect([after.terminal.probes, after.terminal.evidenceKept]).toEqual([1, true]);
    await after.clock.advance(180_000);
    expect(after.terminal.evidenceKept).toBe(false);
  });

  test("that no probe can prove stays unknown, and sales go on", async () => {
    const at = house();
    at.terminal.last = { kind: "not-told", why: "bare completion" };
    await leaveInDoubt(at);
    const { http, body } = await pay(at, request("A-1"));
    expect([http, body.error?.code]).toEqual([504, "PAYMENT_UNKNOWN"]);
    expect(outcome(await pay(at, request("A-2")))).toBe("Success");
    expect(at.terminal.paid).toHaveLength(2);
  });

  test("is not charged by the next order's sale of the same amount", async () => {
    const at = house();
    at.terminal.last = { kind: "not-told", why: "bare completion" };
    await leaveInDoubt(at);
    const sold = report({ receiptNumber: "0003", traceNumber: "000013", localTime: "130105" });
    at.terminal.script = (_order, observer) => {
      observer.report(sold);
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(outcome(await pay(at, request("A-2")))).toBe("Success");
    at.terminal.last = { kind: "transaction", report: sold };
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    expect(at.supervisor.stored.map(({ orderId }) => orderId)).toEqual(["A-2"]);
  });

  test("is not charged by the sale of a later order that is in doubt as well", async () => {
    const before = house();
    before.terminal.last = { kind: "not-told", why: "bare completion" };
    before.terminal.script = () => Promise.resolve(lost("line broken"));
    expect(outcome(await pay(before, request("A-1")))).toBe("Unknown");
    await before.clock.advance(400_000);
    before.terminal.script = () => new Promise(() => {});
    void pay(before, request("A-2"));
    await before.clock.advance(0);
    before.close();

    const after = house(before.path, undefined, { clock: before.clock });
    after.terminal.last = { kind: "transaction", report: report() };
    after.start();
    await after.clock.advance(60_000);
    expect(after.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    expect(after.journal.attempts.decisive("A-2")?.state.phase).toBe("charged");
  });

  test("is not charged by the sale that an earlier order in doubt had reported", async () => {
    const at = house();
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      observer.ackArrived();
      return Promise.resolve(lost("line broken"));
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    await at.clock.advance(200_000);
    at.terminal.script = () => Promise.resolve(lost("line broken"));
    expect(outcome(await pay(at, request("A-2")))).toBe("Unknown");
    // The terminal shows the sale only now, although it got its ACK.
    at.terminal.last = { kind: "transaction", report: report() };
    await at.clock.advance(200_000);
    expect(at.journal.attempts.decisive("A-2")?.state.phase).toBe("in-doubt");
    expect(at.supervisor.stored.map(({ orderId }) => orderId)).not.toContain("A-2");
  });

  test("waits for a disconnected terminal as long as it takes", async () => {
    const at = house();
    at.terminal.last = { kind: "transaction", report: report() };
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      at.terminal.unavailable = disconnected();
      return Promise.resolve(lost("line broken"));
    };
    await pay(at, request("A-1"));
    await at.clock.advance(3_600_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    at.terminal.unavailable = undefined;
    await at.clock.advance(30_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
  });

  test("is charged 15 seconds after the first probe, with the times of a ZVT kiosk", async () => {
    const setup = parseConfig(setupText(), "tp-manager", protocolPart).config as Config;
    const confirmAfterMs = driverFor(setup).confirmAfterMs(setup);
    expect(confirmAfterMs).toBe(15_000);
    const at = house(undefined, undefined, { confirmAfterMs });
    at.terminal.last = { kind: "transaction", report: report() };
    await leaveInDoubt(at);
    await at.clock.advance(14_999);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    await at.clock.advance(1);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
  });

  test("stays unknown, and sales go on, when another terminal is accepted", async () => {
    const at = house();
    await leaveInDoubt(at);
    const other = { ...identity, serialNumber: "SN-2" };
    at.terminal.baseline = { ...baseline, identity: other };
    at.terminal.become({ identity: other });
    await at.clock.advance(3_600_000);
    const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
    const unsettled = () =>
      at.journal.attempts
        .events(transactionId)
        .filter(({ kind }) => kind === "recovery-unsettled")
        .map(({ detail }) => detail["because"]);
    expect(unsettled()).toEqual([]);
    at.arbiter.identityCheck.accept();
    await at.clock.advance(0);
    expect(unsettled()).toEqual(["another terminal was accepted since"]);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    expect(outcome(await pay(at, request("A-2")))).toBe("Success");
  });

  test("whose outcome could not be written holds up other sales and is then proved", async () => {
    const at = house();
    givesUpSoon(at);
    const other = new DatabaseSync(at.path);
    at.terminal.last = { kind: "transaction", report: report() };
    at.terminal.script = (order, observer) => {
      const end = approves(order, observer);
      other.exec("BEGIN IMMEDIATE"); // the journal is locked from here on
      return end;
    };
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      charged: "unknown",
    });
    await expect(pay(at, request("A-2"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    other.exec("ROLLBACK");
    other.close();
    await at.clock.advance(20_000);
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(at.terminal.paid).toHaveLength(1);
  });

  test("waits as long for the second probe after an operator accepts the terminal", async () => {
    const at = house();
    at.terminal.last = { kind: "transaction", report: report() };
    await leaveInDoubt(at);
    await at.clock.advance(1_000);
    await at.arbiter.identityCheck.accept();
    // The terminal reverses the sale, as it does when it never got our ACK.
    await at.clock.advance(1_000);
    at.terminal.last = baseline.last;
    await at.clock.advance(200_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("not-charged");
  });

  test("that is a reversal whose outcome could not be written is proved as well", async () => {
    const at = house();
    at.terminal.remembers = true;
    await pay(at, request("A-1"));
    givesUpSoon(at);
    const other = new DatabaseSync(at.path);
    at.terminal.reversal = (order, observer) => {
      const end = reverses(order, observer);
      other.exec("BEGIN IMMEDIATE");
      return end;
    };
    await expect(at.afterSale.reverse("A-1")).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    await expect(pay(at, request("A-2"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    other.exec("ROLLBACK");
    other.close();
    const [order] = at.terminal.reversed;
    if (order) at.terminal.stores(reversalReport(order));
    await at.clock.advance(20_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("reversed");
  });

  test("waits as long when the wall clock jumps ahead", async () => {
    const at = house();
    await leaveInDoubt(at);
    at.clock.jumpWallClock(24 * 3_600_000);
    await at.clock.advance(60_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
  });
});

describe("after a restart", () => {
  test("a payment that was running is in doubt and probed", async () => {
    const before = house();
    before.terminal.script = (_order, observer) => {
      observer.report(report());
      return new Promise(() => {});
    };
    void pay(before, request("A-1"));
    await before.clock.advance(0);
    before.close();

    const after = house(before.path);
    after.terminal.last = { kind: "transaction", report: report() };
    after.start();
    expect(after.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    await expect(pay(after, request("A-2"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    await after.clock.advance(10_000);
    const found = await after.orders.lookUp("A-1");
    expect(answerOf(found.attempt, found.delivery).body).toMatchObject({
      status: "Success",
      notificationGatewaySent: true,
    });
  });

  test("of two orders in doubt only the later one can own a later transaction", async () => {
    const before = house();
    before.terminal.last = { kind: "not-told", why: "bare completion" };
    before.terminal.script = () => Promise.resolve(lost("line broken"));
    expect(outcome(await pay(before, request("A-1")))).toBe("Unknown");
    await before.clock.advance(400_000);
    before.terminal.script = () => new Promise(() => {});
    void pay(before, request("A-2"));
    await before.clock.advance(0);
    expect(before.terminal.paid).toHaveLength(2);
    before.close();

    const after = house(before.path, undefined, { clock: before.clock });
    // By its amount and minute alone the transaction can belong to either order.
    after.terminal.last = { kind: "transaction", report: report() };
    after.start();
    await after.clock.advance(60_000);
    expect(after.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    expect(after.journal.attempts.decisive("A-2")?.state.phase).toBe("charged");
    expect(after.supervisor.stored.map(({ orderId }) => orderId)).toEqual(["A-2"]);
  });

  test("a charged order that was not handed off before is handed off", async () => {
    const before = house();
    before.supervisor.reachable = false;
    void pay(before, request("A-1"));
    await before.clock.advance(0);
    await before.handOff.close();
    before.close();

    const after = house(before.path);
    after.start();
    await after.clock.advance(0);
    expect(after.supervisor.stored).toMatchObject([{ orderId: "A-1" }]);
  });
});
