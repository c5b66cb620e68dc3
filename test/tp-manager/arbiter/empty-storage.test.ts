import { describe, expect, test } from "vitest";
import { type Config, parseConfig } from "../../../src/shared/config/config.ts";
import { sleep } from "../../../src/shared/time.ts";
import { driverFor, protocolPart } from "../../../src/tp-manager/terminal/registry.ts";
import type {
  LastTransaction,
  TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { setupText } from "../../shared/config/setup-text.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { baseline, declined, report } from "../../support/terminals/reports.ts";
import {
  aborted,
  approves,
  disconnected,
  lost,
} from "../../support/terminals/scripted-terminal.ts";

const none: LastTransaction = { kind: "none" };
const bad = declined({ resultCode: "6C", resultText: "aborted", reason: "cancelled" });
const stored = (reported: TransactionReport): LastTransaction => ({
  kind: "transaction",
  report: reported,
});

describe("an empty storage before the payment (docs/rules/28-unchanged-storage.md)", () => {
  async function firstPayment(): Promise<House> {
    const at = house();
    at.start();
    at.terminal.baseline = { ...baseline, last: none };
    at.terminal.last = none;
    at.terminal.script = () => Promise.resolve(lost("line broken"));
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    return at;
  }

  test("stays empty: the order is not charged after the terminal's own time limit", async () => {
    const at = await firstPayment();
    await at.clock.advance(181_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("not-charged");
  });

  test("may be filled and emptied while the terminal is away: the order is unknown", async () => {
    const at = await firstPayment();
    await at.clock.advance(60_000);
    at.terminal.unavailable = disconnected();
    await at.clock.advance(15_000);
    at.terminal.unavailable = undefined;
    await at.clock.advance(200_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    expect(at.arbiter.inquiries.blockedBy).toBeUndefined();
  });

  test("cannot be watched from a crash until a late start: the order stays unknown", async () => {
    const before = house();
    before.start();
    before.terminal.baseline = { ...baseline, last: none };
    before.terminal.script = () => new Promise(() => {});
    void pay(before, request("A-1")).catch(() => {});
    await before.clock.advance(0);
    before.close();
    const at = house(before.path);
    at.terminal.last = none;
    await at.clock.advance(15_000);
    at.start();
    await at.clock.advance(200_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
  });

  test("is filled after the line broke, and emptied again: the order is charged", async () => {
    const at = await firstPayment();
    await at.clock.advance(60_000);
    at.terminal.last = stored(report({ receiptNumber: "0001", traceNumber: "000001" }));
    await at.clock.advance(20_000);
    at.terminal.last = none;
    await at.clock.advance(200_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
  });

  test("holds the sale afterwards: the order is charged after two probes", async () => {
    const at = await firstPayment();
    at.terminal.last = stored(report({ receiptNumber: "0001", traceNumber: "000001" }));
    await at.clock.advance(200_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
  });
});

/** The kiosk has the default times of the setup file, and the terminal answers slowly. */
describe("an aborted payment and an empty storage (docs/rules/22-heard-end.md)", () => {
  const setup = parseConfig(setupText(), "tp-manager", protocolPart).config as Config;
  const confirmAfterMs = driverFor(setup).confirmAfterMs(setup);
  const ANSWER_MS = 300;

  function hears(...reports: readonly TransactionReport[]): House {
    const at = house(undefined, undefined, { confirmAfterMs });
    at.start();
    at.terminal.baseline = { ...baseline, last: none };
    at.terminal.last = none;
    at.terminal.lastTransaction = async (signal) => {
      at.terminal.probes += 1;
      await sleep(at.clock, "answer", ANSWER_MS, signal);
      return at.terminal.last;
    };
    at.terminal.script = (_order, observer) => {
      for (const each of reports) observer.report(each);
      return Promise.resolve(aborted);
    };
    return at;
  }

  test.each([
    ["a good report, then an abort", [report()]],
    ["a good report, then one that is not good", [report(), bad]],
    ["a refused report of another amount", [report({ amountMinor: 1 })]],
  ])("%s: not charged, and the next customer can pay", async (_name, reports) => {
    const at = hears(...reports);
    const answer = pay(at, request("A-1"));
    await at.clock.advance(confirmAfterMs + 2_000);
    expect((await answer).body).toMatchObject({ status: "Cancelled", error: { charged: "no" } });
    at.terminal.script = approves;
    expect(outcome(await pay(at, request("B-1")))).toBe("Success");
  });

  test("prove nothing before the whole pause is over, however many probes are sent", async () => {
    const at = hears(report());
    void pay(at, request("A-1"));
    await at.clock.advance(confirmAfterMs - 1_000);
    expect(at.terminal.probes).toBeGreaterThan(2);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    at.terminal.last = stored(report());
    await at.clock.advance(2 * confirmAfterMs);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
  });

  test("leave the order unknown when the storage was not watched for a while", async () => {
    const at = hears(report());
    void pay(at, request("A-1"));
    await at.clock.advance(1_000);
    at.terminal.state = { ...at.terminal.state, link: "disconnected" };
    const { lastTransaction } = at.terminal;
    at.terminal.lastTransaction = () => Promise.reject(disconnected());
    await at.clock.advance(15_000);
    at.terminal.lastTransaction = lastTransaction;
    await at.clock.advance(60_000);
    expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("in-doubt");
    expect(at.arbiter.inquiries.blockedBy).toBeUndefined();
  });
});
