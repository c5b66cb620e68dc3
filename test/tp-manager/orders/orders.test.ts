import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { PaymentRequest } from "../../../src/tp-manager/attempts/payment.ts";
import type { PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { currency, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import {
  baseline,
  declined,
  earlierReport,
  identity,
  report,
} from "../../support/terminals/reports.ts";
import { approves, disconnected, lost } from "../../support/terminals/scripted-terminal.ts";

/** Every change of an attempt fails, as on a full disk, until it is mended. */
function breakJournal(path: string): void {
  withJournal(
    path,
    `CREATE TRIGGER full_disk BEFORE UPDATE ON attempt
    BEGIN SELECT RAISE(ABORT, 'disk full'); END`,
  );
}

function mendJournal(path: string): void {
  withJournal(path, "DROP TRIGGER full_disk");
}

function withJournal(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

describe("a payment", () => {
  test("that is approved is charged, handed off and answered as sent", async () => {
    const at = house();
    const { http, body } = await pay(at, request("A-1"));
    expect({ http, ...body }).toMatchObject({
      http: 200,
      status: "Success",
      error: null,
      ticket: "line 1|line 2",
      amount: 9.99,
      orderId: "A-1",
      notificationGatewaySent: true,
    });
    expect(at.supervisor.stored).toMatchObject([
      { transactionId: body.transactionId, orderId: "A-1", amountMinor: 999, origin: "payment" },
    ]);
  });

  test("has its write-ahead record on disk before the terminal is asked", async () => {
    const at = house();
    at.terminal.script = (order, observer) => {
      expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("sent");
      expect(at.journal.attempts.decisive("A-1")?.baseline).toEqual(baseline);
      return approves(order, observer);
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  });

  test("has the terminal's report on disk before it gets its ACK", async () => {
    const at = house();
    at.terminal.script = (_order, observer) => {
      expect(observer.report(report())).toBe("accept");
      expect(at.journal.attempts.decisive("A-1")?.state).toMatchObject({
        last: { judgement: "agrees", report: { receiptNumber: "0002" } },
      });
      return Promise.resolve({ end: "completed", ticket: "" } as const);
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  });

  test("whose report cannot be stored gets no ACK and ends unknown", async () => {
    const at = house();
    at.terminal.script = (_order, observer) => {
      at.close();
      expect(() => observer.report(report())).toThrow();
      return Promise.resolve(lost("refused on the wire"));
    };
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      charged: "unknown",
    });
  });

  test("whose outcome cannot be written is probed before anything else is sold", async () => {
    const at = house();
    at.terminal.script = (_order, observer) => {
      observer.report(report());
      breakJournal(at.path);
      return Promise.resolve({ end: "completed", ticket: "" } as const);
    };
    await expect(pay(at, request("A-1"))).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      charged: "unknown",
    });
    mendJournal(at.path);
    at.terminal.last = { kind: "transaction", report: report() };
    await expect(pay(at, request("A-2"))).rejects.toMatchObject({ code: "TERMINAL_IN_DOUBT" });
    // The journal is tried again first, then the terminal is read twice.
    await at.clock.advance(11_000);
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    expect(at.terminal.paid).toHaveLength(1);
  });

  test("refuses a report of the previous transaction on the wire", async () => {
    const at = house();
    at.terminal.script = (_order, observer) => {
      expect(observer.report(earlierReport)).toBe("refuse");
      return Promise.resolve({ end: "completed", ticket: "" } as const);
    };
    expect(outcome(await pay(at, request("A-1", { amountMinor: 500 })))).toBe("Unknown");
    expect(at.supervisor.stored).toEqual([]);
  });

  test("approved after a cancel is charged and raises an alarm", async () => {
    const at = house();
    at.terminal.script = async (order, observer) => {
      await at.arbiter.running.cancel();
      return approves(order, observer);
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    const alarms = at.lines.filter((line) => line.includes('"alarm":"approved-after-cancel"'));
    expect(alarms).toHaveLength(1);
  });

  test("approved with another amount is refused on the wire, alarmed and unknown", async () => {
    const at = house();
    at.terminal.script = (_order, observer) => {
      expect(observer.report(report({ amountMinor: 9990 }))).toBe("refuse");
      return Promise.resolve(lost("refused"));
    };
    const { http, body } = await pay(at, request("A-1"));
    expect([http, body.status, body.error?.charged]).toEqual([504, "Unknown", "unknown"]);
    expect(at.lines.some((line) => line.includes('"alarm":"report-mismatch"'))).toBe(true);
    expect(at.supervisor.stored).toEqual([]);
  });

  test("fails before anything is sent when the terminal is disconnected", async () => {
    const at = house();
    at.terminal.unavailable = disconnected();
    const { http, body } = await pay(at, request("A-1"));
    expect([http, body.status, body.error?.code]).toEqual([503, "Failed", "TERMINAL_DISCONNECTED"]);
    expect(at.terminal.paid).toEqual([]);
  });

  test("answers without the gateway after GATEWAY_WAIT when the supervisor is down", async () => {
    const at = house();
    at.supervisor.reachable = false;
    const answer = pay(at, request("A-1"));
    await at.clock.advance(5_000);
    expect((await answer).body).toMatchObject({
      status: "Success",
      notificationGatewaySent: false,
    });
    at.supervisor.reachable = true;
    await at.clock.advance(15_000);
    expect(at.supervisor.stored).toHaveLength(1);
    expect((await pay(at, request("A-1"))).body.notificationGatewaySent).toBe(true);
    await at.handOff.close();
  });

  test("that does not end gets one cancel at its limit and a 504 after the grace", async () => {
    const at = house();
    let cancels = 0;
    at.terminal.onCancel = () => {
      cancels += 1;
    };
    const { promise: end, resolve: finish } = Promise.withResolvers<PaymentEnd>();
    at.terminal.script = () => end;
    const answer = pay(at, request("A-1"));
    await at.clock.advance(180_000);
    expect(cancels).toBe(1);
    await at.clock.advance(45_000);
    const { http, body } = await answer;
    expect([http, body.status, body.error?.code]).toEqual([504, "Unknown", "PAYMENT_RUNNING"]);
    await expect(pay(at, request("A-2"))).rejects.toMatchObject({ code: "TERMINAL_BUSY" });
    expect(cancels).toBe(1);
    finish({ end: "aborted", code: "6C", text: "aborted", reason: "cancelled", ticket: "" });
    await at.clock.advance(0);
    expect(outcome(await pay(at, request("A-2", {})))).not.toBe("Unknown");
  });
});

test("a result with no payment running raises an alarm", () => {
  const at = house();
  at.start();
  at.terminal.emit({ type: "unmatched-report", report: report() });
  const alarms = at.lines.filter((line) => line.includes('"alarm":"unmatched-transaction"'));
  expect(alarms).toEqual([expect.stringContaining('"traceNumber":"000012"')]);
});

describe("an order that comes again (docs/rules/36-repeated-order.md) or meanwhile", () => {
  test("is answered from the journal when it was charged, and nothing is sent", async () => {
    const at = house();
    const first = await pay(at, request("A-1"));
    const second = await pay(at, request("A-1"));
    expect(second.replayed).toBe(true);
    expect(second.body).toEqual(first.body);
    expect(at.terminal.paid).toHaveLength(1);
  });

  test("with another amount or currency is refused with charged yes", async () => {
    const at = house();
    await pay(at, request("A-1"));
    const changes = [{ amountMinor: 1000 }, { currency: currency("CHF") }];
    for (const change of changes) {
      await expect(pay(at, request("A-1", change))).rejects.toMatchObject({
        code: "ORDER_MISMATCH",
        charged: "yes",
      });
    }
    expect(at.terminal.paid).toHaveLength(1);
  });

  test("runs a new numbered attempt when it was declined, with another amount too", async () => {
    const at = house();
    at.terminal.script = (_order, observer) => {
      observer.report(declined());
      return Promise.resolve({
        end: "aborted",
        code: "05",
        text: "declined",
        reason: "declined",
        ticket: "",
      });
    };
    expect(outcome(await pay(at, request("A-1")))).toBe("Declined");
    at.terminal.script = approves;
    expect(outcome(await pay(at, request("A-1", { amountMinor: 1200 })))).toBe("Success");
    expect(at.journal.attempts.ofOrder("A-1").map(({ number }) => number)).toEqual([1, 2]);
  });

  test("attaches to the running payment and gets the same answer", async () => {
    const at = house();
    const { promise: end, resolve: finish } = Promise.withResolvers<void>();
    at.terminal.script = async (order, observer) => {
      await end;
      return approves(order, observer);
    };
    const first = pay(at, request("A-1"));
    const second = pay(at, request("A-1"));
    await expect(pay(at, request("A-1", { amountMinor: 1 }))).rejects.toMatchObject({
      code: "ORDER_MISMATCH",
      charged: "unknown",
    });
    finish();
    expect((await second).body).toEqual((await first).body);
    expect(at.terminal.paid).toHaveLength(1);
  });

  test("is answered with its charge while another order is paid, and not as busy", async () => {
    const at = house();
    await pay(at, request("A-1"));
    at.terminal.script = () => new Promise(() => {});
    void pay(at, request("A-2"));
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  });

  test("gets 409 with charged no when it is new and another order is being paid", async () => {
    const at = house();
    at.terminal.script = () => new Promise(() => {});
    void pay(at, request("A-1"));
    await expect(pay(at, request("A-2"))).rejects.toMatchObject({
      code: "TERMINAL_BUSY",
      charged: "no",
    });
  });
});

describe("generated order ids (docs/rules/11-unread.md)", () => {
  const nameless = (id: string): PaymentRequest => request(id, { generatedId: true });

  test("block a second sale of the sum without an id until the first answer was read", async () => {
    const at = house();
    await pay(at, nameless("g-1"));
    await expect(pay(at, nameless("g-2"))).rejects.toMatchObject({
      code: "ANSWER_NOT_DELIVERED",
      details: { orderId: "g-1" },
    });
    expect(outcome(await pay(at, request("A-1")))).toBe("Success");
    at.orders.answerRead("g-1");
    expect(outcome(await pay(at, nameless("g-3")))).toBe("Success");
  });
});

describe("another terminal (docs/rules/12-terminal.md)", () => {
  test("is refused until the operator accepts it", async () => {
    const at = house();
    await pay(at, request("A-1"));
    const other = { ...identity, serialNumber: "SN-2" };
    at.terminal.baseline = { ...baseline, identity: other };
    at.terminal.state = { ...at.terminal.state, identity: other };
    const { body } = await pay(at, request("A-2"));
    expect(body.error?.code).toBe("TERMINAL_CHANGED");
    expect(at.terminal.paid).toHaveLength(1);
    at.arbiter.identityCheck.accept();
    expect(outcome(await pay(at, request("A-2")))).toBe("Success");
  });
});

test("no card is charged when the journal cannot be read for the accepted terminal", async () => {
  for (const method of ["acceptedTerminal", "acceptTerminal"] as const) {
    const at = house();
    at.journal.terminalLog[method] = () => {
      throw new Error("database disk image is malformed");
    };
    const { body } = await pay(at, request("A-1"));
    expect(body.error).toMatchObject({ code: "STORAGE_FAILED", charged: "no" });
    await expect(at.upkeep.telecollect()).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      charged: "no",
    });
    expect(at.terminal.paid).toEqual([]);
  }
  const at = house();
  at.journal.terminalLog.acceptedTerminal = () => {
    throw new Error("database disk image is malformed");
  };
  expect(() => at.arbiter.identityCheck.replaced).toThrow(
    expect.objectContaining({ code: "STORAGE_FAILED" }),
  );
});

