/**
 * Sends wrong requests to the local API of a real tp-manager and judges every answer:
 *   npm run fuzz:api -- [--requests 100000] [--seed 1]
 * Prints how often each status was answered and how much memory was in use after a collection at
 * every eighth of the run. Ends with 1 on an answer that is not documented, a crash, or memory
 * that is not flat.
 */
import { createHash } from "node:crypto";
import { fuzzRun } from "../test/tp-manager/http/fuzz-run.ts";
import { misused, readArguments } from "./command-line.ts";

const MARKS = 8;
/**
 * After the first quarter memory may not grow by more than this. Code that is compiled late does
 * grow; eight bytes kept of each of 200 000 requests would be more.
 */
const GROWTH_MAX_BYTES = 1.5 * 1024 * 1024;

const { values } = readArguments({
  options: {
    requests: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
  },
});
const requests = /^[1-9]\d{0,8}$/.test(values.requests) ? Number(values.requests) : 0;
if (requests < MARKS) misused();
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const megabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(2);

const { statuses, problems, usedBytes, chargedMinor } = await fuzzRun({
  seed: createHash("sha256").update(values.seed).digest().readUInt32LE(),
  marks: Array.from({ length: MARKS }, (_, i) => Math.round((requests * (i + 1)) / MARKS)),
  onMark: (mark, used) => print(`${mark} requests: ${megabytes(used)} MiB in use`),
});
print("answers by status; 0: the connection ended without one");
for (const [status, count] of [...statuses].sort(([a], [b]) => a - b)) {
  print(`${String(status).padStart(4)}: ${count}`);
}
print(`${chargedMinor} cents were charged on the simulated terminal`);
for (const problem of problems) print(`\nPROBLEM ${problem}`);
const settled = usedBytes.slice(MARKS / 4 - 1);
const growth = Math.max(...settled) - (settled[0] ?? 0);
const flat = growth <= GROWTH_MAX_BYTES;
print(`${flat ? "flat" : "NOT FLAT"}: +${megabytes(growth)} MiB after the first quarter`);
process.exitCode = problems.length === 0 && flat ? 0 : 1;
