/**
 * Every verdict is knowledge: worlds of terminals, customers and staff, played with the real money
 * side, and judged by what happened in them.
 *   npm run knowledge -- [--family NAME] [--assumption NAME] [--faults N]
 *                        [--worlds N | --hours N] [--seed N]
 * Walks the worlds that are at most N faults from normal life, the near ones first; with --worlds
 * or --hours draws worlds at random instead, as many in each scope, or as long in all. Prints a
 * table of the scopes as markdown, and each way to a violation with two worlds beside each other.
 * Exits with 1 when a scope that has to hold does not.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../src/shared/time.ts";
import { families } from "../test/knowledge/assumptions.ts";
import { nameOf, scopesOf } from "../test/knowledge/scope.ts";
import { pairOf } from "../test/knowledge/side-by-side.ts";
import { completenessOf, type Walked, Walker } from "../test/knowledge/walker.ts";
import { memoryFolder } from "../test/support/memory-folder.ts";

const { values } = parseArgs({
  options: {
    family: { type: "string" },
    assumption: { type: "string" },
    faults: { type: "string", default: "2" },
    worlds: { type: "string" },
    hours: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});
const { family, assumption, worlds, hours } = values;
const [faults, seed] = [Number(values.faults), Number(values.seed)];
const print = (...lines: string[]): void => {
  process.stdout.write(`${lines.join("\n")}\n`);
};
const nowMs = (): number => systemClock.monotonicMs();

const scopes = families
  .filter((each) => family === undefined || each === family)
  .flatMap((each) => scopesOf(each, faults))
  .filter((scope) => assumption === undefined || nameOf(scope).endsWith(assumption));
const walker = new Walker(join(memoryFolder, `knowledge-${process.pid}.db`));
const startedMs = nowMs();
const shareMs = hours === undefined ? Infinity : (Number(hours) * 3_600_000) / scopes.length;
let [total, broken, saidMs] = [0, 0, startedMs];

print("| terminal | taken for granted | worlds | groups | with a violation | ways | unknown |");
print("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
const weaker = new Map<string, number>();
const stories: string[] = [];
for (const scope of scopes) {
  const endsMs = nowMs() + shareMs;
  const isOver = (walked: Walked): boolean => {
    progress(walked);
    return nowMs() > endsMs || walked.worlds >= Number(worlds ?? Infinity);
  };
  const isDrawn = worlds !== undefined || hours !== undefined;
  const walked = isDrawn
    ? await walker.draw(scope, seed, isOver)
    : await walker.walk(scope, isOver);
  await tell(walked);
}
const seconds = Math.round((nowMs() - startedMs) / 1_000);
print("", `${total} worlds in ${seconds} s, seed ${seed}, at most ${faults} faults.`, "");
print("Unknown, although every world that looks like it agrees:", "");
print("| because | groups |", "| --- | ---: |");
for (const [because, count] of [...weaker].sort(([, a], [, b]) => b - a)) {
  print(`| ${because} | ${count} |`);
}
print("", ...stories);
walker.close();
process.exit(broken > 0 ? 1 : 0);

async function tell(walked: Walked): Promise<void> {
  const { scope, found, rested, unknown } = walked;
  const complete = completenessOf(walked);
  total += walked.worlds;
  if (scope.mustHold) broken += walked.broken;
  for (const [because, count] of complete.weaker) {
    weaker.set(because, (weaker.get(because) ?? 0) + count);
  }
  const share = rested === 0 ? "" : `${((100 * unknown) / rested).toFixed(1)} %`;
  const name = scope.mustHold ? nameOf(scope) : `${nameOf(scope)} (measured)`;
  const counts = [walked.worlds, complete.groups, walked.broken, found.length, share];
  print(`| ${[scope.family, name, ...counts].join(" | ")} |`);
  for (const each of found) stories.push(await pairOf(walker, walked, each), "");
}

function progress({ scope, worlds: seen, broken: wrong }: Walked): void {
  if (nowMs() - saidMs < 10_000) return;
  saidMs = nowMs();
  const perMinute = Math.round(((total + seen) * 60_000) / (saidMs - startedMs));
  const where = `${scope.family} ${nameOf(scope)}`;
  process.stderr.write(
    `${where}: ${seen} worlds, ${wrong} with a violation, ${perMinute} a minute\n`,
  );
}
