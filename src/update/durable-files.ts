import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { z } from "zod";
import { replaceSynced, syncFolder, writeSynced } from "../shared/store/store-file.ts";
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

interface Renaming {
  readonly platform?: NodeJS.Platform;
  readonly rename?: (from: string, to: string) => void;
}

/**
 * Has the same patience with work on small files that a step must not be parted from: the process
 * waits. Such work can be begun anew.
 */
export function patiently<T>(work: () => T): T {
  for (let tries = 0; ; tries++) {
    try {
      return work();
    } catch (error) {
      const isWorthIt = process.platform === "win32" && held.has(codeOf(error));
      if (!isWorthIt || tries >= RENAME_TRIES_MS / RENAME_PAUSE_MS) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RENAME_PAUSE_MS);
    }
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "";

/** As {@link replaceSynced}, with that patience. */
export function replaceHeld(path: string, text: string): void {
  patiently(() => replaceSynced(path, text));
}

/** A file is gone, which may be held for a moment. Its folder is not synced. */
export function removeHeld(path: string): void {
  patiently(() => rmSync(path, { force: true }));
}

/** A small file and the folder that it is in; on disk when it returns. */
export function writeJson(path: string, value: object): void {
  makeFolder(dirname(path));
  replaceHeld(path, `${JSON.stringify(value)}\n`);
}

/** The file is gone on disk when it returns. */
export function removeNow(path: string): void {
  if (!existsSync(path)) return;
  removeHeld(path);
  syncFolder(dirname(path));
}

/** The value that a small file holds; undefined: the file is not there, or damaged. */
export function readJsonIfWhole<T>(path: string, schema: z.ZodType<T>): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Whether a rename that has failed is worth another try. */
function isHeld(error: unknown, sinceMs: number, clock: Clock, platform: NodeJS.Platform): boolean {
  if (platform !== "win32" || !held.has(codeOf(error))) return false;
  return clock.monotonicMs() - sinceMs <= RENAME_TRIES_MS;
}

/** On disk when it resolves; nothing may be at `to`, unless both are files. */
export async function renameSynced(
  from: string,
  to: string,
  clock: Clock,
  { platform = process.platform, rename = renameSync }: Renaming = {},
): Promise<void> {
  const begunMs = clock.monotonicMs();
  for (;;) {
    try {
      rename(from, to);
      break;
    } catch (error) {
      if (!isHeld(error, begunMs, clock, platform)) throw error;
      await sleep(clock, "rename", RENAME_PAUSE_MS);
    }
  }
  syncFolder(dirname(to));
  if (dirname(from) !== dirname(to)) syncFolder(dirname(from));
}

/** A file is the old one or the new one, as the scripts at the root need it; on disk then. */
export async function replacePatiently(
  path: string,
  text: string,
  mode: number,
  clock: Clock,
  how: Renaming = {},
): Promise<void> {
  const unfinished = `${path}.unfinished`;
  writeSynced(unfinished, text, { mode });
  await renameSynced(unfinished, path, clock, how);
}
