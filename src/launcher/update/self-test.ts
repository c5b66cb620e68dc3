import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import type { Program } from "../../shared/ipc/contract.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import type { Installation } from "../../shared/process/installation.ts";
import { updateFolderOf } from "../../shared/process/probation.ts";
import { isFull } from "../../shared/store/storage-fault.ts";
import { copySynced } from "../../shared/store/store-file.ts";
import { type Clock, within } from "../../shared/time.ts";
import { programFile, programFileOf } from "../../shared/version-files.ts";
import { removeWhole } from "../../update/durable-files.ts";
import { isWhole, runtimeOf } from "./versions.ts";

/** A slow kiosk with a large journal; a program that hangs takes longer. */
const TEST_WITHIN_MS = 10 * 60_000;
const OUTPUT_CHARACTERS = 400;
const stores = ["journal", "supervisor"] as const;
const programs: readonly Program[] = ["tp-manager", "supervisor"];

interface Failure {
  readonly why: string;
  /** The programs of the version are at fault. */
  readonly bars: boolean;
}

/** The exit code of a process, null when it had none, and the end of its output. */
interface End {
  readonly code: number | null;
  readonly output: string;
}

/**
 * Tests a new version while the present one runs (docs/updates.md 4.1), and answers why it failed;
 * undefined: all went well. Its programs read a copy of the setup file and migrate copies of the
 * stores, no more; then its launcher runs its own demo in an empty folder: both programs, simulated
 * terminal and gateway, one payment. The demo writes its own setup file, so that nothing that is
 * started knows an address of the installation.
 */
export async function selfTest(
  version: string,
  { dataDirectory, configFile }: Installation,
  clock: Clock,
): Promise<Failure | undefined> {
  const folder = folderOf(dataDirectory);
  const copies = join(folder, "copies");
  const demo = join(folder, "demo");
  const launcher = [programFileOf(version, "launcher")];
  const run = (args: readonly string[], runtime = runtimeOf(version)): Promise<End> =>
    runQuietly(runtime, args, clock);
  // A disk that is full says nothing about a version.
  const failure = (why: string, { code }: End): Failure => ({
    why,
    bars: code !== exitCodes.unavailable && !isFull(dataDirectory),
  });
  removeWhole(folder);
  mkdirSync(copies, { recursive: true, mode: 0o700 });
  try {
    copySynced(configFile, join(copies, "config.txt"));
    for (const store of stores) {
      const from = join(dataDirectory, `${store}.db`);
      if (!existsSync(from)) continue;
      const args = [programFile("copy-database"), from, join(copies, `${store}.db`)];
      const end = await run(args, process.execPath);
      if (end.code === 0) continue;
      return { why: `${store}.db could not be copied: ${end.output}`, bars: false };
    }
    for (const program of programs) {
      const args = [programFileOf(version, program), "--check", "--data", copies];
      const end = await run(args);
      if (end.code !== 0) return failure(`${program} cannot run here: ${end.output}`, end);
    }
    const { code, output } = await run([...launcher, "--demo", "--data", demo]);
    // The demo's launcher says "unavailable" of programs that crash too.
    return code === 0
      ? undefined
      : failure(`a sample payment failed: ${output}`, { code: null, output });
  } finally {
    await clearSelfTest(version, dataDirectory, clock);
  }
}

const folderOf = (dataDirectory: string): string =>
  join(updateFolderOf(dataDirectory), "self-test");

/** Ends what a test has started, and removes its folder. */
export async function clearSelfTest(
  version: string,
  dataDirectory: string,
  clock: Clock,
): Promise<void> {
  const demo = join(folderOf(dataDirectory), "demo");
  const stop = [programFileOf(version, "launcher"), "stop", "--data", demo];
  if (existsSync(demo) && isWhole(version)) await runQuietly(runtimeOf(version), stop, clock);
  removeWhole(folderOf(dataDirectory));
}

/** Runs a process at a priority below everything else on the machine. */
async function runQuietly(runtime: string, args: readonly string[], clock: Clock): Promise<End> {
  const child = spawn(runtime, args, { stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
  const ended = endOf(child);
  giveWay(child.pid);
  const end = await within(clock, "self-test", TEST_WITHIN_MS, ended);
  if (end !== undefined) return end;
  child.kill("SIGKILL");
  await ended;
  return { code: null, output: "it did not end in time" };
}

function giveWay(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The process has ended already.
  }
}

function endOf(child: ChildProcess): Promise<End> {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (bytes: Buffer) => {
      output = `${output}${bytes}`.slice(-OUTPUT_CHARACTERS);
    });
  }
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: null, output: error.message }));
    child.once("close", (code) => resolve({ code, output: output.trim() || `exit code ${code}` }));
  });
}
