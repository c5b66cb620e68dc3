import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { syncFolder, writeSynced } from "../store/store-file.ts";
import type { Clock, Timer } from "../time.ts";
import { probationMarkOf } from "../version-files.ts";

const CHECK_EVERY_MS = 100;

/** Returns the folder with the record of an update and the marks of the probation. */
export function updateFolderOf(dataDirectory: string): string {
  return join(dataDirectory, "update");
}

/** Returns the path of the mark that is removed when a database gets data that must not be lost. */
const untouchedIn = (dataDirectory: string): string =>
  join(updateFolderOf(dataDirectory), "untouched");

/**
 * The probation of a new version, which must prove that it works before it may take a payment
 * (docs/updates.md 4.3). The launcher writes a mark into the data folder before it starts the new
 * programs, and removes the mark after recording that the version stays. A program that finds no
 * mark may take payments. So no database is restored after a payment.
 */
export class Probation {
  readonly #dataDirectory: string;
  readonly #over = Promise.withResolvers<void>();
  #isOn: boolean;
  #timer: Timer | undefined;

  constructor(dataDirectory: string, clock: Clock) {
    this.#dataDirectory = dataDirectory;
    this.#isOn = existsSync(probationMarkOf(dataDirectory));
    if (this.#isOn) this.#watch(clock);
    else this.#over.resolve();
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Resolves when the probation is over; never if the program ends during it. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Runs `begin` at once, or when the probation is over if there is one. */
  async after(begin: () => void | Promise<void>): Promise<void> {
    if (this.#isOn) void this.over.then(begin);
    else await begin();
  }

  /**
   * Records that a database got something that must not be lost, such as a result of the terminal,
   * so that the databases are not restored if the update is taken back. On disk when this returns.
   * The record is the removal of a mark, because a full disk has no room for a new file.
   */
  received(): void {
    if (this.#isOn) admitPayments(this.#dataDirectory);
  }

  close(): void {
    this.#timer?.clear();
  }

  #watch(clock: Clock): void {
    this.#timer = clock.startTimer("probation", CHECK_EVERY_MS, () => {
      if (existsSync(probationMarkOf(this.#dataDirectory))) return this.#watch(clock);
      this.#isOn = false;
      this.#over.resolve();
    });
  }
}

/** Begins a probation for the programs that start from now on. On disk when this returns. */
export function beginProbation(dataDirectory: string): void {
  const folder = updateFolderOf(dataDirectory);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeSynced(untouchedIn(dataDirectory), "");
  writeSynced(probationMarkOf(dataDirectory), "");
  syncFolder(folder);
}

/** Ends the probation; programs that run notice it within {@link CHECK_EVERY_MS}. */
export function endProbation(dataDirectory: string): void {
  const folder = updateFolderOf(dataDirectory);
  if (!existsSync(folder)) return;
  const mark = probationMarkOf(dataDirectory);
  // A read-only disk refuses the removal even of a file that does not exist.
  if (existsSync(mark)) rmSync(mark, { force: true });
  syncFolder(folder);
}

/** Records that no update may restore the databases from now on. On disk when this returns. */
export function admitPayments(dataDirectory: string): void {
  const file = untouchedIn(dataDirectory);
  if (!existsSync(file)) return;
  rmSync(file, { force: true });
  syncFolder(updateFolderOf(dataDirectory));
}

/** Whether a database got data during the probation that must not be lost. */
export function receivedOnProbation(dataDirectory: string): boolean {
  return !existsSync(untouchedIn(dataDirectory));
}
