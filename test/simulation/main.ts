/**
 * A share of the simulated runs, in a process of its own:
 *   node test/simulation/main.ts --from SEED --runs N [--every STEP] [--stop-at-first]
 *   node test/simulation/main.ts --seed SEED [--no-shrink]
 * The last line is JSON. A seed replays exactly.
 */
import { readArguments } from "../../scripts/command-line.ts";
import { planOf } from "./plan-of-seed.ts";
import { run } from "./run.ts";
import { shrink } from "./shrink.ts";
import { addOutcome, newTally } from "./tally.ts";

const { values } = readArguments({
  options: {
    seed: { type: "string" },
    from: { type: "string", default: "1" },
    runs: { type: "string", default: "100" },
    every: { type: "string", default: "1" },
    "stop-at-first": { type: "boolean", default: false },
    "no-shrink": { type: "boolean", default: false },
  },
});

const PRINTED_MAX = 5;
const single = values.seed !== undefined;
const from = Number(values.seed ?? values.from);
const runs = single ? 1 : Number(values.runs);
const tally = newTally();
let printed = 0;
for (let i = 0; i < runs; i++) {
  const seed = from + i * Number(values.every);
  const outcome = await run(planOf(seed));
  addOutcome(tally, outcome);
  if (outcome.violations.length > 0 && printed++ < PRINTED_MAX) {
    const smallest = values["no-shrink"] ? outcome : await shrink(outcome);
    const { violations, plan, timeline } = smallest;
    process.stderr.write(`seed ${seed}: ${JSON.stringify(violations, null, 1)}\n`);
    process.stderr.write(`${JSON.stringify(plan)}\n${timeline.join("\n")}\n\n`);
    if (values["stop-at-first"]) break;
  } else if (single) process.stderr.write(`${outcome.timeline.join("\n")}\n`);
}
process.stdout.write(`${JSON.stringify(tally)}\n`);
