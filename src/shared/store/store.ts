import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { type Migration, Tables } from "./sqlite.ts";
import { readStoreFile, type StoreMark, writeStoreFile } from "./store-file.ts";

/** The migration that makes the tables of a {@link Store} (docs/rules/17-loss.md). */
export const storeMigration = `
  CREATE TABLE store_identity (store TEXT NOT NULL) STRICT;
  INSERT INTO store_identity VALUES (lower(hex(randomblob(16))));
  -- One row for each start and each nightly copy, with the count at which the session began.
  CREATE TABLE store_session (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL UNIQUE,
    first_count INTEGER NOT NULL
  ) STRICT;
  -- The last mark of the other program's database.
  CREATE TABLE other_store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    store TEXT NOT NULL,
    session TEXT NOT NULL,
    count INTEGER NOT NULL
  ) STRICT;
`;

/** The migration with the table by which open-files.ts recognises the file (docs/design.md 2.3). */
export const proofMigration = {
  goesOn: `
  -- One row, of the page of which nothing else is; each proof that can be written counts.
  CREATE TABLE store_proof (store TEXT NOT NULL, number INTEGER NOT NULL) STRICT;
  INSERT INTO store_proof SELECT store, 0 FROM store_identity;
  `,
} satisfies Migration;

/**
 * Removes a copy's last session. The copy then counts as older wherever it is put, also on another
 * machine: there the copy of the other database remembers this session (docs/rules/17-loss.md).
 */
export function forgetLastSession(copyPath: string): void {
  const copy = new DatabaseSync(copyPath);
  copy.exec("DELETE FROM store_session WHERE id = (SELECT max(id) FROM store_session)");
  copy.close();
}

/**
 * Whether the database is the one of the last start, and complete. "lost": the file was missing or
 * empty. "other": the file holds another database. "older": the file holds an older copy.
 */
type StoreFinding =
  | { readonly kind: "whole" }
  | { readonly kind: "lost" | "other" | "older"; readonly because: string };

/**
 * Knows the identity and sessions of a database, and the mark of the other program's database
 * (docs/rules/17-loss.md). Each start begins a session. A restored copy lacks the lost database's
 * last session for ever, so the loss shows however late the two programs exchange marks.
 */
export class Store extends Tables {
  readonly identity: string;
  readonly #path: string;
  readonly #count: () => number;
  #session: string | undefined;
  #countedLast = 0;

  /** `count` returns the number of writes on disk, which only grows. */
  constructor(database: DatabaseSync, path: string, count: () => number) {
    super(database);
    this.#path = path;
    this.#count = count;
    this.identity = String(this.get<StoreMark>("SELECT store FROM store_identity")?.store);
  }

  /**
   * Begins the session of this start. `record` stores the finding in the same commit, before the
   * store's file is renewed, so that no crash hides a loss.
   */
  begin(record: (finding: StoreFinding) => void): void {
    const finding = this.#compare();
    this.#session = this.together(() => {
      // The other program's mark is deleted, because it belongs to another installation.
      if (finding.kind === "other") this.run("DELETE FROM other_store");
      const session = this.#newSession();
      record(finding);
      return session;
    });
    this.#writeFile();
  }

  /** Begins a new session after a backup; the copy lacks the session, which shows its age. */
  copied(): void {
    this.#session = this.#newSession();
    this.#writeFile();
  }

  /** The current mark of this database, whose writes are all on disk; null before {@link begin}. */
  get mark(): StoreMark | null {
    if (this.#session === undefined) return null;
    return { store: this.identity, session: this.#session, count: this.#counted };
  }

  /** Whether the database still has all that it had at the time of this mark. */
  contains({ store, session, count }: StoreMark): boolean {
    if (store !== this.identity) return false;
    if (session === this.#session) return count <= this.#countedLast || count <= this.#counted;
    const began = "SELECT id FROM store_session WHERE session = ?";
    const found = this.get<{ id: number }>(began, session);
    if (!found) return false;
    const sql = "SELECT first_count AS count FROM store_session WHERE id > ? ORDER BY id LIMIT 1";
    return count <= (this.get<StoreMark>(sql, found.id)?.count ?? this.#counted);
  }

  /** The last mark of the other program's database; null: none was received. */
  get other(): StoreMark | null {
    return this.get("SELECT store, session, count FROM other_store") ?? null;
  }

  rememberOther({ store, session, count }: StoreMark): void {
    const sql = `INSERT INTO other_store VALUES (1, ?1, ?2, ?3)
      ON CONFLICT DO UPDATE SET store = ?1, session = ?2, count = ?3`;
    this.run(sql, store, session, count);
  }

  get #counted(): number {
    this.#countedLast = this.#count();
    return this.#countedLast;
  }

  /** Stores and returns a new session; a session missing on disk would look like a loss. */
  #newSession(): string {
    const session = randomBytes(16).toString("hex");
    const sql = "INSERT INTO store_session (session, first_count) VALUES (?, ?)";
    this.run(sql, session, this.#counted);
    return session;
  }

  #writeFile(): void {
    if (this.mark) writeStoreFile(this.#path, this.mark);
  }

  #compare(): StoreFinding {
    const file = readStoreFile(this.#path);
    if (!file) return { kind: "whole" };
    const isNew = this.get("SELECT 1 FROM store_session LIMIT 1") === undefined;
    if (file.restored !== undefined) return { kind: "older", because: file.restored };
    if (file.store !== this.identity) {
      return isNew
        ? { kind: "lost", because: "it was missing or empty and was made anew" }
        : { kind: "other", because: "it is not the database that was here before" };
    }
    if (this.contains(file)) return { kind: "whole" };
    return { kind: "older", because: "it is an older copy of the database that was here before" };
  }
}
