import { rmSync } from "node:fs";
import type { Clock } from "../../src/shared/time.ts";
import type { Statement } from "../../src/tp-manager/journal/database/statements.ts";
import { Journal } from "../../src/tp-manager/journal/journal.ts";
import { TestClock } from "../support/clocks/test-clock.ts";

const tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";

/**
 * One journal for many worlds, wiped between them: to open one takes longer than a payment. A
 * process that is killed in a world closes it like any other.
 */
export class KeptJournal {
  readonly path: string;
  #current: Clock = new TestClock();
  #beforeMs = 0;
  #journal: Journal | undefined;
  #wipes: Statement[] = [];
  readonly #clock: Clock = {
    now: () => this.#current.now(),
    monotonicMs: () => this.#beforeMs + this.#current.monotonicMs(),
    startTimer: (name, delayMs, fire) => this.#current.startTimer(name, delayMs, fire),
  };

  constructor(path: string) {
    this.path = path;
  }

  /** For a new life of the process. */
  for(clock: Clock): Journal {
    this.#beforeMs = this.#clock.monotonicMs();
    this.#current = clock;
    this.#journal ??= this.#opened();
    return this.#journal;
  }

  #opened(): Journal {
    const journal = new Journal(this.path, this.#clock);
    const { database, statements } = journal;
    database.exec("PRAGMA synchronous = OFF"); // a world is killed, never the machine
    const names = database
      .prepare(tables)
      .all()
      .map(({ name }) => String(name));
    const texts = Object.fromEntries(names.map((name) => [name, `DELETE FROM ${name}`]));
    this.#wipes = Object.values(statements.add("wipe", texts));
    return journal;
  }

  /** A process was killed: nothing that waited is written. */
  kill(): void {
    this.#journal?.close();
    this.#journal = undefined;
  }

  /** By statements of its own, because it remembers what its statements have read. */
  wipe(): void {
    if (!this.#journal) return;
    const { database, statements } = this.#journal;
    statements.settle();
    database.exec("PRAGMA foreign_keys = OFF");
    statements.transaction(() => {
      for (const wipe of this.#wipes) wipe.run();
    });
    database.exec("PRAGMA foreign_keys = ON");
  }

  /** With its files. */
  remove(): void {
    this.kill();
    for (const ending of ["", "-wal", "-shm"]) rmSync(`${this.path}${ending}`, { force: true });
  }
}
