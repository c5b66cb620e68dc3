import { expect, test } from "vitest";
import { BrokenInvariant } from "../../../src/shared/invariant.ts";
import {
  alarms,
  type House,
  house,
  outcome,
  pay,
  request,
  storesReversals,
} from "../../support/house/payment-house.ts";
import { report } from "../../support/terminals/reports.ts";
import {
  approves,
  lost,
  reversalReport,
  type ScriptedTerminal,
} from "../../support/terminals/scripted-terminal.ts";

/** Longer than any time limit; the terminal shows the previous transaction all the time. */
const AGES_MS = 24 * 60 * 60_000;

const phaseOf = (at: House) => at.journal.attempts.decisive("A-1")?.state.phase;

const kindsOf = (at: House): string[] => {
  const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
  return at.journal.attempts.events(transactionId).map(({ kind }) => kind);
};

/** Changes of these kinds ("*": any change) cannot be written to the journal until `mend`. */
function fails(at: House, ...kinds: readonly string[]): { mend(): void } {
  const update = at.journal.attempts.update.bind(at.journal.attempts);
  at.journal.attempts.update = (transactionId, change) => {
    if (kinds.includes("*") || kinds.includes(change.steps.at(-1)?.kind ?? ""))
      throw new Error("disk is full");
    return update(transactionId, change);
  };
  return {
    mend: () => {
      at.journal.attempts.update = update;
    },
  };
}

/** Our ACK arrives while the disk is full, and the payment ends as `end` says. */
function paysOnFullDisk(at: House, end: "completed" | "lost"): { mend(): void } {
  const disk = { mend: (): void => {} };
  at.terminal.script = (order, observer) => {
    expect(observer.report(report({ amountMinor: order.amountMinor }))).toBe("accept");
    disk.mend = fails(at, "*").mend;
    observer.ackArrived();
    if (end === "completed") return Promise.resolve({ end: "completed", ticket: "" });
    disk.mend();
    return Promise.resolve(lost("line broken"));
  };
  return { mend: () => disk.mend() };
}

/** The order is unknown, and nothing charges its card again. */
async function staysUnknown(at: House): Promise<void> {
  await at.clock.advance(AGES_MS);
  expect(phaseOf(at)).toBe("in-doubt");
  at.terminal.script = approves;
  const again = pay(at, request("A-1"));
  await at.clock.advance(AGES_MS);
  expect(outcome(await again)).toBe("Unknown");
  expect(at.terminal.paid).toHaveLength(1);
}

test("a result with its ACK outweighs an unchanged storage if no end was written", async () => {
  const at = house();
  const disk = paysOnFullDisk(at, "completed");
  await expect(pay(at, request("A-1"))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  await at.clock.advance(5_000);
  expect(phaseOf(at)).toBe("sent");
  disk.mend();
  await staysUnknown(at);
  expect(kindsOf(at).slice(0, 3)).toEqual(["report", "acknowledged", "interrupted"]);
});

test("a result with its ACK outweighs an unchanged storage if the end was lost", async () => {
  const at = house();
  paysOnFullDisk(at, "lost");
  expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
  await staysUnknown(at);
  expect(kindsOf(at).slice(0, 3)).toEqual(["report", "acknowledged", "end-lost"]);
});

test("an ACK is written once, and a later probe still proves the charge", async () => {
  const at = house();
  const disk = paysOnFullDisk(at, "completed");
  await expect(pay(at, request("A-1"))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  // The ACK can be written, but not the record that follows.
  disk.mend();
  const second = fails(at, "interrupted");
  await at.clock.advance(5_000);
  second.mend();
  at.terminal.last = { kind: "transaction", report: report() };
  await at.clock.advance(60_000);
  expect(phaseOf(at)).toBe("charged");
  expect(kindsOf(at).filter((kind) => kind === "acknowledged")).toHaveLength(1);
});

test("an ACK that was not written still counts after a contrary report", async () => {
  const at = house();
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    const disk = fails(at, "acknowledged");
    observer.ackArrived();
    disk.mend();
    observer.report(report({ good: false, resultCode: "6C", reason: "cancelled" }));
    return Promise.resolve(lost("line broken"));
  };
  expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
  await staysUnknown(at);
});

test("a result that could not be written is refused, and the storage disproves it", async () => {
  const at = house();
  at.terminal.script = (_order, observer) => {
    const disk = fails(at, "*");
    expect(() => observer.report(report())).toThrow("disk is full");
    disk.mend();
    return Promise.resolve(lost("it was refused"));
  };
  expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
  await at.clock.advance(AGES_MS);
  expect(phaseOf(at)).toBe("not-charged");
});

type Reversal = ScriptedTerminal["reversal"];

/** A charged order and its reversal, on a terminal that goes on showing the sale. */
async function reversed(reversal: (at: House) => Reversal): Promise<House> {
  const at = house();
  at.terminal.remembers = true;
  await pay(at, request("A-1"));
  at.terminal.remembers = false;
  at.terminal.reversal = reversal(at);
  return at;
}

test("an ACK of a reversal that was not written keeps it in doubt", async () => {
  let disk = { mend: (): void => {} };
  const at = await reversed((here) => (order, observer) => {
    expect(observer.report(reversalReport(order))).toBe("accept");
    disk = fails(here, "*");
    observer.ackArrived();
    return Promise.resolve({ end: "completed", ticket: "" });
  });
  await expect(at.afterSale.reverse("A-1")).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  await at.clock.advance(5_000);
  disk.mend();
  await at.clock.advance(AGES_MS);
  expect(phaseOf(at)).toBe("reversal-in-doubt");
  expect(kindsOf(at)).toContain("acknowledged");
});

test("a reversal's result that could not be written is refused", async () => {
  const at = await reversed((here) => (order, observer) => {
    const disk = fails(here, "*");
    expect(() => observer.report(reversalReport(order))).toThrow("disk is full");
    disk.mend();
    return Promise.resolve(lost("it was refused"));
  });
  storesReversals(at);
  await at.afterSale.reverse("A-1");
  await at.clock.advance(AGES_MS);
  expect(phaseOf(at)).toBe("charged");
});

test("a result with its ACK still counts when the terminal reports it again", async () => {
  const at = house();
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    observer.ackArrived();
    observer.report(report());
    return Promise.resolve(lost("line broken"));
  };
  expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
  await staysUnknown(at);
});

