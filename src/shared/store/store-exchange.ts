import { z } from "zod";
import type { Store } from "./store.ts";
import { type StoreMark, storeMarkSchema } from "./store-file.ts";

/** The marks of both databases that each message between the programs carries. */
export const storeMarksSchema = z.object({
  /** The sender's own mark; null: its database has not begun. */
  mine: storeMarkSchema.nullable(),
  /** The last mark of the receiver's database that the sender remembers; null: none. */
  yours: storeMarkSchema.nullable(),
  /** The last `yours` that the sender received and judged, with the result on disk. */
  answered: storeMarkSchema.nullable(),
  /** Whether the sender's database lacks a part of what `answered` names, after a loss. */
  lacks: z.boolean(),
});
export type StoreMarks = z.infer<typeof storeMarksSchema>;

function sameMark(a: StoreMark | null, b: StoreMark | null): boolean {
  return a?.store === b?.store && a?.session === b?.session && a?.count === b?.count;
}

/** This database's mark that the peer remembers, and whether a part of it is missing here. */
type Standing = Pick<StoreMarks, "answered" | "lacks">;

interface ExchangeParts {
  readonly store: Store;
  /** Records that this database has less than the peer remembers, on disk when it returns. */
  readonly onMissing: (mark: StoreMark) => void;
  /** Records that the peer's database lacks a part of what it had, on disk when it returns. */
  readonly onOtherLacks?: () => void;
}

/**
 * Exchanges the marks of the two databases with every message (docs/rules/17-loss.md). Each program
 * checks its own database against the mark that the peer remembers. A program replaces the mark of
 * the peer's previous session only after the peer has checked itself against it, with the result on
 * disk, so that a crash in between hides no loss.
 */
export class StoreExchange {
  readonly #parts: ExchangeParts;
  #standing: Standing = { answered: null, lacks: false };
  #other: StoreMark | null;
  #written: StoreMark | null;

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
    this.#other = parts.store.other;
    this.#written = this.#other;
  }

  /** Returns the marks to send. `standing`: the result of {@link receive} that is answered. */
  outgoing(standing: Standing = this.#standing): StoreMarks {
    return { mine: this.#parts.store.mark, yours: this.#other, ...standing };
  }

  /** Checks this database against the peer's marks; undefined: an older version sends none. */
  receive(marks: StoreMarks | undefined): Standing {
    const { store, onMissing, onOtherLacks } = this.#parts;
    if (!marks) return this.#standing;
    const { yours, mine } = marks;
    const lacks = yours !== null && !store.contains(yours);
    if (lacks && !sameMark(yours, this.#standing.answered)) onMissing(yours);
    this.#standing = { answered: yours, lacks };
    const judged = this.#other !== null && sameMark(marks.answered, this.#other);
    if (judged && marks.lacks) onOtherLacks?.();
    if (mine) this.#learn(mine, judged);
    return this.#standing;
  }

  /** Stores the peer's mark, inside a commit that the caller makes anyway. */
  remember(): void {
    if (!this.#other || sameMark(this.#other, this.#written)) return;
    this.#parts.store.rememberOther(this.#other);
    this.#written = this.#other;
  }

  #learn(mine: StoreMark, judged: boolean): void {
    const known = this.#other;
    const same = known?.store === mine.store && known.session === mine.session;
    if (same && mine.count <= known.count) return;
    if (known && !same && !judged) return;
    this.#other = mine;
    // A new session is stored at once; a new count is stored with the next commit.
    if (!same) this.remember();
  }
}
