/**
 * Sends wrong requests to the local API over real sockets and judges every answer:
 *   npm run fuzz:api -- [--requests 100000] [--seed 1]
 * Prints how often each status was answered and how the memory grew; ends with 1 on any problem.
 */
import { createHash } from "node:crypto";
import { parseArgs } from "node:util";
import { startVitest } from "vitest/node";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
  },
});
if (!/^[1-9]\d{0,8}$/.test(values.requests)) {
  process.stderr.write("usage: npm run fuzz:api -- [--requests N] [--seed TEXT]\n");
  process.exit(64);
}
process.env["FUZZ_REQUESTS"] = values.requests;
process.env["FUZZ_SEED"] = String(createHash("sha256").update(values.seed).digest().readUInt32LE());
const run = await startVitest("test", ["test/tp-manager/http/fuzz.test.ts"], {
  project: ["main"],
  testTimeout: 3_600_000,
  watch: false,
});
await run.close();
