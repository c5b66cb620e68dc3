/**
 * Every verdict is knowledge: worlds of terminals, customers and staff, played with the real money
 * side, and judged by what happened in them.
 *   npm run knowledge -- [--family NAME] [--assumption NAME] [--faults N]
 *                        [--worlds N | --hours N] [--seed N]
 *   npm run knowledge -- --shop [--payments N] [--seed N]
 * Walks the worlds that are at most N faults from normal life, the near ones first, at most so many
 * in each scope; with --hours so long in all, and after them worlds at random that are further
 * away. Prints the scopes as a table, and with each way to a violation a world that looks like it.
 * Exits with 1 when there is a violation. --shop lets N customers pay at a terminal of our own, and
 * at one that staff uses too, and prints how many orders are unknown.
 */
import { join } from "node:path";
import { systemClock } from "../src/shared/time.ts";
import { families } from "../test/knowledge/assumptions.ts";
import { nameOf, type Scope, scopesOf } from "../test/knowledge/scope.ts";
import { simulateShop } from "../test/knowledge/shop.ts";
import { pairOf } from "../test/knowledge/side-by-side.ts";
import { completenessOf, type Walked, Walker } from "../test/knowledge/walker.ts";
import { memoryFolder } from "../test/support/run/memory-folder.ts";
import { readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    family: { type: "string" },
    assumption: { type: "string" },
    faults: { type: "string", default: "2" },
    worlds: { type: "string" },
    hours: { type: "string" },
    seed: { type: "string", default: "1" },
    shop: { type: "boolean", default: false },
    payments: { type: "string", default: "10000" },
  },
});
const SAID_EACH_MS = 10_000;
const { family, assumption, worlds, hours } = values;
const [faults, seed] = [Number(values.faults), Number(values.seed)];
const print = (...lines: string[]): void => {
  process.stdout.write(`${lines.join("\n")}\n`);
};
const nowMs = (): number => systemClock.monotonicMs();

const startedMs = nowMs();
const path = join(memoryFolder, `knowledge-${process.pid}.db`);
let [total, broken, saidMs] = [0, 0, startedMs];
const weaker = new Map<string, number>();
const pairs: string[] = [];

if (values.shop) {
  for (const isShared of [false, true]) await runShop(isShared);
} else await walkWorlds();
process.exit(broken > 0 ? 1 : 0);

async function runShop(isShared: boolean): Promise<void> {
  const payments = Number(values.payments);
  const kind = isShared ? "shared with staff" : "our own";
  const shop = { payments, isShared, seed };
  const outcome = await simulateShop(path, shop, (paid) => say(`${kind}: ${paid} payments`));
  const counts = { "at once": outcome.atOnce, "at the end": outcome.atTheEnd };
  print("", `### A terminal ${kind}, ${payments} payments, seed ${seed}`, "");
  for (const [when, statuses] of Object.entries(counts)) {
    const share = (100 * (statuses.get("Unknown") ?? 0)) / payments;
    print(`Unknown ${when}: ${share.toFixed(2)} %`, "", ...table(["status", when], statuses), "");
  }
  print(...table(["word that was not true", "times"], outcome.wrong), "");
  print(...table(["alarm", "times"], outcome.alarms));
}

async function walkWorlds(): Promise<void> {
  const scopes = families
    .filter((each) => family === undefined || each === family)
    .flatMap((each) => scopesOf(each, faults))
    .filter((scope) => assumption === undefined || nameOf(scope).endsWith(assumption));
  const walker = new Walker(path);
  const shareMs = hours === undefined ? Infinity : (Number(hours) * 3_600_000) / scopes.length;
  print("| terminal | taken for granted | worlds | groups | with a violation | ways | unknown |");
  print("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
  for (const scope of scopes) {
    const endsMs = nowMs() + shareMs;
    let printed = 0;
    const isOver = (walked: Walked): boolean => {
      for (const each of walked.found.slice(printed)) printAtOnce(scope, each);
      printed = walked.found.length;
      const counts = `${walked.worlds} worlds, ${walked.broken} with a violation`;
      say(`${scope.family} ${nameOf(scope)}: ${counts}`);
      const isEnough = walked.isWhole && hours === undefined;
      return isEnough || nowMs() > endsMs || walked.worlds >= Number(worlds ?? Infinity);
    };
    await printWalked(walker, await walker.walk(scope, seed, isOver));
  }
  walker.close();
  const seconds = Math.round((nowMs() - startedMs) / 1_000);
  print("", `${total} worlds in ${seconds} s, seed ${seed}, at most ${faults} faults.`, "");
  print("Unknown, although every world that looks like it agrees:", "");
  print(...table(["because", "groups"], weaker), "", ...pairs);
}

async function printWalked(walker: Walker, walked: Walked): Promise<void> {
  const { scope, found, rested, unknown } = walked;
  const complete = completenessOf(walked);
  total += walked.worlds;
  broken += walked.broken;
  for (const [because, count] of complete.weaker) {
    weaker.set(because, (weaker.get(because) ?? 0) + count);
  }
  const share = rested === 0 ? "" : `${((100 * unknown) / rested).toFixed(1)} %`;
  const counts = [walked.worlds, complete.groups, walked.broken, found.length, share];
  print(`| ${[scope.family, nameOf(scope), ...counts].join(" | ")} |`);
  for (const each of found) pairs.push(await pairOf(walker, walked, each), "");
}

function table(heads: readonly string[], counts: ReadonlyMap<string, number>): string[] {
  const rows = [...counts].sort(([, a], [, b]) => b - a);
  return [
    `| ${heads.join(" | ")} |`,
    "| --- | ---: |",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
  ];
}

/** Prints a broken law at once, because a run may take hours. */
function printAtOnce(scope: Scope, { law, order, timeline }: Walked["found"][number]): void {
  const day = timeline.choices[0]?.taken ?? "";
  const way = [day, ...timeline.faults].join(" | ");
  process.stderr.write(`${scope.family}, ${nameOf(scope)}: ${law} (${order}): ${way}\n`);
}

/** Prints a line of progress, not too often. */
function say(what: string): void {
  if (nowMs() - saidMs < SAID_EACH_MS) return;
  saidMs = nowMs();
  process.stderr.write(`${Math.round((saidMs - startedMs) / 1_000)} s, ${what}\n`);
}
