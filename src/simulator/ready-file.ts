import { renameSync, rmSync, writeFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { announcePresence } from "../shared/process/presence.ts";

/**
 * Writes `content` to the file that the launcher awaits, complete or not at all. On a stop signal,
 * removes it, so that a launcher starts another simulator, and calls `stop`. `path` null: no file.
 */
export function announceReady(
  path: string | null,
  content: Readonly<Record<string, unknown>>,
  stop: () => Promise<void> | undefined,
): void {
  // The compile cache makes the next start quick. A killed simulator could not write it any more.
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