test("a terminal that first reports no identity is known by its later identity", async () => {
  const at = house();
  const silent = { serialNumber: "", deviceId: "", terminalId: "", version: "" };
  for (const known of [silent, identity]) {
    at.terminal.baseline = { ...baseline, identity: known };
    expect(outcome(await pay(at, request(`A-${known.serialNumber}`)))).toBe("Success");
  }
  at.terminal.baseline = { ...baseline, identity: { ...identity, serialNumber: "SN-2" } };
  expect((await pay(at, request("B-1"))).body.error?.code).toBe("TERMINAL_CHANGED");
});

describe("cancel and stop", () => {
  test("a cancel is refused when nothing runs", async () => {
    await expect(house().arbiter.running.cancel()).rejects.toMatchObject({
      code: "NOTHING_TO_CANCEL",
    });
  });

  test("a cancel before the command could leave ends the order as cancelled", async () => {
    const at = house();
    let withdraw = (): void => {};
    at.terminal.script = () =>
      new Promise((resolve) => {
        withdraw = () => resolve({ end: "withdrawn", text: "cancelled in time" });
      });
    at.terminal.onCancel = () => withdraw();
    const answer = pay(at, request("A-1"));
    await at.clock.advance(0);
    await at.arbiter.running.cancel();
    const { body } = await answer;
    expect([body.status, body.error]).toMatchObject([
      "Cancelled",
      { code: "PAYMENT_CANCELLED", charged: "no" },
    ]);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("not-charged");
  });

  test("a cancel at the moment the terminal is ready is not lost", async () => {
    const at = house();
    const { promise: ready, resolve } = Promise.withResolvers<typeof baseline>();
    at.terminal.prepare = () => ready;
    const answer = pay(at, request("A-1"));
    await at.clock.advance(0);
    resolve(baseline);
    // After one microtask the driver has answered, and the payment has not gone on yet.
    await Promise.resolve();
    await at.arbiter.running.cancel();
    expect(outcome(await answer)).toBe("Cancelled");
    expect(at.terminal.paid).toEqual([]);
  });

  test("an approval that comes after a cancel wins", async () => {
    const at = house();
    const { promise: cancelled, resolve } = Promise.withResolvers<void>();
    at.terminal.onCancel = resolve;
    at.terminal.script = async (order, observer) => {
      await cancelled;
      return approves(order, observer);
    };
    const answer = pay(at, request("A-1"));
    await at.clock.advance(0);
    await at.arbiter.running.cancel();
    expect(outcome(await answer)).toBe("Success");
  });

  test("a refused cancel says so and decides nothing", async () => {
    const at = house();
    at.terminal.script = () => new Promise(() => {});
    at.terminal.cancelAnswer = { answer: "refused", code: "83", text: "not possible" };
    void pay(at, request("A-1"));
    await at.clock.advance(0);
    await expect(at.arbiter.running.cancel()).rejects.toMatchObject({ code: "CANCEL_REFUSED" });
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("sent");
  });

  test("a stop refuses new payments and cancels a running one at its deadline", async () => {
    const at = house();
    const { promise: cancelled, resolve } = Promise.withResolvers<void>();
    at.terminal.onCancel = resolve;
    at.terminal.script = async () => {
      await cancelled;
      return { end: "aborted", code: "6C", text: "aborted", reason: "cancelled", ticket: "" };
    };
    const answer = pay(at, request("A-1"));
    await at.clock.advance(0);
    const stopped = at.arbiter.stop();
    await expect(pay(at, request("A-2"))).rejects.toMatchObject({ code: "STOPPING" });
    await at.clock.advance(10_000);
    await stopped;
    expect(outcome(await answer)).toBe("Cancelled");
  });
});

test("a stop that finds a reset cancels nothing and calls it no payment", async () => {
  const at = house();
  const { promise: restarted, resolve: restart } = Promise.withResolvers<void>();
  at.terminal.reset = () => restarted;
  const reset = at.upkeep.reset();
  const stopped = at.arbiter.stop();
  await at.clock.advance(10_000);
  restart();
  await Promise.all([reset, stopped]);
  expect(at.lines.join()).toContain(
    "what runs at the terminal could not be cancelled for the stop",
  );
});
