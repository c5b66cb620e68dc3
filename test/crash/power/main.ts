/**
 * Cuts the power everywhere in recorded sessions:
 *   node test/crash/power/main.ts [--sessions 1] [--images 10] [--seed 1]
 * The last line is JSON; null where programs cannot be recorded.
 */
import { readArguments } from "../../../scripts/command-line.ts";
import { cutEverywhere, type PowerCuts } from "./power-cuts.ts";
import { recordSession } from "./recorded-session.ts";
import { recordingLibrary } from "./recorder.ts";

const { values } = readArguments({
  options: {
    sessions: { type: "string", default: "1" },
    images: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
  },
});

const library = recordingLibrary();
const all: PowerCuts = { moments: 0, images: 0, promised: {}, violations: [] };
for (let i = 0; library !== null && i < Number(values.sessions); i++) {
  const records = await recordSession(library);
  const seed = Number(values.seed) * 1_000 + i;
  const cuts = cutEverywhere(records, { seed, imagesEach: Number(values.images) });
  all.moments += cuts.moments;
  all.images += cuts.images;
  all.violations.push(...cuts.violations);
  for (const [sentence, times] of Object.entries(cuts.promised)) {
    all.promised[sentence] = (all.promised[sentence] ?? 0) + times;
  }
}
process.stderr.write(all.violations.slice(0, 20).join("\n"));
process.stdout.write(`${JSON.stringify(library === null ? null : all)}\n`);
