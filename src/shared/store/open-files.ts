import { realpathSync, renameSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../time.ts";
import { fileTime } from "./copies.ts";
import { FileContent } from "./file-content.ts";
import { Rescue } from "./rescue.ts";
import { copyBackAt, renewLog, schemaOf } from "./sqlite.ts";
import { declareRestored } from "./store-file.ts";

const logEndings = ["-wal", "-shm"] as const;

/** Why a name no longer leads to the open file. */
type Change = "missing" | "replaced" | "cut" | "log-gone";

/**
 * Whether the files of an open database are still those under their names. SQLite goes on writing
 * into a file that was deleted, moved away or replaced; the loss would show at the next start
 * (docs/design.md 1.3). Windows allows no such change to an open database.
 */
export class OpenFiles {
  readonly #database: DatabaseSync;
  readonly #path: string;
  /** The path of the log without its ending: next to the file, even when a link leads there. */
  readonly #log: string;
  readonly content: FileContent;
  readonly #rescue: Rescue;
  #own: Files;
  #isCut = false;
  readonly #onMended: (says: string) => void;

  constructor(database: DatabaseSync, path: string, onMended: (says: string) => void) {
    this.#database = database;
    this.#path = path;
    this.content = new FileContent(database, path);
    this.#rescue = new Rescue(database, path, this.content.file);
    this.#log = process.platform === "win32" ? path : realpathSync(path);
    this.#onMended = onMended;
    // The log is opened by the first read.
    schemaOf(database);
    this.#own = this.#found();
  }

  /** Why the next start would not find what is written now, for an operator. Changes nothing. */
  get fault(): string | undefined {
    const change = this.#database.isOpen ? this.#change() : undefined;
    if (change === undefined) return undefined;
    if (change === "log-gone") {
      return `${this.#logGone}: it is made anew as soon as nobody else reads the database`;
    }
    return `${this.#path} was ${happened[change]} while it is in use; ${this.#became(change)}`;
  }

  /**
   * Saves what would be lost, and mends what can be mended without an operator. On the last
   * occasion, at a stop, it saves at once what was written since the last copy. Returns the fault
   * that is left.
   */
  attend(clock: Clock, occasion: "next" | "last" = "next"): string | undefined {
    if (!this.#database.isOpen) return undefined;
    if (this.#database.isTransaction) return this.fault;
    const change = this.#change();
    if (change === undefined || change === "log-gone") this.#rescue.forget();
    if (change === undefined) return undefined;
    if (change === "log-gone") this.#renewLog();
    else {
      if (change !== "missing") this.#renameLog(change, clock);
      if (change !== "cut") this.#rescue.save(clock, occasion);
    }
    return this.fault;
  }

  /**
   * Closes the database, unless that would delete a log under its name that belongs to another one,
   * or write into a file that holds something else by now.
   */
  close(): void {
    if (!this.#mayClose) return;
    this.#database.close();
    this.content.close();
  }

  get #mayClose(): boolean {
    if (this.#isCut) return false;
    const log = foundAt(`${this.#log}-wal`);
    return this.#change() === undefined || log === undefined || isSame(log, this.#own.get("-wal"));
  }

  get #logGone(): string {
    return `the write-ahead log of ${this.#path} was deleted or replaced while it is in use`;
  }

  #became(change: keyof typeof happened): string {
    const store = basename(this.#path, ".db");
    const steps = `./launch.sh stop, ./launch.sh restore ${store}, ./launch.sh start`;
    return change === "cut" ? `what it held is lost: ${steps}` : this.#rescue.says(steps);
  }

  #change(): Change | undefined {
    const now = this.#found();
    const isOwn = (ending: string): boolean => isSame(now.get(ending), this.#own.get(ending));
    const file = now.get("");
    if (!file || !isOwn("")) return file ? "replaced" : "missing";
    this.#isCut ||= !this.content.isKept(file.bytes);
    if (this.#isCut) return "cut";
    return logEndings.every(isOwn) ? undefined : "log-gone";
  }

  #found(): Files {
    const logs = logEndings.map((end) => [end, foundAt(`${this.#log}${end}`)] as const);
    return new Map([["", foundAt(this.#path)], ...logs]);
  }

  /** Begins a new log; the content of the former one goes into the database first. */
  #renewLog(): void {
    try {
      renewLog(this.#database);
      this.#own = new Map([...this.#found(), ["", this.#own.get("")]]);
      this.#onMended(`${this.#logGone}, and was made anew with all that it held`);
    } catch {
      // A reader has the database: the fault stays until the next try.
    }
  }

  /** Renames the log, which the next start would apply to a database that is not its own. */
  #renameLog(change: "replaced" | "cut", clock: Clock): void {
    const now = this.#found();
    const own = logEndings.filter((end) => isSame(now.get(end), this.#own.get(end)));
    if (own.length === 0) return;
    const at = fileTime(clock.now());
    try {
      declareRestored(this.#path, `it was ${happened[change]} while it was in use`, at);
      // From now on nothing of this database is written into the file under its name.
      copyBackAt(this.#database, 0);
      for (const end of own) {
        renameSync(`${this.#log}${end}`, `${this.#log}${end}.orphan-${at}`);
      }
    } catch {
      // The folder is not writable: the fault stays, and the next check tries again.
    }
  }
}

/** The end of a sentence about the file. */
const happened = {
  missing: "deleted or moved away",
  replaced: "replaced by another file",
  cut: "cut short or overwritten",
} as const;

/** A file that was found under a name. */
interface FileFound {
  /** No other file gets it as long as this one is open. */
  readonly identity: string;
  readonly bytes: number;
}

/** The files, by the endings of their names. */
type Files = ReadonlyMap<string, FileFound | undefined>;

function foundAt(path: string): FileFound | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && { identity: `${found.dev}:${found.ino}`, bytes: Number(found.size) };
  } catch {
    return undefined;
  }
}

function isSame(one: FileFound | undefined, other: FileFound | undefined): boolean {
  return one?.identity === other?.identity;
}
