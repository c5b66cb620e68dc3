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

/** The page of the database file that is checked, and its content at the last check. */
interface Known {
  /** SQLite's schema number, which a VACUUM changes when it moves pages or shortens the file. */
  readonly cookie: number;
  readonly offset: number;
  content: Buffer;
  /** The number in the page's only row, which each test write (proof) raises by one. */
  number: number;
  bytes: number;
}

/** The length of a SQLite file's head, and the schema number's offset (sqlite.org, fileformat2). */
const HEAD_BYTES = 100;
const COOKIE_AT = 40;

/**
 * Checks whether another program has cut or overwritten the file of an open database
 * (docs/design.md 2.2). SQLite would not notice that, because it works with its memory and its log.
 * So the file is read directly: the head, and the page with the database's identity and the number
 * of the last test write. Only a foreign write into the file can make this number smaller.
 */
class FileContent {
  /**
   * The descriptor of a second handle to SQLite's file. It is closed after SQLite's own handle,
   * because a process that closes any handle to a file loses all its locks on that file.
   */
  readonly file: number;
  readonly #database: DatabaseSync;
  readonly #identity: string;
  readonly #pageBytes: number;
  readonly #read: Buffer;
  /** The checked page as it was read last; undefined: the file does not have the page yet. */
  #known: Known | undefined;

  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#identity = String(database.prepare("SELECT store FROM store_proof").get()?.["store"]);
    this.#pageBytes = numberOf(database, "page_size");
    this.#read = Buffer.alloc(HEAD_BYTES + this.#pageBytes);
    this.file = openSync(path, "r");
    this.#learn();
    if (this.#known) return;
    // The content of a new database is only in its write-ahead log until the log is copied.
    emptyLog(database);
    this.#learn();
  }

