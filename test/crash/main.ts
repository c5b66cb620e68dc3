/**
 * Kills real processes:
 *   node test/crash/main.ts --kills N --seed S [--houses 4] [--results FILE] [--stop-at-first]
 * With a results file a run that was interrupted goes on where it was. The last line is JSON.
 */
import { readArguments } from "../../scripts/command-line.ts";
import { runKills } from "./kills.ts";

const { values } = readArguments({
  options: {
    kills: { type: "string", default: "40" },
    seed: { type: "string", default: "1" },
    houses: { type: "string", default: "4" },
    results: { type: "string" },
    "stop-at-first": { type: "boolean", default: false },
  },
});

const results = await runKills({
  kills: Number(values.kills),
  seed: Number(values.seed),
  houses: Number(values.houses),
  stopAtFirst: values["stop-at-first"],
  ...(values.results === undefined ? {} : { results: values.results }),
  report: (result) => {
    if (result.violations.length > 0) process.stderr.write(`${JSON.stringify(result)}\n`);
  },
});
process.stdout.write(`${JSON.stringify(results)}\n`);