test.each([
  ["reports the reversal again", {}],
  ["then reports a refusal", { good: false, resultCode: "6C" }],
] as const)("a reversal with its ACK is in doubt when the terminal %s", async (_what, change) => {
  const at = await reversed(() => (order, observer) => {
    observer.report(reversalReport(order));
    observer.ackArrived();
    observer.report({ ...reversalReport(order), ...change });
    return Promise.resolve(lost("line broken"));
  });
  await at.afterSale.reverse("A-1");
  await at.clock.advance(AGES_MS);
  expect(phaseOf(at)).toBe("reversal-in-doubt");
});

test("the end of the window for goods sends nothing when it cannot be written", async () => {
  const at = house();
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof lost>>();
  at.terminal.script = (_order, observer) => {
    expect(observer.report(report())).toBe("hold");
    return promise;
  };
  const paying = pay(at, request("A-1", { delivery: { withinSeconds: 30 } }));
  await at.clock.advance(0);
  const disk = fails(at, "goods-decided");
  await at.clock.advance(31_000);
  expect(at.terminal.decisions).toEqual([]);
  disk.mend();
  resolve(lost("line broken"));
  await paying;
  await at.clock.advance(AGES_MS);
  expect(phaseOf(at)).toBe("not-charged");
});

test("a fault of the program in a payment ends the process and blames no disk", async () => {
  const at = house();
  const fault = new BrokenInvariant("a test");
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    return Promise.reject(fault);
  };
  const answered = expect(at.orders.pay(request("A-1"))).rejects.toBe(fault);
  await expect(at.clock.advance(0)).rejects.toBe(fault);
  await answered;
  expect([phaseOf(at), at.orders.chargedOfOrder("A-1")]).toEqual(["in-doubt", "unknown"]);
  expect(at.arbiter.inquiries.blockedBy).toBe("A-1");
  // As after a crash: the ACK of the report may have arrived without a record of it.
  expect(at.journal.attempts.decisive("A-1")?.state).toMatchObject({ perhapsTaken: true });
  expect(at.lines.join()).not.toContain('"alarm":"journal"');
});

test("a fault of the program at an unmatched transaction ends the process", async () => {
  const at = house();
  at.start();
  const fault = new BrokenInvariant("a test");
  const { terminalLog } = at.journal;
  const keep = terminalLog.keepUnmatched.bind(terminalLog);
  terminalLog.keepUnmatched = () => {
    terminalLog.keepUnmatched = keep;
    throw fault;
  };
  at.terminal.emit({ type: "unmatched-report", report: report() });
  await expect(at.clock.advance(0)).rejects.toBe(fault);
  expect(alarms(at)).toContain("unmatched-transaction");
});