  /** Whether the file, `bytes` long, still holds the database; true also if that is uncertain. */
  isKept(bytes: number): boolean {
    const known = this.#known;
    try {
      // A reading that fails is repeated once, because another program may have been writing.
      if (known && (this.#holds(known) || this.#holds(known))) {
        if (bytes < known.bytes) return false;
        known.bytes = bytes;
        return true;
      }
      if (known?.cookie === this.#cookie) return false;
      // Another program has compacted the database, which moves the checked page: find it anew.
      this.#learn();
      return true;
    } catch (error) {
      // If the file cannot be read now, SQLite fails as well and reports the fault.
      const result = resultOf(error);
      return result !== sqlite.corrupt && result !== sqlite.noDatabase;
    }
  }

  /** Makes a test write: adds 1 to a number, which reaches the file when the log is copied. */
  count(): void {
    prepared(this.#database, "UPDATE store_proof SET number = number + 1").run();
  }

  /** SQLite's schema number, including changes that are only in the write-ahead log. */
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

/** The type of a page that holds a whole table (sqlite.org, fileformat2). */
const LEAF = 0x0d;
const FIRST_ROW_AT = 8;
const TEXT_TYPE_AT = 3;
const NUMBER_TYPE_AT = 4;
const TEXT_AT = 5;
/** The length of a number in bytes, by SQLite's type of the number (0 to 5). */
const numberBytes = [0, 1, 2, 3, 4, 6];

/** Returns the number after `text` in the first row of a database page; undefined: no `text`. */
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

/** The largest file that this process copies itself (in 30 ms), without a separate program. */
const AT_ONCE_BYTES = 4 * 1024 * 1024;
/** A copy in this process stops all other work, so copies get at most 1/20 of the time. */
const AT_ONCE_SHARE = 20;
const AGAIN_MS = 5_000;

interface Copy {
  readonly path: string;
  readonly changes: number;
}

/** Copies the content of an open database whose file was deleted (docs/design.md 2.2). */
class Rescue {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #file: number;
  #saved: Copy | undefined;
  #saving: { readonly stop: () => void } | undefined;
  /** Why the last try to copy the database failed; undefined: it did not fail. */
  #unsaved: string | undefined;
  /** When the next copy may begin, on the monotonic clock. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  /** `file`: the descriptor of the open database file. */
  constructor(database: DatabaseSync, path: string, file: number) {
    this.#database = database;
    this.#path = path;
    this.#file = file;
  }

  /** Returns a text for an operator: whether the lost file's content is saved, and what to do. */
  says(steps: string): string {
    if (this.#unsaved !== undefined) {
      const why = this.#unsaved;
      return `what it holds cannot be saved (${why}): mend that while it runs, then ${steps}`;
    }
    if (this.#saved) return `what it holds is saved as ${this.#saved.path}: ${steps}`;
    if (this.#saving) return "what it holds is being saved: leave the programs running";
    return "what it holds is saved as soon as nothing runs";
  }

  /** Makes a new copy if the database has changed; at a stop ("last"), in this process at once. */
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

  /** Forgets the copies, because the lost file is in its place again. */
  forget(): void {
    this.#saving?.stop();
    this.#saved = this.#unsaved = undefined;
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
  }

  /** Copies the file by another program; meanwhile SQLite writes only into its log. */
  #saveElsewhere(copy: Copy, ended: (unsaved: string | undefined) => void): void {
    if (!emptyLog(this.#database)) throw new Error("another program is reading the database");
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

  /** Copies the database in this process; the previous copy stays until the new copy is good. */
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

/** How the files that have the database's names now differ from the files that are open. */
type Change = "missing" | "replaced" | "cut" | "log-gone";

/**
 * Checks whether the names of an open database still lead to the open files. SQLite continues to
 * write into a file that was deleted, moved away or replaced, and the loss would show only at the
 * next start (docs/design.md 2.2). Windows allows no such change to an open database.
 */
export class OpenFiles {
  readonly #database: DatabaseSync;
  readonly #path: string;
  /** The log's path without its ending; the log is next to the real file, not next to a link. */
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
    // Something is read here, because SQLite opens its write-ahead log only then.
    schemaOf(database);
    this.#own = this.#found();
  }

  /** Why the next start would not find what is written now; undefined: it would find all. */
  get fault(): string | undefined {
    const change = this.#database.isOpen ? this.#change() : undefined;
    if (change === undefined) return undefined;
    if (change === "log-gone") {
      return `${this.#logGone}: it is made anew as soon as nobody else reads the database`;
    }
    return `${this.#path} was ${happened[change]} while it is in use; ${this.#became(change)}`;
  }

  /**
   * Copies a database whose file is gone, and renews a log that was deleted. At a stop ("last")
   * this process itself copies what was written since the last copy. Returns the remaining fault.
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
   * Closes the database, unless SQLite would then delete the log of another database or write into
   * a file that another program has overwritten.
   */
  close(): void {
    if (this.#isCut) return;
    const log = foundAt(`${this.#log}-wal`);
    const isOwn = log === undefined || isSame(log, this.#own.get("-wal"));
    if (this.#change() !== undefined && !isOwn) return;
    this.#database.close();
    closeSync(this.content.file);
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

  /** Begins a new log after copying the content of the old log into the database file. */
  #renewLog(): void {
    try {
      renewLog(this.#database);
      this.#own = new Map([...this.#found(), ["", this.#own.get("")]]);
      this.#onMended(`${this.#logGone}, and was made anew with all that it held`);
    } catch {
      // Another program reads the database; the next check tries again to renew the log.
    }
  }

  /** Renames the log, because the next start would apply the log to the wrong database file. */
  #renameLog(change: "replaced" | "cut", clock: Clock): void {
    const now = this.#found();
    const own = logEndings.filter((end) => isSame(now.get(end), this.#own.get(end)));
    if (own.length === 0) return;
    const at = fileTime(clock.now());
    try {
      declareRestored(this.#path, `it was ${happened[change]} while it was in use`, at);
      // With this setting SQLite writes nothing of this database into the file any more.
      copyBackAt(this.#database, 0);
      for (const end of own) {
        renameSync(`${this.#log}${end}`, `${this.#log}${end}.orphan-${at}`);
      }
    } catch {
      // The folder cannot be written; the next check tries again to rename the log.
    }
  }
}

/** What happened to the database file, as the end of a sentence for an operator. */
const happened = {
  missing: "deleted or moved away",
  replaced: "replaced by another file",
  cut: "cut short or overwritten",
} as const;

type FileVersion = ReturnType<typeof foundAt>;
/** The files of a database by the ending of their names: "", "-wal" and "-shm". */
type Files = ReadonlyMap<string, FileVersion>;

/** Returns a file's size, and its identity, which no other file gets while the file is open. */
function foundAt(path: string) {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && { identity: `${found.dev}:${found.ino}`, bytes: Number(found.size) };
  } catch {
    return undefined;
  }
}

function isSame(one: FileVersion, other: FileVersion): boolean {
  return one?.identity === other?.identity;
}
