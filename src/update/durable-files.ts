import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { syncFolder } from "../shared/stores/store-file.ts";
import { type Clock, sleep } from "../shared/time.ts";

function syncFile(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Files of a folder without folders in it, and their names, are on disk when this returns. */
export function syncFlatFolder(folder: string): void {
  for (const name of readdirSync(folder)) syncFile(join(folder, name));
  syncFolder(folder);
}

export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/** Whatever is there, or nothing, is gone. */
export function removeWhole(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}

/** A virus scanner of Windows holds new files for a moment. */
const RENAME_TRIES_MS = 10_000;
const RENAME_PAUSE_MS = 100;
const held = new Set(["EPERM", "EACCES", "EBUSY"]);

/** On disk when it resolves; nothing may be at `to`, unless both are files. */
export async function renameSynced(from: string, to: string, clock: Clock): Promise<void> {
  const begun = clock.monotonicMs();
  for (;;) {
    try {
      renameSync(from, to);
      break;
    } catch (error) {
      const isHeld = held.has((error as NodeJS.ErrnoException).code ?? "");
      const isOver = clock.monotonicMs() - begun > RENAME_TRIES_MS;
      if (process.platform !== "win32" || !isHeld || isOver) throw error;
      await sleep(clock, "rename", RENAME_PAUSE_MS);
    }
  }
  syncFolder(dirname(to));
  if (dirname(from) !== dirname(to)) syncFolder(dirname(from));
}
