import { describe, expect, test } from "vitest";
import type { Assumption } from "../../../src/tp-manager/matching/assumptions.ts";
import { type House, house, matcherFor, pay, request } from "../../support/house/payment-house.ts";
import { baseline, declined, identity } from "../../support/terminals/reports.ts";
import { aborted, lost } from "../../support/terminals/scripted-terminal.ts";
import { ends, fresh, stored, textOf } from "./reported-payments.ts";

const without = (...off: Assumption[]): House => house(undefined, undefined, { off });
const phaseOf = (at: House) => at.journal.attempts.decisive("A")?.state.phase;
const declinedEnd = { ...aborted, reason: "declined" } as const;

describe("what is not taken for granted proves nothing", () => {
  test.each<[string, Assumption, Parameters<typeof ends>[2], Parameters<typeof ends>[3]]>([
    ["a cancellation", "abort-final", aborted, {}],
    ["a bank's refusal", "decline-final", declinedEnd, { reports: [declined()] }],
    ["an approval", "own-report", { end: "completed", ticket: "" }, { reports: [fresh] }],
  ])("%s without %s", async (_, off, end, reports) => {
    for (const [at, phase] of [
      [without(off), "in-doubt"],
      [house(), off === "own-report" ? "charged" : "not-charged"],
    ] as const) {
      await ends(at, "A", end, reports);
      expect(phaseOf(at)).toBe(phase);
    }
  });

  test.each<[Assumption, string]>([
    ["storage-real", "many A: not granted"],
    ["own-time", "many A: not granted"],
    ["counting-receipts", "one A"],
  ])("a new record without %s", async (off, expected) => {
    const at = house();
    await ends(at, "A", aborted);
    const matcher = matcherFor(at.journal, at.terminal, at.clock, { off: [off] });
    expect(textOf(matcher.whose(fresh, identity))).toBe(expected);
  });

  test.each<[Assumption, "same" | "new", string]>([
    ["fresh-storage", "same", "in-doubt"],
    ["counting-receipts", "same", "not-charged"],
    ["storage-real", "new", "in-doubt"],
    ["counting-receipts", "new", "charged"],
  ])("a probe without %s: %s", async (off, shows, phase) => {
    const at = without(off);
    at.terminal.script = () => Promise.resolve(lost("the line broke"));
    at.terminal.last = shows === "same" ? baseline.last : stored(fresh);
    await pay(at, request("A"));
    await at.clock.advance(400_000);
    expect(phaseOf(at)).toBe(phase);
  });
});
