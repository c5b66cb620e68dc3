import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Random } from "../../support/inputs/random.ts";
import { type DiskRecord, diskRecords } from "./disk-record.ts";
import { RecordedDisk } from "./recorded-disk.ts";

let compiled: string | null | undefined;

/** The library that records, made once in a run; null where there is no C compiler for it. */
export function recordingLibrary(): string | null {
  compiled ??= compile();
  return compiled;
}

function compile(): string | null {
  if (process.platform !== "linux") return null;
  const library = join(mkdtempSync(join(tmpdir(), "utc-recording-")), "recording.so");
  const source = join(import.meta.dirname, "recording.c");
  try {
    const args = ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl", "-lpthread"];
    execFileSync("cc", args, { stdio: ["ignore", "ignore", "pipe"] });
    return library;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/**
 * Records what programs do to the files of one folder. The programs have to be started with
 * {@link Recorder.environment}. Files that they did not make or change in that time are left alone.
 */
export class Recorder {
  readonly environment: Readonly<Record<string, string>>;
  readonly #logs = mkdtempSync(join(tmpdir(), "utc-recorded-"));
  /** What is on the disk for sure. */
  #synced: ReadonlyMap<string, Buffer> = new Map();

  constructor(library: string, folder: string) {
    this.environment = {
      LD_PRELOAD: library,
      RECORDING_ROOT: folder,
      RECORDING_LOG: join(this.#logs, "log"),
    };
  }

  /** As {@link Recorder.environment}, of a program that ends itself after so many changes. */
  endingAfter(changes: number): Readonly<Record<string, string>> {
    return { ...this.environment, RECORDING_ENDS_AFTER: String(changes) };
  }

  /** What all programs did since the last call, in the order in which it happened. */
  take(): DiskRecord[] {
    const records = readdirSync(this.#logs).flatMap((name) => {
      const path = join(this.#logs, name);
      const found = diskRecords(readFileSync(path));
      rmSync(path);
      return found;
    });
    // A -shm file is memory, which no power cut leaves; SQLite makes it anew.
    return records
      .filter(({ path }) => !path.endsWith("-shm"))
      .sort((a, b) => (a.atNs < b.atNs ? -1 : Number(a.atNs > b.atNs)));
  }

  /** The power goes and comes back. None of the programs may run any more. */
  cutPower(random: Random): void {
    const disk = new RecordedDisk(this.#synced);
    for (const record of this.take()) disk.apply(record);
    const after = disk.afterPowerCut(random);
    for (const path of disk.known) {
      rmSync(path, { force: true });
      rmSync(`${path}-shm`, { force: true });
    }
    for (const [path, bytes] of after) writeFileSync(path, bytes, { mode: 0o600 });
    this.#synced = after;
  }

  close(): void {
    rmSync(this.#logs, { recursive: true, force: true });
  }
}
