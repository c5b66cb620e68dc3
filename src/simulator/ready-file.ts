import { renameSync, rmSync, writeFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { announcePresence } from "../shared/process/presence.ts";

/**
 * Announces that a simulator can be used: writes `content` to the file that its launcher waits for,
 * complete or not at all; null: there is no file. On a signal to stop, removes the file, so that a
 * launcher starts another simulator, and calls `stop`.
 */
export function announceReady(
  path: string | null,
  content: Readonly<Record<string, unknown>>,
  stop: () => Promise<void>,
): void {
  // The compile cache for a quick next start is written now: a killed simulator cannot do it.
  flushCompileCache();
  for (const signal of ["SIGINT", "SIGTERM", "SIGBREAK"] as const) {
    process.once(signal, () => {
      if (path !== null) rmSync(path, { force: true });
      void stop();
    });
  }
  if (path === null) return;
  if (process.platform !== "linux") announcePresence(path);
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, `${JSON.stringify(content)}\n`);
  renameSync(unfinished, path);
}
