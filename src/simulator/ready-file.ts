import { renameSync, rmSync, writeFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { announcePresence } from "../shared/process/presence.ts";

/**
 * Says that a simulator is up: writes `content` to the file that its launcher waits for, complete
 * or not at all. Without a path there is nobody to tell.
 */
export function tellReady(path: string | null, content: Readonly<Record<string, unknown>>): void {
  // A simulator that is killed would leave nothing for the next start to be quick with.
  flushCompileCache();
  if (path === null) return;
  if (process.platform !== "linux") announcePresence(path);
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, `${JSON.stringify(content)}\n`);
  renameSync(unfinished, path);
}

/** The simulator stops: a launcher that looks now starts another one. */
export function untellReady(path: string | null): void {
  if (path !== null) rmSync(path, { force: true });
}
