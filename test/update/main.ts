/**
 * Cuts the power at random over the whole path of an update, and between every two of its steps:
 *   node test/update/main.ts [--cuts 500] [--seed 1] [--each 12]
 * After each cut between steps it cuts the power again, `each` times, while the next launcher ends
 * the update. Half of the random cuts are in an update that ends well, half in one whose version
 * fails. The last line is JSON; null where programs cannot be recorded.
 */
import { readArguments } from "../../scripts/command-line.ts";
import { recordingLibrary } from "../crash/power/recorder.ts";
import { Random } from "../support/inputs/random.ts";
import { type CutCounts, stepMoments, UpdatePath } from "./path-cuts.ts";

const { values } = readArguments({
  options: {
    cuts: { type: "string", default: "500" },
    seed: { type: "string", default: "1" },
    each: { type: "string", default: "12" },
  },
});

const library = recordingLibrary();
const seed = Number(values.seed);
const counted: Record<string, CutCounts> = {};
if (library !== null) {
  const path = await new UpdatePath().begin();
  for (const course of ["works", "fails"] as const) {
    const recording = await path.record(library, course);
    const times = Math.ceil(Number(values.cuts) / 2);
    counted[`${course}, at random`] = await path.cutAtRandom(recording, times, seed);
    const moments = stepMoments(recording);
    counted[`${course}, at steps`] = await path.cutAt(recording, moments, new Random(seed));
    const twice = { random: new Random(seed), each: Number(values.each) };
    counted[`${course}, twice`] = await path.cutTwice(library, recording, moments, twice);
  }
  path.end();
}
process.stdout.write(`${JSON.stringify(library === null ? null : counted)}\n`);
