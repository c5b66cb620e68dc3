import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reap } from "./reap.ts";

/**
 * The folder in which one run of tests, or one script that starts programs, keeps all that is
 * temporary. Whatever such a run starts inherits TMPDIR, and is known by it however it was started:
 * detached, by a launcher, by a browser.
 */
export const runFolder = process.env["TEST_RUN_FOLDER"] ?? opened();

/** What the checkouts of test/launcher start: bundled, a program starts in half the time. */
export const bundledLauncher = join(runFolder, "bundled-launcher");

function opened(): string {
  const folder = mkdtempSync(join(tmpdir(), "utc-run-"));
  process.env["TEST_RUN_FOLDER"] = folder;
  process.env["TMPDIR"] = folder;
  // A program starts in less than half the time when another test has started it before.
  const compiled = join(folder, "compiled");
  mkdirSync(compiled);
  process.env["NODE_COMPILE_CACHE"] = compiled;
  const reaper = startReaper(folder);
  process.once("exit", () => {
    reap(folder);
    reaper.kill("SIGKILL");
  });
  return folder;
}

/** A process that outlives this one, however this one ends, and then ends what it had started. */
function startReaper(folder: string): ChildProcess {
  const script = join(import.meta.dirname, "reaper.ts");
  const reaper = spawn(process.execPath, [script, folder], {
    cwd: "/",
    env: { PATH: process.env["PATH"] },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  reaper.unref();
  (reaper.stdin as unknown as { unref(): void }).unref();
  return reaper;
}
