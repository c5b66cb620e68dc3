import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import type { Installation } from "../../shared/installation.ts";
import type { Program } from "../../shared/ipc/contract.ts";
import { updateFolderOf } from "../../shared/probation.ts";
import { copySynced } from "../../shared/stores/store-file.ts";
import { type Clock, within } from "../../shared/time.ts";
import { programFile, programFileOf } from "../../shared/version-files.ts";
import { removeWhole } from "../../update/durable-files.ts";
import { runtimeOf } from "./versions.ts";

/** A slow kiosk with a large journal; a program that hangs takes longer. */
const TEST_WITHIN_MS = 10 * 60_000;
const LAST_WORDS = 400;
const stores = ["journal", "supervisor"] as const;
const programs: readonly Program[] = ["tp-manager", "supervisor"];

/**
 * Tries a new version beside the running one (docs/updates.md 4.1). Its programs read a copy of the
 * setup file and migrate copies of the stores, and only that; then its launcher runs its own demo
 * in an empty folder: both programs, simulated terminal and gateway, one payment. The demo writes
 * its own setup file, so no address of the installation is known to anything that is started.
 * undefined: all went well; else why not.
 */
export async function selfTest(
  version: string,
  { dataDirectory, configFile }: Installation,
  clock: Clock,
): Promise<string | undefined> {
  const folder = folderOf(dataDirectory);
  const copies = join(folder, "copies");
  const demo = join(folder, "demo");
  const launcher = [programFileOf(version, "launcher")];
  const run = (
    words: readonly string[],
    runtime = runtimeOf(version),
  ): Promise<string | undefined> => runQuietly(runtime, words, clock);
  removeWhole(folder);
  mkdirSync(copies, { recursive: true, mode: 0o700 });
  try {
    copySynced(configFile, join(copies, "config.txt"));
    for (const store of stores) {
      const from = join(dataDirectory, `${store}.db`);
      if (!existsSync(from)) continue;
      const words = [programFile("copy-database"), from, join(copies, `${store}.db`)];
      const why = await run(words, process.execPath);
      if (why !== undefined) return `${store}.db could not be copied: ${why}`;
    }
    for (const program of programs) {
      const words = [programFileOf(version, program), "--check", "--data", copies];
      const why = await run(words);
      if (why !== undefined) return `${program} cannot take over: ${why}`;
    }
    const why = await run([...launcher, "--demo", "--data", demo]);
    return why && `a sample payment failed: ${why}`;
  } finally {
    await clearSelfTest(version, dataDirectory, clock);
  }
}

const folderOf = (dataDirectory: string): string =>
  join(updateFolderOf(dataDirectory), "self-test");

/** Ends what a test has started, and takes its folder away. */
export async function clearSelfTest(
  version: string,
  dataDirectory: string,
  clock: Clock,
): Promise<void> {
  const demo = join(folderOf(dataDirectory), "demo");
  const stop = [programFileOf(version, "launcher"), "stop", "--data", demo];
  if (existsSync(demo)) await runQuietly(runtimeOf(version), stop, clock);
  removeWhole(folderOf(dataDirectory));
}

/** undefined: it ended with 0; else its last words. Whatever else the machine does goes first. */
async function runQuietly(
  runtime: string,
  words: readonly string[],
  clock: Clock,
): Promise<string | undefined> {
  const child = spawn(runtime, words, { stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
  const ended = endOf(child);
  giveWay(child.pid);
  const end = await within(clock, "self-test", TEST_WITHIN_MS, ended);
  if (end !== undefined) return end.code === 0 ? undefined : end.words;
  child.kill("SIGKILL");
  await ended;
  return "it did not end in time";
}

function giveWay(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The process has ended already.
  }
}

function endOf(
  child: ChildProcess,
): Promise<{ readonly code: number | null; readonly words: string }> {
  let words = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (bytes: Buffer) => {
      words = `${words}${bytes}`.slice(-LAST_WORDS);
    });
  }
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: null, words: error.message }));
    child.once("close", (code) => resolve({ code, words: words.trim() || `exit code ${code}` }));
  });
}
