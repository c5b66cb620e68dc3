import { chmodSync, fstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../time.ts";
import { clearUnfinished, copyChecked } from "./checked-copy.ts";
import { savedName } from "./copies.ts";
import { startCopying } from "./copy-program.ts";
import { copyBackAt, emptyLog, prepared } from "./sqlite.ts";
import { syncFolder } from "./store-file.ts";

/** A larger file is saved by another program: a copy of this size takes some 30 ms. */
const AT_ONCE_BYTES = 4 * 1024 * 1024;
/** A copy at once stops all else, so it may take one part in so many of the time. */
const AT_ONCE_SHARE = 20;
/** A copy that could not be made is tried again after so long. */
const AGAIN_MS = 5_000;

/** A copy of what is open, and how much had been written then. */
interface Copy {
  readonly path: string;
  readonly changes: number;
}

/** Saves what an open database holds whose file is lost (docs/design.md 1.3). */
export class Rescue {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #file: number;
  #saved: Copy | undefined;
  /** The next copy, which another program is making. */
  #saving: { readonly stop: () => void } | undefined;
  /** Why the last try gave no copy. */
  #unsaved: string | undefined;
  /** On the monotonic clock. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  /** `file`: the descriptor of the open file. */
  constructor(database: DatabaseSync, path: string, file: number) {
    this.#database = database;
    this.#path = path;
    this.#file = file;
  }

  /** The state of the rescue, for an operator. */
  says(steps: string): string {
    if (this.#unsaved !== undefined) {
      const why = this.#unsaved;
      return `what it holds cannot be saved (${why}): mend that while it runs, then ${steps}`;
    }
    if (this.#saved) return `what it holds is saved as ${this.#saved.path}: ${steps}`;
    if (this.#saving) return "what it holds is being saved: leave the programs running";
    return "what it holds is saved as soon as nothing runs";
  }

  /** Saves what was written since the last copy, at once on the last occasion. */
  save(clock: Clock, occasion: "next" | "last"): void {
    const changes = Number(prepared(this.#database, "SELECT total_changes() AS n").get()?.["n"]);
    if (this.#saved?.changes === changes) return;
    const begunMs = clock.monotonicMs();
    if (occasion === "last") this.#stop();
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
    this.#stop();
    this.#saved = this.#unsaved = undefined;
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
  }

  #stop(): void {
    this.#saving?.stop();
  }

  /** Saves the file by another program; nothing is written into it meanwhile. */
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
