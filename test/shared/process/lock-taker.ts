/** Takes the lock of the folder in its argument when a line arrives, and says how that went. */
import { createInterface } from "node:readline";
import { acquireProcessLock } from "../../../src/shared/process/exclusive-lock.ts";
import { ProgramExit } from "../../../src/shared/process/exit-codes.ts";

const folder = process.argv[2] as string;
console.log("ready");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
await lines.next();
try {
  const lock = acquireProcessLock(folder, "tp-manager");
  console.log("locked");
  await lines.next();
  lock.release();
  console.log("released");
  await lines.next();
} catch (error) {
  console.log(error instanceof ProgramExit ? `refused ${error.exitCode}` : String(error));
}
process.exit(0);
