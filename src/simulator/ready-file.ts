import { renameSync, rmSync, writeFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { announcePresence } from "../shared/process/presence.ts";

/**
 * Announces that a simulator is up: writes `content` to the file that its launcher waits for,
 * complete or not at all; null: there is no file. On a signal to stop the file is removed, so that
 * a launcher starts another simulator, and `stop` is called.
 */
export function announceReady(
  path: string | null,
  content: Readonly<Record<string, unknown>>,
  stop: () => Promise<void>,
): void {
  // The compile cache makes the next start quick; a killed simulator could not write the cache.
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
