import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { commands, killPlan, terminalOf } from "./kill-plan.ts";
import { runKills } from "./kills.ts";
import { mutations } from "./mutations.ts";
import { terminalNames } from "./terminal-kinds.ts";
import { type Evidence, violationsOf } from "./verdict.ts";

/** Each command has its turn. */
const KILLS = 12;

test("kill -9 of any process at any moment breaks no promise about the money", async () => {
  const results = await runKills({ kills: KILLS, seed: 4, houses: 2 });
  expect(results.filter(({ violations }) => violations.length > 0)).toEqual([]);
  expect(results).toHaveLength(KILLS);
  expect(results.some(({ end }) => end === "Success")).toBe(true);
  expect(new Set(results.map(({ command }) => command))).toEqual(new Set(commands));
  expect(new Set(results.map(({ victim }) => victim)).size).toBeGreaterThan(2);
});

test("the same seed gives the same kills", () => {
  expect(killPlan(7, 3, true)).toEqual(killPlan(7, 3, true));
  expect(killPlan(7, 3, true)).not.toEqual(killPlan(8, 3, true));
});

test("of 1 000 kills each kind of terminal that cannot be asked gets at least 40", () => {
  const terminals = Array.from({ length: 1_000 }, (_, index) => terminalOf(index));
  for (const name of terminalNames) {
    expect(terminals.filter((each) => each === name).length).toBeGreaterThanOrEqual(40);
  }
});

test("of 1 000 kills each command gets at least 80, and the restores vary in their parts", () => {
  const plans = Array.from({ length: 1_000 }, (_, index) => killPlan(1, index, true));
  for (const command of commands) {
    expect(plans.filter((plan) => plan.command === command).length).toBeGreaterThanOrEqual(80);
  }
  const restores = plans.filter(({ command }) => command === "restore");
  const kinds = new Set(restores.map(({ victim, share }) => `${victim}, ${share}`));
  expect([...kinds].sort()).toHaveLength(9);
});

const clean: Evidence = {
  worth: [100],
  movements: [{ kind: "charge", amountMinor: 100 }],
  answers: [],
  found: "Success",
  eventKinds: ["report"],
  gotAck: true,
};

test.each<[string, Partial<Evidence>]>([
  ["charged twice", { movements: [...clean.movements, ...clean.movements] }],
  ["an order answered charged is charged", { movements: [] }],
  ["answered not-charged is not charged", { found: "Failed" }],
  ["does not stay unknown", { found: "Unknown" }],
  ["no report gets its ACK before it is stored", { eventKinds: [] }],
])("the comparison of the ledgers finds the violation: %s", (sentence, change) => {
  expect(violationsOf(clean)).toEqual([]);
  expect(violationsOf({ ...clean, ...change }).join()).toContain(sentence);
});

test("an order may stay unknown only where nothing can prove it, and is answered Unknown", () => {
  const unknown = { ...clean, found: "Unknown", mayStayUnknown: true };
  expect(violationsOf(unknown)).toEqual([]);
  const answers = [{ one: { status: "Failed", error: { code: "", charged: "no" } } }];
  expect(violationsOf({ ...unknown, answers }).join()).toContain("is not charged");
});

test.each(mutations.map((mutation) => [mutation.removes, mutation] as const))(
  "the text that a mutation replaces is there exactly once: %s",
  (_removes, { edits }) => {
    for (const { file, from } of edits) {
      const text = readFileSync(join(projectRoot, file), "utf8");
      expect([file, text.split(from).length - 1]).toEqual([file, 1]);
    }
  },
);

test.each(mutations.map((mutation) => [mutation.removes, mutation] as const))(
  "the sentence that a mutation breaks stands in its book, and its tests exist: %s",
  (_removes, { breaks: [section, sentence], tests }) => {
    expect(bookOf(section).replace(/\s+/g, " ")).toContain(sentence);
    expect(tests.filter((file) => !existsSync(join(projectRoot, file)))).toEqual([]);
    expect(tests).not.toEqual([]);
  },
);

/** A rule as "17-loss", "matching" for the page of the matcher, or a section of two books. */
function bookOf(section: string): string {
  const read = (name: string): string =>
    readFileSync(join(projectRoot, "docs", `${name}.md`), "utf8");
  if (section === "matching") return read(section);
  if (/^\d\d-/.test(section)) return read(`rules/${section}`);
  const book = read(section === "1.2" ? "architecture" : "design");
  const [, text = ""] = book.split(new RegExp(`\n###? ${section} `));
  return text.split(/\n###? /)[0] ?? "";
}
