import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { syncFolder, writeSynced } from "../store/store-file.ts";
import type { Clock, Timer } from "../time.ts";
import { probationMarkOf } from "../version-files.ts";

/** Short enough that a kiosk does not notice. */
const CHECK_EVERY_MS = 100;

/** Where an update keeps its record and these marks. */
export function updateFolderOf(dataDirectory: string): string {
  return join(dataDirectory, "update");
}

/** The file exists as long as nothing has come that must not be lost with the stores. */
const untouchedIn = (dataDirectory: string): string =>
  join(updateFolderOf(dataDirectory), "untouched");

/**
 * The time in which a new version shows that it works before it may take a payment
 * (docs/updates.md 4.3). The launcher writes a mark into the data folder before it starts the new
 * programs, and removes the mark when it has recorded that the version stays. So a program that
 * finds no mark may admit payments, and the stores are never put back after a payment.
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

  /** Resolves when there is no probation any more; never when the program ends on it. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Runs `begin` outside a probation: now, or when it is over. */
  async after(begin: () => void | Promise<void>): Promise<void> {
    if (this.#isOn) void this.over.then(begin);
    else await begin();
  }

  /**
   * Records that something came that must not be lost with the stores, such as a result of the
   * terminal: an update that goes back then leaves them as they are. On disk when this returns. A
   * mark is removed for that, as a full disk has no room for a new one.
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

/** Programs that start from now on are on probation; nothing has come. On disk when it returns. */
export function beginProbation(dataDirectory: string): void {
  const folder = updateFolderOf(dataDirectory);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeSynced(untouchedIn(dataDirectory), "");
  writeSynced(probationMarkOf(dataDirectory), "");
  syncFolder(folder);
}

/** Programs on probation go on without it at once. */
export function endProbation(dataDirectory: string): void {
  const folder = updateFolderOf(dataDirectory);
  if (!existsSync(folder)) return;
  const mark = probationMarkOf(dataDirectory);
  // A read-only disk refuses to remove even a file that does not exist.
  if (existsSync(mark)) rmSync(mark, { force: true });
  syncFolder(folder);
}

/** From now on an update that goes back leaves the stores as they are. On disk when it returns. */
export function admitPayments(dataDirectory: string): void {
  const file = untouchedIn(dataDirectory);
  if (!existsSync(file)) return;
  rmSync(file, { force: true });
  syncFolder(updateFolderOf(dataDirectory));
}

/** Whether anything came on the probation that must not be lost with the stores. */
export function receivedOnProbation(dataDirectory: string): boolean {
  return !existsSync(untouchedIn(dataDirectory));
}
