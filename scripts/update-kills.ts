/**
 * Kills updates with -9 while a kiosk asks for payments, and looks for lost or double money:
 *   npm run update-kills -- [--kills 200] [--houses 2] [--seed 1] [--results FILE]
 * A house is an installed demo that takes one version after the other. The update's launcher is
 * killed in each step of the switch (docs/updates.md 4.2), in every second round together with both
 * programs; then the keep-alive has to end the update by itself. For a kill in a step that leads
 * back, the version fails in its probation.
 * The kiosk repeats an order until it is answered, so one order is open at each kill. --results
 * keeps each kill, so that a run that was cut off goes on with the kills that are missing. Prints a
 * table, and exits with 1 for a violation, or when many kills have missed a step.
 */
import { spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectRoot } from "../src/shared/version-files.ts";
import { type Killed, type Plan, stepsOfSwitch, UpdateHouse } from "../test/update/kill-house.ts";
import { makeBundle } from "./bundle.ts";
import { readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    kills: { type: "string", default: "200" },
    houses: { type: "string", default: "2" },
    seed: { type: "string", default: "1" },
    results: { type: "string" },
  },
});
const kills = Number(values.kills);
const folder = process.env["ACCEPTANCE_FOLDER"];
const results = values.results ?? (folder && join(folder, "update-kills.jsonl"));
/** With fewer kills than these a step can be missed at random. */
const KILLS_FOR_EACH_STEP = 40;

function planOf(index: number): Plan {
  const steps = Object.keys(stepsOfSwitch) as Array<keyof typeof stepsOfSwitch>;
  const step = steps[index % steps.length] ?? "testing";
  const random =
    (Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(Number(values.seed), 0x85ebca6b)) >>> 0;
  const withPrograms = Math.floor(index / steps.length) % 2 === 1;
  return { index, step, withPrograms, share: random / 2 ** 32 };
}

const earlier = results !== undefined && existsSync(results) ? readFileSync(results, "utf8") : "";
const done = new Map<number, Killed>(
  earlier
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Killed)
    .map((killed) => [killed.index, killed]),
);
const open = Array.from({ length: kills }, (_, index) => index).filter((one) => !done.has(one));
const work = mkdtempSync(join(tmpdir(), "update-kills-"));
try {
  process.env["TEST_BUNDLE"] = join(work, "bundle");
  await makeBundle(join(work, "bundle"));
  symlinkSync(join(projectRoot, "node_modules"), join(work, "node_modules"));
  const houses = Array.from({ length: Number(values.houses) }, (_, number) => number);
  await Promise.all(houses.map((number) => inHouse(join(work, `house-${number}`))));
} finally {
  rmSync(work, { recursive: true, force: true });
}

async function inHouse(at: string): Promise<void> {
  mkdirSync(at);
  symlinkSync(join(projectRoot, "node_modules"), join(at, "node_modules"));
  const house = new UpdateHouse(at, (command, args) => spawn(command, args, { stdio: "ignore" }));
  try {
    await house.open();
    for (let index = open.shift(); index !== undefined; index = open.shift()) {
      const killed = await house.kill(planOf(index));
      done.set(index, killed);
      if (results !== undefined) appendFileSync(results, `${JSON.stringify(killed)}\n`);
      for (const violation of killed.violations) {
        process.stdout.write(`kill ${index}, ${killed.step}: ${violation}\n`);
      }
    }
  } finally {
    await house.close();
  }
}

const all = [...done.values()];
const rows = Object.keys(stepsOfSwitch).map((step) => {
  const ofStep = all.filter((one) => one.step === step);
  const count = (is: (one: Killed) => boolean): number => ofStep.filter(is).length;
  const [both, stays] = [count((one) => one.withPrograms), count((one) => one.stays)];
  return `| ${step} | ${ofStep.length} | ${both} | ${stays} | ${count((one) => one.sales > 0)} |`;
});
const violations = all.flatMap((one) => one.violations);
const sales = all.reduce((sum, one) => sum + one.sales, 0);
const seconds = all.map(({ ms }) => ms / 1_000).sort((a, b) => a - b);
process.stdout.write(
  [
    `${all.length} kills, ${sales} sales, ${violations.length} violations;`,
    `until the open order was answered: median ${seconds[seconds.length >> 1]?.toFixed(1)} s, ` +
      `longest ${seconds.at(-1)?.toFixed(1)} s.`,
    "",
    "| step | kills | with both programs | the new version stayed | with sales |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
    "",
  ].join("\n"),
);
const missed = Object.keys(stepsOfSwitch).filter((step) => !all.some((one) => one.step === step));
const isMissed = kills >= KILLS_FOR_EACH_STEP && missed.length > 0;
if (isMissed) process.stdout.write(`never hit: ${missed.join(", ")}\n`);
process.exit(violations.length > 0 || isMissed ? 1 : 0);
