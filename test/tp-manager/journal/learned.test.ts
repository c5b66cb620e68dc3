import { join } from "node:path";
import { expect, test } from "vitest";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

const identity = { serialNumber: "S1", deviceId: "D1", terminalId: "T1", version: "1.0" };
const from = { setup: "zvt", identity };

function journal(path = join(temporaryFolder(), "journal.db")): Journal {
  return new Journal(path);
}

test("what a terminal has shown is kept, and outlives the process", () => {
  const path = join(temporaryFolder(), "journal.db");
  const first = journal(path);
  expect(first.learned.of(from).has("stores-reversals")).toBe(false);
  first.learned.of(from).saw("stores-reversals");
  expect(first.learned.of(from).has("echoes-approvals")).toBe(false);
  first.close();
  const next = journal(path);
  expect(next.learned.of(from).has("stores-reversals")).toBe(true);
  next.close();
});

test("another serial number, device, software or setup has shown nothing", () => {
  const { learned } = journal();
  learned.of(from).saw("stores-reversals");
  const others = [{ serialNumber: "S2" }, { deviceId: "D2" }, { version: "1.1" }];
  for (const other of others) {
    const changed = { ...from, identity: { ...identity, ...other } };
    expect(learned.of(changed).has("stores-reversals")).toBe(false);
  }
  expect(learned.of({ ...from, setup: "other" }).has("stores-reversals")).toBe(false);
  // What it shows itself takes the place of what the one before it had shown.
  learned.of({ ...from, setup: "other" }).saw("echoes-approvals");
  expect(learned.of(from).has("stores-reversals")).toBe(false);
});

test("an accepted terminal and a loss of the journal forget everything", () => {
  const { learned, terminalLog, gaps } = journal();
  const events = [
    () => terminalLog.acceptTerminal(identity, 1),
    () => gaps.begin("lost", false, 2),
    () => gaps.begin("an older one", false, 3),
  ];
  for (const happens of events) {
    learned.of(from).saw("stores-reversals");
    expect(learned.of(from).has("stores-reversals")).toBe(true);
    happens();
    expect(learned.of(from).has("stores-reversals")).toBe(false);
  }
});

test("one counterexample clears a fact; only what forbids verdicts is learned again", () => {
  const learned = journal().learned.of(from);
  for (const fact of ["stores-reversals", "echoes-refusals"] as const) {
    learned.saw(fact);
    learned.contradicted(fact);
    expect(learned.has(fact)).toBe(false);
    learned.saw(fact);
  }
  expect(learned.has("stores-reversals")).toBe(false);
  expect(learned.has("echoes-refusals")).toBe(true);
  // A counterexample counts also before the first example.
  const other = journal().learned.of(from);
  other.contradicted("stores-reversals");
  other.saw("stores-reversals");
  expect(other.has("stores-reversals")).toBe(false);
});
