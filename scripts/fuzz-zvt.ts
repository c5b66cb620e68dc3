/**
 * Random and malformed bytes against both ends of ZVT, many more than in `npm test`:
 *   npm run fuzz:zvt -- [--runs 1000000] [--seed 1] [--only driver|simulator]
 * Prints how the memory grew; ends with 1 on any problem, whose text names the seed.
 */
import { startVitest } from "vitest/node";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    runs: { type: "string", default: "1000000" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "both" },
  },
});
const files = {
  driver: ["test/tp-manager/terminal/zvt/fuzz.test.ts"],
  simulator: ["test/simulator/terminal/zvt/fuzz.test.ts"],
};
const wanted = { ...files, both: [...files.driver, ...files.simulator] }[values.only];
if (!wanted || !/^[1-9]\d{0,8}$/.test(values.runs) || !/^\d{1,9}$/.test(values.seed)) misused();
process.env["ZVT_FUZZ_RUNS"] = values.runs;
process.env["ZVT_FUZZ_SEED"] = values.seed;
const run = await startVitest("test", wanted, { project: ["measuring"], watch: false });
await run.close();
