import { afterAll, beforeAll, expect, test } from "vitest";
import { checkPrograms } from "../../src/launcher/doctor/check-programs.ts";
import { programStates } from "../../src/launcher/processes/programs.ts";
import { systemClock } from "../../src/shared/time.ts";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { scriptOf, until } from "../support/programs/child-program.ts";
import { type InstallationOptions, TestInstallation } from "../support/programs/installation.ts";
import { outputOf } from "../support/programs/own-processes.ts";

const timers = { TEST_TIMERS: "yes", RECOVERY_SILENCE_MS: 50, GATEWAY_WAIT: 0 };
const zvt = (config: InstallationOptions["config"] = {}): InstallationOptions => ({
  alone: true,
  terminalSwitches: ["--instant"],
  config: { ...timers, ...config },
});
const caisseAp = (config: InstallationOptions["config"] = {}): InstallationOptions => ({
  ...zvt({ TERMINAL_PROTOCOL: "caisse-ap", ...config }),
  terminalSwitches: ["--protocol", "caisse-ap", "--instant"],
});

/** One installation, which gets one terminal after the other. */
const at = new TestInstallation(zvt());
beforeAll(async () => {
  await at.start();
  await at.connected();
});
afterAll(() => at.stop());

const launcher = scriptOf("launcher/main.ts");
const doctor = (...args: string[]): Promise<string> =>
  outputOf(process.execPath, [launcher, "doctor", "--data", at.data, ...args]);

/** What the doctor finds at the programs: the part of its work that these tests change. */
const found = async () =>
  checkPrograms(await programStates(at.data, systemClock, PATIENCE_MS), at.data);

/** What it finds of the terminal's assumptions, where all of it is good. */
async function assumed(): Promise<string[]> {
  const findings = (await found()).filter(({ check }) => check === "assumptions");
  return findings.map(({ verdict, says, todo }) =>
    verdict === "ok" && todo === null ? says : `${verdict} ${says} -> ${todo}`,
  );
}

/** What the doctor prints of the terminal's assumptions, each line in its order. */
const printed = async (): Promise<string[]> =>
  (await doctor())
    .split("\n")
    .filter((line) => line.startsWith("assumptions "))
    .map((line) => line.replace(/^assumptions ok +/, ""));

const ofEveryTerminal = [
  "own-report: a report inside our command that equals no known record is about our command",
  "own-time: a record's moment, or its arrival, lies within the time of its command",
  "decline-final: after the bank's refusal nothing is booked",
  'abort-final: after "not carried out" or a cancellation nothing is booked',
];
const ofAsked = [
  "storage-real: the stored last transaction really happened",
  "fresh-storage: a charged sale is stored within the terminal's own time limit",
  "counting-receipts: only sales use receipt numbers, in order, with one wrap",
  ...ofEveryTerminal,
];
const reversals = "shows a completed reversal as its last transaction";
/** What the doctor prints of assumptions, each given as its name and its text. */
const assumes = (...lines: string[]): string[] =>
  lines.map((line) => line.replace(/^([\w-]+)/, "The connector assumes this of the terminal ($1)"));
type Displayed = "has not shown yet" | "has shown";
const learned = (name: string, displayed: Displayed, does: string): string =>
  `The terminal ${displayed} that it does this (${name}): that it ${does}`;
const learns = [learned("stores-reversals", "has not shown yet", reversals)];

const ofOneWay = [
  ...ofEveryTerminal,
  "ordered-results: a one-way terminal delivers its results in order",
];
const oneResult =
  "one-result-each: a one-way terminal repeats no result after it has accepted the next request " +
  "(off with results of a kind that has carried our reference)";
const ownConnection =
  "own-connection: where each payment has its connection, a result comes on that of its request " +
  "alone";
const echoes = (kind: string, displayed: Displayed) =>
  learned("echoes-reference", displayed, `gives our reference back with ${kind}`);
const register = (displayed: Displayed) =>
  learned("echoes-register", displayed, "gives our register number back");
/** What the doctor prints of an assumption that is switched off, with what switches it off. */
const isOff = (name: string, because: string): string =>
  `This assumption about the terminal is switched off here (${name}): ${because}`;

test("each assumption about an own ZVT terminal is printed, with what it has to show", async () => {
  const alone = "sole-user: nobody else sells at this terminal (off with TERMINAL_SHARED=yes)";
  expect(await printed()).toEqual([...assumes(alone, ...ofAsked), ...learns]);
  const { findings } = JSON.parse(await doctor("--json")) as { findings: { check: string }[] };
  const [first, ...others] = findings.filter(({ check }) => check === "assumptions");
  expect(first).toEqual({
    check: "assumptions",
    code: "assumption-on",
    verdict: "ok",
    says: assumes(alone)[0],
    todo: null,
    values: { name: "sole-user", detail: alone.replace("sole-user: ", "") },
  });
  expect(others).toHaveLength(ofAsked.length + learns.length);
});

test("of a terminal that is away nothing is printed as learned", async () => {
  await at.killTerminal();
  await until("the terminal is away", async () => {
    const about = (await found()).filter(({ check }) => check === "terminal");
    return about.every(({ verdict }) => verdict !== "ok") || undefined;
  });
  expect((await assumed()).length).toBeGreaterThan(0);
  expect(await assumed()).not.toContain(learns[0]);
  await at.startTerminal();
  await at.connected();
});

test("a stored reversal is printed as learned once the terminal has shown one", async () => {
  await at.firstPaid("A");
  const { one } = await at.pay(2, "B");
  expect(one.status).toBe("Success");
  const reversed = await at.call("POST", "/reversal", { orderId: "B" });
  expect(reversed.one.status).toBe("Reversed");
  await at.firstPaid("C");
  expect((await assumed()).at(-1)).toBe(learned("stores-reversals", "has shown", reversals));
});

test("TERMINAL_SHARED=yes: the assumption of a sole user is printed as off", async () => {
  await at.changeTerminal(zvt({ TERMINAL_SHARED: "yes" }));
  await at.connected();
  const soleUser = isOff("sole-user", "TERMINAL_SHARED=yes");
  expect(await assumed()).toEqual([soleUser, ...assumes(...ofAsked), ...learns]);
});

test("what a one-way terminal returns is learned for each kind of result", async () => {
  await at.changeTerminal(caisseAp());
  await at.connected();
  const not = "has not shown yet";
  const others = [echoes("refusals", not), echoes("cancellations", not)];
  expect(await assumed()).toEqual([
    ...assumes(...ofOneWay, oneResult, ownConnection),
    echoes("approvals", not),
    ...others,
    register(not),
  ]);
  await at.firstPaid("D");
  expect(await printed()).toEqual([
    ...assumes(...ofOneWay, oneResult, ownConnection),
    echoes("approvals", "has shown"),
    ...others,
    register("has shown"),
  ]);
});

test("with a profile that sends no reference nothing is printed as learned of it", async () => {
  await at.changeTerminal(caisseAp({ CONCERT_PROFILE: "ingenico-desk5000" }));
  await at.connected();
  expect(await printed()).toEqual([
    ...assumes(...ofOneWay, oneResult, ownConnection),
    isOff("echoes-reference", "settings that send no reference"),
    register("has not shown yet"),
  ]);
});
