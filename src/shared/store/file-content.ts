import { closeSync, openSync, readSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { emptyLog, numberOf, prepared } from "./sqlite.ts";

/** The page that is checked, and its content at the last check. */
interface Known {
  /** The number of the schema: a VACUUM, which alone moves pages and shortens files, changes it. */
  readonly cookie: number;
  /** The offset of the page. */
  readonly offset: number;
  content: Buffer;
  number: number;
  bytes: number;
}

/** The format of SQLite's files (sqlite.org, fileformat2). */
const HEAD_BYTES = 100;
const COOKIE_AT = 40;

/** sqlite.org, CORRUPT and NOTADB. */
const NO_DATABASE: readonly number[] = [11, 26];

/**
 * Whether the file of an open database still holds what SQLite has written into it, or was cut or
 * overwritten by another program (docs/design.md 1.3). SQLite would not notice, as it works with
 * its memory and its log. So the file is read directly: the head, and the page with the identity of
 * the database and the number of the last proof. A page in the file is always a committed one, and
 * no older one ever follows it, however much of the log was copied into the file.
 */
export class FileContent {
  /**
   * A second handle to the file that SQLite has open. SQLite closes its own first, because a
   * process that closes any handle to a file loses all its locks on it.
   */
  readonly file: number;
  readonly #database: DatabaseSync;
  readonly #identity: string;
  readonly #pageBytes: number;
  readonly #read: Buffer;
  /** undefined: the file has too little of the database yet to be recognised. */
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

  /** Changes nothing, and reports a fault only when it is certain. `bytes`: length of the file. */
  isKept(bytes: number): boolean {
    try {
      return this.#isKept(bytes);
    } catch (error) {
      // A file that cannot be read now makes SQLite fail as well, which reports it.
      const { errcode = 0 } = error as { readonly errcode?: number };
      return !NO_DATABASE.includes(errcode % 256);
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
    // Another program has compacted the database: its pages are elsewhere, or soon will be.
    this.#learn();
    return true;
  }

  /** Closes the file, after SQLite has closed its own handle. */
  close(): void {
    closeSync(this.file);
  }

  /** Adds 1 to the proof in the database, and so in the file, when the log is copied. */
  count(): void {
    prepared(this.#database, "UPDATE store_proof SET number = number + 1").run();
  }

  /** The schema number that SQLite knows, the log included. */
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

/** The format of SQLite's files: a page that holds a whole table. */
const LEAF = 0x0d;
const FIRST_ROW_AT = 8;
/** Offsets in a row, after the lengths of its content, of its key and of its head. */
const TEXT_TYPE_AT = 3;
const NUMBER_TYPE_AT = 4;
const TEXT_AT = 5;
/** Bytes of a number, by its type; the types 8 and 9 are the numbers 0 and 1. */
const numberBytes = [0, 1, 2, 3, 4, 6];

/** The number in the one row with this text; undefined: the page is not that table. */
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
