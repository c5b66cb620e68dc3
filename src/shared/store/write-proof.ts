import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../time.ts";
import { OpenFiles } from "./open-files.ts";
import { withoutWaiting } from "./sqlite.ts";
import { fullDisk, isFull, resultOf, sqlite, storageFault } from "./storage-fault.ts";

/** How long a proof that the database can be written counts. */
const PROVED_FOR_MS = 60_000;
/** The pause after a failed write before a test write proves whether writes succeed again. */
const FAILED_FOR_MS = 5_000;

/** How long another program may lock the database before that is a fault. */
const BUSY_FOR_MS = 10_000;
/** SQLite's result codes for a fault of the row, not of the disk. */
const { tooBig, constraint, mismatch, range } = sqlite;
const refusedRows: readonly number[] = [tooBig, constraint, mismatch, range];

interface WriteFault {
  readonly says: string;
  readonly sinceMs: number;
}

/**
 * Proves that a database can be written, or reports why not, before a payment needs it: the disk
 * may be full, read-only or failing, or the files may be gone. A failed write is reported at once;
 * after a time without writes, a small commit proves that writes succeed (docs/design.md 2.1).
 */
export class WriteProof {
  readonly #database: DatabaseSync;
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #files: OpenFiles;
  /** Called with a text for an operator after a fault of the database's files was repaired. */
  onMended: (says: string) => void = () => {};
  /** Why the last write failed; undefined: it succeeded. */
  #failed: string | undefined;
  /** When a test write was last tried (monotonic clock); undefined: the next call makes one. */
  #triedMs: number | undefined;
  #sinceMs: number | undefined;
  /** Since when another program has locked the database at each try, on the monotonic clock. */
  #busySinceMs: number | undefined;

  constructor(database: DatabaseSync, path: string, clock: Clock) {
    this.#database = database;
    this.#folder = dirname(path);
    this.#clock = clock;
    this.#files = new OpenFiles(database, path, (says) => this.onMended(says));
  }

  /** Runs a write and remembers why it failed. */
  watch<T>(write: () => T): T {
    try {
      const result = write();
      // The write may have changed nothing, so only a good test write shows that a fault is over.
      if (!this.#isProved) this.#triedMs = undefined;
      return result;
    } catch (error) {
      if (resultOf(error) === sqlite.busy) this.#busy();
      else {
        const fault = this.#faultOf(error);
        if (fault !== undefined) this.#tried(fault);
      }
      throw error;
    }
  }

  /** The last known fault that prevents writes; undefined: none. This makes no test write. */
  get known(): WriteFault | undefined {
    return this.#faultWith(this.#files.fault);
  }

  #faultWith(ofFiles: string | undefined): WriteFault | undefined {
    const full = isFull(this.#folder) ? fullDisk(this.#folder) : undefined;
    const says = ofFiles ?? full ?? this.#failed;
    if (says === undefined) {
      this.#sinceMs = undefined;
      return undefined;
    }
    this.#sinceMs ??= this.#clock.now();
    return { says, sinceMs: this.#sinceMs };
  }

  /** The fault that prevents writes; undefined: none. Makes a test write if the last one is old. */
  get proved(): WriteFault | undefined {
    const ofFiles = this.#files.attend(this.#clock);
    const triedMs = this.#triedMs ?? Number.NEGATIVE_INFINITY;
    const forMs = this.#isProved ? PROVED_FOR_MS : FAILED_FOR_MS;
    if (this.#clock.monotonicMs() - triedMs >= forMs) this.#prove();
    return this.#faultWith(ofFiles);
  }

  /** The fault that would prevent a write now. After a failed write, a test write is made first. */
  get standing(): WriteFault | undefined {
    const ofFiles = this.#files.attend(this.#clock);
    if (this.#failed !== undefined) this.#prove();
    return this.#faultWith(ofFiles);
  }

  /** Throws if the files of the database are gone, so that the next start would miss a write. */
  assertKept(): void {
    const fault = this.#files.attend(this.#clock);
    if (fault !== undefined) throw new Error(fault);
  }

  /** Closes the database; if its file is gone, its content is copied first. */
  close(): void {
    this.#files.attend(this.#clock, "last");
    this.#files.close();
  }

  get #isProved(): boolean {
    return this.#failed === undefined && this.#busySinceMs === undefined;
  }

  #prove(): void {
    try {
      if (this.#database.isTransaction) return;
      withoutWaiting(this.#database, () => this.#files.content.count());
      this.#tried(undefined);
    } catch (error) {
      if (resultOf(error) === sqlite.busy) this.#busy();
      else this.#tried(this.#faultOf(error) ?? textOf(error));
    }
  }

  #tried(fault: string | undefined): void {
    this.#failed = fault;
    this.#busySinceMs = undefined;
    this.#triedMs = this.#clock.monotonicMs();
  }

  /** Records that another program holds the database's lock, which is a fault only if it lasts. */
  #busy(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#triedMs = nowMs;
    this.#busySinceMs ??= nowMs;
    if (nowMs - this.#busySinceMs < BUSY_FOR_MS) return;
    this.#failed =
      `another program keeps the database in ${this.#folder} locked: end that program; ` +
      "the connector goes on when the lock is released";
  }

  /** Returns the fault of a failed write; undefined: the database refused only the row. */
  #faultOf(error: unknown): string | undefined {
    const result = resultOf(error);
    if (result === 0 || refusedRows.includes(result)) return undefined;
    return storageFault(error, this.#folder) ?? textOf(error);
  }
}

function textOf(error: unknown): string {
  return `the database cannot be written: ${(error as Error).message}`;
}
