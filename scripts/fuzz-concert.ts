/**
 * Random and malformed messages through the codec of Concert, many more than in `npm test`:
 *   npm run fuzz:concert -- [--runs 1000000] [--seed 1]
 * Ends with 1 on any problem, whose text names the seed.
 */
import fc from "fast-check";
import { misused, readArguments } from "./command-line.ts";
import { concertProperties } from "./concert-properties.ts";

const { values } = readArguments({
  options: {
    runs: { type: "string", default: "1000000" },
    seed: { type: "string", default: "1" },
  },
});
if (!/^[1-9]\d{0,8}$/.test(values.runs) || !/^\d{1,9}$/.test(values.seed)) misused();
const parameters = { numRuns: Number(values.runs), seed: Number(values.seed) };
for (const [name, property] of Object.entries(concertProperties)) {
  fc.assert<unknown[]>(property as fc.IProperty<unknown[]>, parameters);
  process.stdout.write(`${values.runs} inputs: ${name}\n`);
}
