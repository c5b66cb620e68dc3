import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  beginProbation,
  endProbation,
  receivedOnProbation,
  updateFolderOf,
} from "../../../src/shared/process/probation.ts";
import { house, outcome, pay, request } from "../../support/payment-house.ts";
import { report } from "../../support/reports.ts";
import { disconnected, lost, ScriptedTerminal } from "../../support/scripted-terminal.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { api } from "../http/rig.ts";

/** docs/updates.md 4.3: a new version that has not proved itself yet. */

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

/** A sale that is charged, and one of which nobody knows the end. */
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

test("a new payment is refused as safe, and nothing reaches the terminal", async () => {
  beginProbation(dataDirectory);
  const at = restarted();
  await expect(pay(at, request("C-1"))).rejects.toMatchObject({ code: "UPDATING", charged: "no" });
  expect(at.terminal.paid).toEqual([]);
  endProbation(dataDirectory);
  await at.clock.advance(1_000);
  expect(outcome(await pay(at, request("C-1")))).toBe("Success");
});

test("an order that is known is answered as it stands", async () => {
  await earlier();
  const at = restarted();
  expect(await pay(at, request("A-1"))).toMatchObject({ replayed: true });
});

test("an order in doubt is not asked about before the probation is over", async () => {
  await earlier();
  const terminal = new ScriptedTerminal();
  const at = restarted(terminal);
  await at.clock.advance(600_000);
  expect(terminal.probes).toBe(0);
  endProbation(dataDirectory);
  await at.clock.advance(600_000);
  expect(terminal.probes).toBeGreaterThan(0);
});

test("a program that stops on its probation does not wait for its end", async () => {
  await earlier();
  const at = restarted();
  await at.clock.advance(1_000);
  await at.arbiter.stop();
});

test("a result that comes unasked is kept, and ends the right to put the stores back", () => {
  beginProbation(dataDirectory);
  const at = restarted();
  expect(receivedOnProbation(dataDirectory)).toBe(false);
  at.terminal.tell({ type: "unmatched-report", report: report() });
  expect(receivedOnProbation(dataDirectory)).toBe(true);
  expect(at.journal.terminalLog.unmatched(10)).toHaveLength(1);
  // A mark goes and none comes, because a full disk has room for that.
  expect(readdirSync(updateFolderOf(dataDirectory))).toEqual(["probation"]);
});

describe("over HTTP", () => {
  test("what acts is refused with the truth about its order, what reads is answered", async () => {
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
