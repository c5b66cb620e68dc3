import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  beginProbation,
  endProbation,
  receivedOnProbation,
  updateFolderOf,
} from "../../../src/shared/program/probation.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { report } from "../../support/terminals/reports.ts";
import { disconnected, lost, ScriptedTerminal } from "../../support/terminals/scripted-terminal.ts";
import { api } from "../http/rig.ts";

/** A new version on probation (docs/updates.md 4.3). */

let dataDirectory: string;
let journal: string;
beforeEach(() => {
  dataDirectory = temporaryFolder();
  journal = join(dataDirectory, "journal.db");
});

const restarted = (terminal = new ScriptedTerminal()) => {
  const at = house(journal, terminal, { dataDirectory });
  at.start();
  return at;
};

/** One order is charged, and one is in doubt. */
async function earlier() {
  const at = house(journal);
  await pay(at, request("A-1"));
  at.terminal.script = () => {
    at.terminal.unavailable = disconnected();
    return Promise.resolve(lost("line broken"));
  };
  await pay(at, request("B-1"));
  at.close();
  beginProbation(dataDirectory);
}

test("a new payment is refused with charged no, and nothing reaches the terminal", async () => {
  beginProbation(dataDirectory);
  const at = restarted();
  await expect(pay(at, request("C-1"))).rejects.toMatchObject({ code: "UPDATING", charged: "no" });
  expect(at.terminal.paid).toEqual([]);
  endProbation(dataDirectory);
  await at.clock.advance(1_000);
  expect(outcome(await pay(at, request("C-1")))).toBe("Success");
});

test("a payment of a known order is answered from the journal", async () => {
  await earlier();
  const at = restarted();
  expect(await pay(at, request("A-1"))).toMatchObject({ replayed: true });
});

test("no probe is sent for an order in doubt before the probation is over", async () => {
  await earlier();
  const terminal = new ScriptedTerminal();
  const at = restarted(terminal);
  await at.clock.advance(600_000);
  expect(terminal.probes).toBe(0);
  endProbation(dataDirectory);
  await at.clock.advance(600_000);
  expect(terminal.probes).toBeGreaterThan(0);
});

test("a program that stops during probation does not wait for the end of probation", async () => {
  await earlier();
  const at = restarted();
  await at.clock.advance(1_000);
  await at.arbiter.stop();
});

test("an unmatched result is kept, and the stores may not be restored from then on", () => {
  beginProbation(dataDirectory);
  const at = restarted();
  expect(receivedOnProbation(dataDirectory)).toBe(false);
  at.terminal.emit({ type: "unmatched-report", report: report() });
  expect(receivedOnProbation(dataDirectory)).toBe(true);
  expect(at.journal.terminalLog.unmatched(10)).toHaveLength(1);
  // A mark is removed instead of written, because that works on a full disk too.
  expect(readdirSync(updateFolderOf(dataDirectory))).toEqual(["probation"]);
});

describe("a call over HTTP during probation", () => {
  test("is refused with its order's charged if it changes anything, else answered", async () => {
    await earlier();
    const { call } = await api({}, restarted());
    expect(await call("POST", "/payment", { orderId: "C-1", amount: 9.99 })).toMatchObject({
      http: 503,
      one: { error: { code: "UPDATING", charged: "no", retry: "safe" } },
    });
    expect((await call("POST", "/payment", { orderId: "A-1", amount: 9.99 })).http).toBe(200);
    expect(await call("POST", "/reversal", { orderId: "A-1" })).toMatchObject({
      one: { error: { code: "UPDATING", charged: "yes" } },
    });
    for (const path of ["/reset", "/tlc"]) {
      expect((await call("POST", path)).one.error.code).toBe("UPDATING");
    }
    expect((await call("GET", "/payment/A-1")).http).toBe(200);
    expect((await call("GET", "/health")).text).toContain("a new version is on probation");
  });
});
