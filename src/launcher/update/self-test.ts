import { type ExecFileException, execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { updateFolderOf } from "../../shared/program/probation.ts";
import { readOr } from "../../shared/read-or.ts";
import { isFull } from "../../shared/store/storage-fault.ts";
import { copySynced } from "../../shared/store/store-file.ts";
import { programFile, programFileOf } from "../../shared/version-files.ts";
import { removeWhole } from "../../update/durable-files.ts";
import { type CommandContext, reasonIn } from "../output.ts";
import { programNames } from "../processes/process-table.ts";
import { isWhole, runtimeOf } from "./versions.ts";

/** The time limit of one step of the test, in ms; a slow kiosk with a large journal needs less. */
const TEST_WITHIN_MS = 10 * 60_000;
/** The most characters of a failed program's output that are printed, and of the reason. */
const OUTPUT_CHARACTERS = 400;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const { PRIORITY_BELOW_NORMAL } = constants.priority;
const stores = ["journal", "supervisor"] as const;

/**
 * Tests a new version while the present one runs (docs/updates.md 4.1), and returns why the test
 * failed; undefined: it has passed. `bars`: whether the programs of the version are at fault. The
 * new programs read a copy of the setup file and migrate copies of the stores; then the new
 * launcher runs a demo with one payment in an empty folder. The demo has a setup file of its own,
 * so that it cannot reach the installation's terminal or gateway.
 */
export async function selfTest(version: string, context: CommandContext) {
  const { dataDirectory, configFile } = context;
  const folder = folderOf(dataDirectory);
  const [copies, demo] = [join(folder, "copies"), join(folder, "demo")];
  const runtime = runtimeOf(version).file;
  removeWhole(folder);
  mkdirSync(copies, { recursive: true, mode: 0o700 });
  const fail = (what: string, printed: string, bars: boolean) => {
    const reason = reasonIn(printed).slice(0, OUTPUT_CHARACTERS);
    if (reason !== printed) context.output.note(printed.slice(-OUTPUT_CHARACTERS));
    return { why: `${what}: ${reason}`, bars };
  };
  try {
    copySynced(configFile, join(copies, "config.txt"));
    for (const store of stores) {
      const from = join(dataDirectory, `${store}.db`);
      if (!existsSync(from)) continue;
      const to = join(copies, `${store}.db`);
      const copying = [programFile("copy-database"), from, to];
      const { code, output } = await run(process.execPath, copying);
      if (code !== 0) return fail(`${store}.db could not be copied`, output, false);
    }
    // A full disk, or the exit code "unavailable", is not the fault of the new version.
    const bars = (code: unknown) => code !== exitCodes.unavailable && !isFull(dataDirectory);
    for (const program of programNames) {
      const args = [programFileOf(version, program), "--check", "--data", copies];
      const { code, output } = await run(runtime, args);
      if (code !== 0) return fail(`${program} cannot run here`, output, bars(code));
    }
    const args = [programFileOf(version, "launcher"), "--demo", "--data", demo];
    const { code, output } = await run(runtime, args);
    if (code === 0) return undefined;
    // A demo ends with the code "unavailable" even after a crash, so its exit code proves nothing.
    return fail("a sample payment failed", output, bars(undefined));
  } finally {
    await clearSelfTest(version, dataDirectory);
  }
}

const folderOf = (dataDirectory: string) => join(updateFolderOf(dataDirectory), "self-test");

/** Ends the programs that a test has started, and removes the folder of the test. */
export async function clearSelfTest(version: string, dataDirectory: string): Promise<void> {
  const demo = join(folderOf(dataDirectory), "demo");
  const stop = [programFileOf(version, "launcher"), "stop", "--data", demo];
  if (existsSync(demo) && isWhole(version)) await run(runtimeOf(version).file, stop);
  removeWhole(folderOf(dataDirectory));
}

async function run(runtime: string, args: readonly string[]) {
  const running = promisify(execFile)(runtime, args, {
    timeout: TEST_WITHIN_MS,
    killSignal: "SIGKILL",
    maxBuffer: OUTPUT_BYTES_MAX,
    windowsHide: true,
  });
  const { pid } = running.child;
  // setPriority throws when the process has already ended.
  if (pid !== undefined) readOr(undefined, () => setPriority(pid, PRIORITY_BELOW_NORMAL));
  // An error of execFile has in `code` the exit code, or why the program could not be started.
  const end: Partial<ExecFileException> = await running.catch((error: ExecFileException) => error);
  const { code = 0, stdout = "", stderr = "", message = "", killed } = end;
  const printed = `${stdout}${stderr}`.trim();
  if (killed) return { code: null, output: "it did not end in time" };
  return { code, output: printed || message };
}
