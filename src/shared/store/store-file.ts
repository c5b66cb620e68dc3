import {
  closeSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { z } from "zod";

/** A mark: which database, in which session, and how many writes it had. */
export const storeMarkSchema = z.object({
  /** The identity of the database, made when the database was created. */
  store: z.string(),
  /** The session's id. Each start and nightly copy begins a session that older copies lack. */
  session: z.string(),
  /** The number of writes to the database, as far as they are on disk. */
  count: z.int().min(0),
});
export type StoreMark = z.infer<typeof storeMarkSchema>;

/** The store's file, whose mark shows a loss of the database (docs/rules/17-loss.md). */
const storeFileSchema = storeMarkSchema.extend({
  /** Why the database was restored on purpose. */
  restored: z.string().optional(),
  /** When the database was restored; the copy's file name has this time until it is renamed. */
  restoredAt: z.string().optional(),
});
type StoreFile = z.infer<typeof storeFileSchema>;

/** Returns the path of the store's file, whose own folder survives a deletion of the databases. */
function storeFileOf(databasePath: string): string {
  const name = `${basename(databasePath, ".db")}.json`;
  return join(dirname(databasePath), "stores", name);
}

/** Returns the content of the store's file; undefined: the file is missing or malformed. */
export function readStoreFile(databasePath: string): StoreFile | undefined {
  return readJsonIfWhole(storeFileOf(databasePath), storeFileSchema);
}

/** Returns the value that a small file holds; undefined: the file is missing or malformed. */
export function readJsonIfWhole<T>(path: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (error instanceof SyntaxError || ["ENOENT", "ENOTDIR"].includes(code)) return undefined;
    throw error;
  }
}

/** Records that the database was restored on purpose. On disk when this returns. */
export function declareRestored(databasePath: string, restored: string, restoredAt: string): void {
  const known = readStoreFile(databasePath) ?? { store: "", session: "", count: 0 };
  writeStoreFile(databasePath, { ...known, restored, restoredAt });
}

/** Replaces the store's file, which is whole at any time. On disk when this returns. */
export function writeStoreFile(databasePath: string, content: StoreFile): void {
  const path = storeFileOf(databasePath);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceSynced(path, `${JSON.stringify(content)}\n`);
}

/** Writes a file and syncs its bytes; its name is on disk after {@link syncFolder}. */
export function writeSynced(
  path: string,
  bytes: Buffer | string,
  { flag = "w", mode = 0o600 }: { readonly flag?: "w" | "wx"; readonly mode?: number } = {},
): void {
  // Without `encoding`, because Node.js ignores `flush` for a text with an encoding.
  writeFileSync(path, bytes, { flag, mode, flush: true });
}

const CHUNK_BYTES = 1024 * 1024;

/** Copies a file and syncs the copy's bytes. `from`: a path, or the descriptor of an open file. */
export function copySynced(from: string | number, to: string, mode = 0o600): void {
  const source = typeof from === "number" ? from : openSync(from, "r");
  try {
    const target = openSync(to, "w", mode);
    try {
      fchmodSync(target, mode);
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let at = 0, bytes = -1; bytes !== 0; at += bytes) {
        bytes = readSync(source, chunk, 0, chunk.length, at);
        for (let written = 0; written < bytes; )
          written += writeSync(target, chunk, written, bytes - written);
      }
      fsyncSync(target);
    } finally {
      closeSync(target);
    }
  } finally {
    if (source !== from) closeSync(source);
  }
}

/** Replaces a file: at any time there is the whole old or new file. On disk when this returns. */
export function replaceSynced(path: string, text: string, mode = 0o600): void {
  const unfinished = `${path}.unfinished`;
  writeSynced(unfinished, text, { mode });
  renameSync(unfinished, path);
  syncFolder(dirname(path));
}

/** Syncs the names in a folder, which Windows does by itself. */
export function syncFolder(folder: string): void {
  if (process.platform !== "win32") syncFile(folder, "r");
}

export function syncFile(path: string, flags: "r" | "r+" = "r+"): void {
  const file = openSync(path, flags);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
