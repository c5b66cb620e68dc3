import { closeSync, openSync, readSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { emptyLog, numberOf, prepared } from "./sqlite.ts";

/** Where the file has what is looked at, and what was found there last. */
interface Known {
  /** The number of the schema: a VACUUM, which alone moves pages and shortens files, changes it. */
  readonly cookie: number;
  /** The offset of the page. */
  readonly place: number;
  content: Buffer;
  number: number;
  bytes: number;
}

/** By the format of SQLite's files (sqlite.org, fileformat2). */
const HEAD_BYTES = 100;
const COOKIE_AT = 40;

/** sqlite.org, CORRUPT and NOTADB. */
const NO_DATABASE: readonly number[] = [11, 26];

/**
 * Whether the file of an open database still holds what SQLite has written into it, or was cut or
 * overwritten by another program (docs/design.md 1.3). SQLite goes on by its memory and its log, so
 * the file is read past it: the head, and the page with the identity of the database and the number
 * of the last proof. However much of the log was copied into the file, and by whom: a page there is
 * one that was committed, and no older one ever follows it.
 */
export class FileContent {
  /**
   * A handle of our own to the file that SQLite has open. SQLite closes its own one first: a
   * process that closes any handle to a file loses all its locks on it.
   */
  readonly file: number;
  readonly #database: DatabaseSync;
  readonly #identity: string;
  readonly #pageBytes: number;
  readonly #read: Buffer;
  /** undefined: too little of the database is in its file yet to know it again. */
  #known: Known | undefined;

  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#identity = String(database.prepare("SELECT store FROM store_proof").get()?.["store"]);
    this.#pageBytes = numberOf(database, "page_size");
    this.#read = Buffer.alloc(HEAD_BYTES + this.#pageBytes);
    this.file = openSync(path, "r");
    this.#learn();
    if (this.#known) return;
    // All of a new database is in its log.
    emptyLog(database);
    this.#learn();
  }

  /** `bytes`: how long the file is. Only looks, and tells no fault where there could be none. */
  isKept(bytes: number): boolean {
    try {
      return this.#isKept(bytes);
    } catch (error) {
      // A file that cannot be read now is told by what fails in SQLite.
      const { errcode = 0 } = error as { readonly errcode?: number };
      return !NO_DATABASE.includes(errcode % 256);
    }
  }

  #isKept(bytes: number): boolean {
    const known = this.#known;
    // Of a page that another program is writing half may be read: twice in a row it is not.
    if (known && (this.#holds(known) || this.#holds(known))) {
      if (bytes < known.bytes) return false;
      known.bytes = bytes;
      return true;
    }
    if (known?.cookie === this.#cookie) return false;
    // Another program has compacted the database: its pages are elsewhere, or soon will be.
    this.#learn();
    return true;
  }

  /** SQLite has closed the file before. */
  close(): void {
    closeSync(this.file);
  }

  /** Counts in the database, and so, when the log is copied, in the file. */
  count(): void {
    prepared(this.#database, "UPDATE store_proof SET number = number + 1").run();
  }

  /** As SQLite knows it, with all that is in the log. */
  get #cookie(): number {
    return numberOf(this.#database, "schema_version");
  }

  #learn(): void {
    const cookie = this.#cookie;
    const place =
      (Number(this.#database.prepare(rootSql).get()?.["rootpage"]) - 1) * this.#pageBytes;
    const number = this.#known?.number ?? 0;
    const known = { cookie, place, content: Buffer.alloc(0), number, bytes: 0 };
    if (this.#holds(known)) this.#known = known;
  }

  #holds(known: Known): boolean {
    const read = this.#read;
    const head = readSync(this.file, read, 0, HEAD_BYTES, 0);
    const page = readSync(this.file, read, HEAD_BYTES, this.#pageBytes, known.place);
    if (head + page < read.length) return false;
    if (read.equals(known.content)) return true;
    if (read.readUInt32BE(COOKIE_AT) !== known.cookie) return false;
    const number = numberBeside(this.#identity, read.subarray(HEAD_BYTES));
    if (number === undefined || number < known.number) return false;
    known.number = number;
    known.content = Buffer.from(read);
    return true;
  }
}

const rootSql = "SELECT rootpage FROM sqlite_schema WHERE name = 'store_proof'";

/** By the format of SQLite's files: a page that is all of a table. */
const LEAF = 0x0d;
const FIRST_ROW_AT = 8;
/** In a row, behind the lengths of its content, of its key and of its head. */
const TEXT_TYPE_AT = 3;
const NUMBER_TYPE_AT = 4;
const TEXT_AT = 5;
/** By the types of numbers; 8 and 9 are 0 and 1 themselves. */
const numberBytes = [0, 1, 2, 3, 4, 6];

/** The number of the one row, whose text is given; undefined: the page is no such table. */
function numberBeside(text: string, page: Buffer): number | undefined {
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
