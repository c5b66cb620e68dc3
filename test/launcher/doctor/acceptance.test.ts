import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { projectRoot } from "../../../src/shared/version-files.ts";
import { TestInstallation } from "../../support/programs/installation.ts";
import { acceptanceOf } from "../fixtures/acceptance-run.ts";

const at = new TestInstallation({
  terminalSwitches: ["--instant", "--vending", "--walk-away-ms", "50"],
  config: { OPERATOR_LOGIN: "boss", OPERATOR_PWD: "of-the-operator", ZVT_PROFILE: "standard" },
});
beforeAll(async () => {
  await at.start();
  await at.connected();
});
afterAll(() => at.stop());

const casesFile = join(projectRoot, "examples", "terminal-acceptance", "cases.json");
const cases: ReadonlyArray<{ readonly name: string }> = JSON.parse(readFileSync(casesFile, "utf8"));
const TERMINAL = ["Make 5413330000000006 Model", "1.2"];

/** What a person answers to the questions of each case; a case that is missing is left out. */
function answersTo(answers: Readonly<Record<string, string>>, endOfDay = "s"): readonly string[] {
  const ofCases = cases.flatMap(({ name }) => (name in answers ? ["", answers[name] ?? ""] : "s"));
  return [...TERMINAL, ...ofCases, endOfDay];
}

const accepted = (answers: readonly string[]) => acceptanceOf(at.data, answers);

test("twelve payments, each after a question, and a report without card numbers", async () => {
  expect(cases).toHaveLength(12);
  const charged = (await at.ledger()).entries.length;
  const run = await accepted(
    answersTo(
      {
        "a chip card pays": "y",
        "the same order is requested again": "y",
        "the bank declines": "n",
        "the customer walks away": "n",
        "a payment is reversed": "n",
        "the goods do not come out": "?",
      },
      "",
    ),
  );
  expect(run.code, run.out).toBe(0);
  for (const [name, row] of [
    ["a chip card pays", "Success | yes | y | as expected | HTTP 200,"],
    ["the same order is requested again", "Success | yes | y | as expected |"],
    ["a card pays without contact", " |  |  | left out |"],
    ["the bank declines", "Declined PAYMENT_DECLINED | no | n | as expected |"],
    ["the customer walks away", "Cancelled CUSTOMER_TIMEOUT | no | n | as expected |"],
    ["a payment is reversed", "Reversed | no | n | as expected |"],
    ["the goods do not come out", "Cancelled GOODS_NOT_DELIVERED | no | ? | as expected |"],
    ["end of day", "as expected | the terminal counts 1 sales, the journal 1"],
  ] as const) {
    expect(run.verdictOf(name)).toContain(row);
  }
  const text = readFileSync(run.file, "utf8");
  expect(run.out).toContain(text);
  expect(text).toContain("terminal: Make (digits) Model; software: 1.2");
  expect(text).toContain("card 6 + 4 of 16 digits");
  expect(text).toContain("settings: ZVT_PROFILE=standard");
  expect(text).not.toMatch(/541333|of-the-operator/);
  expect(statSync(run.file).mode & 0o777).toBe(0o600);
  expect(run.out).toContain("Give back: a chip card pays.");
  // Two sales stay or are reversed, one was approved and taken back.
  expect((await at.ledger()).entries.length).toBeGreaterThan(charged);
});

test("what a person knows against an answer ends with another exit code", async () => {
  const run = await accepted([...TERMINAL, "s", "s", "s", "", "Yes", "q"]);
  expect(run.code, run.out).toBe(70);
  expect(run.verdictOf("the bank declines")).toContain("| no | y | CONTRADICTION |");
  expect(run.out).toContain("Give back: the bank declines.");
  expect(readdirSync(at.data).filter((name) => name.startsWith("acceptance-"))).toHaveLength(2);
});

test("nothing is paid while the terminal is not ready", async () => {
  await at.killTerminal();
  await expect.poll(async () => (await at.call("GET", "/check")).one.cr).not.toBe("0");
  const run = await accepted(answersTo({}));
  expect([run.code, run.out]).toEqual([69, expect.stringContaining("is not ready for a payment")]);
  expect(run.file).toBe("");
});
