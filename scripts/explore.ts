/**
 * The exhaustive small scope: every order of messages, losses, crashes and reports for one order
 * and for two, over the pure machines and the decision table.
 *   npm run explore -- [--only TEXT] [--states-max N]
 * Prints the states of each scope, and each law that was broken with the shortest way to it; then
 * the faults that the product once had, put back, each of which must be found. Exits with 1 when a
 * law was broken, a scope was cut short, or a fault was not found.
 */
import { systemClock } from "../src/shared/time.ts";
import { breachText } from "../test/explore/breach-text.ts";
import { product } from "../test/explore/judges.ts";
import { unknownRows } from "../test/explore/laws.ts";
import { oneWayScopes } from "../test/explore/one-way/one-way-scopes.ts";
import { walkOneWay } from "../test/explore/one-way/one-way-walk.ts";
import { faultsPutBack } from "../test/explore/put-back.ts";
import { whole } from "../test/explore/scopes.ts";
import { type Walked, walk } from "../test/explore/walk.ts";
import { readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    only: { type: "string", default: "" },
    "states-max": { type: "string", default: "2000000" },
  },
});
const statesMax = Number(values["states-max"]);
const print = (...lines: string[]): void => {
  process.stdout.write(`${lines.join("\n")}\n`);
};

const startedMs = systemClock.monotonicMs();
let [states, moves, broken] = [0, 0, 0];
print("| scope | states | moves | longest way | broken |", "| --- | ---: | ---: | ---: | ---: |");
for (const scope of whole.filter(({ name }) => name.includes(values.only))) {
  const walked = walk(scope, product, { statesMax });
  printWalked(walked);
  states += walked.states;
  moves += walked.moves;
  broken += walked.found.length + Number(walked.isCut);
  for (const found of walked.found)
    process.stderr.write(`${walked.scope}\n${breachText(found)}\n\n`);
}
for (const scope of oneWayScopes.filter(({ name }) => name.includes(values.only))) {
  const walked = walkOneWay(scope);
  printWalked({ ...walked, scope: `cannot be asked: ${walked.scope}`, isCut: false });
  states += walked.states;
  moves += walked.moves;
  broken += walked.found.length;
  for (const found of walked.found)
    process.stderr.write(`${walked.scope}\n${breachText(found)}\n\n`);
}
const seconds = Math.round((systemClock.monotonicMs() - startedMs) / 1000);
print("", `${states} states and ${moves} moves in ${seconds} s, ${broken} broken.`, "");
print("An order may end Unknown in these rows only:", ...unknownRows.map(({ row }) => `- ${row}`));
print("", "| put back | found after |", "| --- | --- |");
let missed = 0;
for (const { fault, judges, scope, law } of faultsPutBack) {
  const { found } = walk(scope, judges, { stopAtFirst: true });
  const first = found.find((each) => each.law === law);
  if (!first) missed += 1;
  print(`| ${fault} | ${first ? `${first.steps.length} steps: ${first.what}` : "not found"} |`);
}
process.exitCode = broken + missed > 0 ? 1 : 0;

function printWalked({ scope, states: count, moves: made, depth, isCut, found }: Walked): void {
  const cut = isCut ? " (cut)" : "";
  print(`| ${scope} | ${count}${cut} | ${made} | ${depth} | ${found.length} |`);
}
