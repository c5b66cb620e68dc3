import {
  chmodSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../time.ts";
import { clearUnfinished, copyChecked, fileTime, savedName, startCopying } from "./copies.ts";
import { copyBackAt, emptyLog, numberOf, prepared, renewLog, schemaOf } from "./sqlite.ts";
import { resultOf, sqlite } from "./storage-fault.ts";
import { declareRestored, syncFolder } from "./store-file.ts";

/** The page of the file that is checked, and its content at the last check. */
interface Known {
  /** The number of the schema: a VACUUM, which alone moves pages and shortens files, changes it. */
  readonly cookie: number;
  /** The offset of the page in the file. */
  readonly offset: number;
  content: Buffer;
  number: number;
  bytes: number;
}

/** The head of SQLite's files, with the schema number in it (sqlite.org, fileformat2). */
const HEAD_BYTES = 100;
const COOKIE_AT = 40;

/**
 * Checks whether the file of an open database still holds what SQLite has written into it, or was
 * cut or overwritten by another program (docs/design.md 1.3). SQLite would not notice that, because
 * it works with its memory and its log. So the file is read directly: the head, and the page with
 * the identity of the database and the number of the last proof. A page in the file is always a
 * committed one, and never becomes an older one, however much of the log was copied into the file.
 */
class FileContent {
  /**
   * A second handle to the file that SQLite has open. It is closed after SQLite's own, because a
   * process that closes any handle to a file loses all its locks on that file.
   */
  readonly file: number;
  readonly #database: DatabaseSync;
  readonly #identity: string;
  readonly #pageBytes: number;
  readonly #read: Buffer;
  /** The page as last checked; undefined: the file holds too little to be recognised. */
  #known: Known | undefined;

  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#identity = String(database.prepare("SELECT store FROM store_proof").get()?.["store"]);
    this.#pageBytes = numberOf(database, "page_size");
    this.#read = Buffer.alloc(HEAD_BYTES + this.#pageBytes);
    this.file = openSync(path, "r");
    this.#learn();
    if (this.#known) return;
    // A new database is still wholly in its log.
    emptyLog(database);
    this.#learn();
  }

  /** Whether a file of this length still holds the database; false only for certain. */
  isKept(bytes: number): boolean {
    try {
      return this.#isKept(bytes);
    } catch (error) {
      // A file that cannot be read now makes SQLite fail as well, which reports it.
      const result = resultOf(error);
      return result !== sqlite.corrupt && result !== sqlite.noDatabase;
    }
  }

  #isKept(bytes: number): boolean {
    const known = this.#known;
    // A page may be read while another program writes it, but not twice in a row.
    if (known && (this.#holds(known) || this.#holds(known))) {
      if (bytes < known.bytes) return false;
      known.bytes = bytes;
      return true;
    }
    if (known?.cookie === this.#cookie) return false;
    // Another program has compacted the database, so its pages have moved or are about to.
    this.#learn();
    return true;
  }

  /** Closes the file, after SQLite has closed its own handle. */
  close(): void {
    closeSync(this.file);
  }

  /** Adds 1 to the proof in the database; the file gets it when the log is copied. */
  count(): void {
    prepared(this.#database, "UPDATE store_proof SET number = number + 1").run();
  }

  /** Returns the schema number that SQLite knows, the log included. */
  get #cookie(): number {
    return numberOf(this.#database, "schema_version");
  }

  #learn(): void {
    const cookie = this.#cookie;
    const offset =
      (Number(this.#database.prepare(rootSql).get()?.["rootpage"]) - 1) * this.#pageBytes;
    const number = this.#known?.number ?? 0;
    const known = { cookie, offset, content: Buffer.alloc(0), number, bytes: 0 };
    if (this.#holds(known)) this.#known = known;
  }

  #holds(known: Known): boolean {
    const read = this.#read;
    const head = readSync(this.file, read, 0, HEAD_BYTES, 0);
    const page = readSync(this.file, read, HEAD_BYTES, this.#pageBytes, known.offset);
    if (head + page < read.length) return false;
    if (read.equals(known.content)) return true;
    if (read.readUInt32BE(COOKIE_AT) !== known.cookie) return false;
    const number = numberWith(this.#identity, read.subarray(HEAD_BYTES));
    if (number === undefined || number < known.number) return false;
    known.number = number;
    known.content = Buffer.from(read);
    return true;
  }
}

const rootSql = "SELECT rootpage FROM sqlite_schema WHERE name = 'store_proof'";

/** The type of a page with a whole table, and where its first row begins (fileformat2). */
const LEAF = 0x0d;
const FIRST_ROW_AT = 8;
/** Offsets in a row, after the lengths of its content, of its key and of its head. */
const TEXT_TYPE_AT = 3;
const NUMBER_TYPE_AT = 4;
const TEXT_AT = 5;
/** The bytes of a number by its type; the types 8 and 9 are the numbers 0 and 1. */
const numberBytes = [0, 1, 2, 3, 4, 6];

/** Returns the number in the row with this text; undefined: the page is not that table. */
function numberWith(text: string, page: Buffer): number | undefined {
  const row = page.subarray(page.readUInt16BE(FIRST_ROW_AT));
  const numberAt = TEXT_AT + text.length;
  const isOurs =
    page[0] === LEAF &&
    row[TEXT_TYPE_AT] === 13 + 2 * text.length &&
    row.toString("latin1", TEXT_AT, numberAt) === text;
  if (!isOurs) return undefined;
  const type = row[NUMBER_TYPE_AT] ?? 0;
  if (type === 8 || type === 9) return type - 8;
  const bytes = numberBytes[type];
  return bytes && numberAt + bytes <= row.length ? row.readIntBE(numberAt, bytes) : undefined;
}

/** The largest file that is saved in this process, in about 30 ms; others are saved elsewhere. */
const AT_ONCE_BYTES = 4 * 1024 * 1024;
/** Copies in this process stop all else; they take at most one part in so many of the time. */
const AT_ONCE_SHARE = 20;
/** The pause before a copy that failed is tried again. */
const AGAIN_MS = 5_000;

/** A copy of the open database, and the number of changes that it holds. */
interface Copy {
  readonly path: string;
  readonly changes: number;
}

/** Saves the content of an open database whose file is lost (docs/design.md 1.3). */
class Rescue {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #file: number;
  #saved: Copy | undefined;
  /** The next copy, which another program is making. */
  #saving: { readonly stop: () => void } | undefined;
  /** Why the last try made no copy. */
  #unsaved: string | undefined;
  /** When the next copy may begin, on the monotonic clock. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  /** `file`: the descriptor of the open file. */
  constructor(database: DatabaseSync, path: string, file: number) {
    this.#database = database;
    this.#path = path;
    this.#file = file;
  }

  /** Returns the state of the rescue in words for an operator. */
  says(steps: string): string {
    if (this.#unsaved !== undefined) {
      const why = this.#unsaved;
      return `what it holds cannot be saved (${why}): mend that while it runs, then ${steps}`;
    }
    if (this.#saved) return `what it holds is saved as ${this.#saved.path}: ${steps}`;
    if (this.#saving) return "what it holds is being saved: leave the programs running";
    return "what it holds is saved as soon as nothing runs";
  }

  /** Saves what was written since the last copy; on the last occasion, in this process at once. */
  save(clock: Clock, occasion: "next" | "last"): void {
    const changes = Number(prepared(this.#database, "SELECT total_changes() AS n").get()?.["n"]);
    if (this.#saved?.changes === changes) return;
    const begunMs = clock.monotonicMs();
    if (occasion === "last") this.#saving?.stop();
    else if (this.#saving || begunMs < this.#notBeforeMs) return;
    const ended = (unsaved: string | undefined, share: number): void => {
      this.#unsaved = unsaved;
      const endedMs = clock.monotonicMs();
      const againMs = unsaved === undefined ? 0 : AGAIN_MS;
      this.#notBeforeMs = endedMs + Math.max((endedMs - begunMs) * share, againMs);
    };
    try {
      const copy = { path: this.#saved?.path ?? this.#savePath(clock), changes };
      if (occasion === "next" && fstatSync(this.#file).size > AT_ONCE_BYTES) {
        this.#saveElsewhere(copy, (unsaved) => ended(unsaved, 1));
      } else {
        this.#saveAtOnce(copy);
        ended(undefined, AT_ONCE_SHARE);
      }
    } catch (error) {
      ended((error as Error).message, AT_ONCE_SHARE);
    }
  }

  /** Forgets the copies, because the file is no longer lost. */
  forget(): void {
    this.#saving?.stop();
    this.#saved = this.#unsaved = undefined;
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
  }

  /** Saves the file by another program; meanwhile nothing is written into the file. */
  #saveElsewhere(copy: Copy, ended: (unsaved: string | undefined) => void): void {
    if (!emptyLog(this.#database)) throw new Error("another program reads it");
    const program = startCopying(this.#file, copy.path);
    const pages = copyBackAt(this.#database, 0);
    const over = (): void => {
      this.#saving = undefined;
      if (this.#database.isOpen) copyBackAt(this.#database, pages);
    };
    const saving = {
      stop: () => {
        program.kill();
        clearUnfinished(copy.path);
        over();
      },
    };
    this.#saving = saving;
    const end = (unsaved: string | undefined): void => {
      if (this.#saving !== saving) return;
      over();
      if (unsaved === undefined) this.#saved = copy;
      ended(unsaved);
    };
    program.done.then(
      () => end(undefined),
      (error: Error) => end(error.message),
    );
  }

  #savePath(clock: Clock): string {
    const folder = join(dirname(this.#path), "backup");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return join(folder, `${basename(this.#path, ".db")}-${savedName(clock.now())}.db`);
  }

  /** Saves the database in this process; the previous copy stays until this one is good. */
  #saveAtOnce(copy: Copy): void {
    const unfinished = `${copy.path}.unfinished`;
    rmSync(unfinished, { force: true });
    try {
      copyChecked(this.#database, unfinished);
      chmodSync(unfinished, 0o600);
      renameSync(unfinished, copy.path);
    } finally {
      rmSync(unfinished, { force: true });
    }
    syncFolder(dirname(copy.path));
    this.#saved = copy;
  }
}

const logEndings = ["-wal", "-shm"] as const;

/** How the files under their names differ from the open ones. */
type Change = "missing" | "replaced" | "cut" | "log-gone";

/**
 * Checks whether the files under the names of an open database are still the open ones. SQLite goes
 * on writing into a file that was deleted, moved away or replaced, and the loss would show only at
 * the next start (docs/design.md 1.3). Windows allows no such change to an open database.
 */
export class OpenFiles {
  readonly #database: DatabaseSync;
  readonly #path: string;
  /** The path of the log without its ending: next to the file, even if the name is a link. */
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

  /** Returns for an operator why the next start would not find what is written; changes nothing. */
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
   * occasion, at a stop, it saves in this process what was written since the last copy. Returns the
   * fault that is left.
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
   * Closes the database, unless closing would delete the log of another database or write into a
   * file that now holds something else.
   */
  close(): void {
    if (this.#isCut) return;
    const log = foundAt(`${this.#log}-wal`);
    const isOwn = log === undefined || isSame(log, this.#own.get("-wal"));
    if (this.#change() !== undefined && !isOwn) return;
    this.#database.close();
    this.content.close();
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

  /** Begins a new log, after the content of the old one was copied into the database. */
  #renewLog(): void {
    try {
      renewLog(this.#database);
      this.#own = new Map([...this.#found(), ["", this.#own.get("")]]);
      this.#onMended(`${this.#logGone}, and was made anew with all that it held`);
    } catch {
      // Another program reads the database, so the fault stays until the next try.
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
      // The folder cannot be written, so the fault stays and the next check tries again.
    }
  }
}

/** What happened to the file: the end of a sentence about it. */
const happened = {
  missing: "deleted or moved away",
  replaced: "replaced by another file",
  cut: "cut short or overwritten",
} as const;

/** A file that was found under a name. */
interface FileFound {
  /** The device and number of the file; no other file gets them while this one is open. */
  readonly identity: string;
  readonly bytes: number;
}

/** The files of a database by the endings of their names. */
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
