import { z } from "zod";
import { parseJson } from "../json.ts";
import type { Store } from "./store.ts";
import { type StoreMark, storeMarkSchema } from "./store-file.ts";

/** The marks (identity, session, count) of both programs' databases, carried by each message. */
const storeMarksSchema = z.object({
  /** The mark of the sender's own database; null: this start has not opened the database yet. */
  mine: storeMarkSchema.nullable(),
  /** The last mark of the receiver's database that the sender remembers; null: none. */
  yours: storeMarkSchema.nullable(),
  /** The received mark by which the sender has last checked its database; result on disk. */
  answered: storeMarkSchema.nullable(),
  /** Whether the sender's database has lost data that it had at the mark `answered`. */
  lacks: z.boolean(),
});
export type StoreMarks = z.infer<typeof storeMarksSchema>;

/** Returns the marks in a header; undefined: the header is missing or malformed. */
export function storeMarksOf(header: string | string[] | null | undefined): StoreMarks | undefined {
  if (typeof header !== "string") return undefined;
  return storeMarksSchema.safeParse(parseJson(header)).data;
}

function sameMark(a: StoreMark | null, b: StoreMark | null): boolean {
  return a?.store === b?.store && a?.session === b?.session && a?.count === b?.count;
}

type Standing = Pick<StoreMarks, "answered" | "lacks">;

/**
 * Exchanges the marks of the two databases with every message (docs/rules/17-loss.md). Each program
 * checks its database against the mark that the other remembers. The other replaces the mark of an
 * earlier session only after this check, with its result on disk, so that no crash hides a loss.
 */
export class StoreExchange {
  readonly #store: Store;
  readonly #onMissing: (mark: StoreMark) => void;
  readonly #onOtherLacks: (() => void) | undefined;
  #standing: Standing = { answered: null, lacks: false };
  #other: StoreMark | null;
  #written: StoreMark | null;

  /**
   * `onMissing` records on disk that this database lacks data that it had at the time of the mark;
   * `onOtherLacks`, that the other program's database has lost a part of its data.
   */
  constructor(store: Store, onMissing: (mark: StoreMark) => void, onOtherLacks?: () => void) {
    this.#store = store;
    this.#onMissing = onMissing;
    this.#onOtherLacks = onOtherLacks;
    this.#other = store.other;
    this.#written = this.#other;
  }

  /** Returns the marks to send with a message; in an answer `standing` is from {@link receive}. */
  outgoing(standing: Standing = this.#standing): StoreMarks {
    return { mine: this.#store.mark, yours: this.#other, ...standing };
  }

  /** Checks this database against the sender's marks; undefined: an older version sends none. */
  receive(marks: StoreMarks | undefined): Standing {
    if (!marks) return this.#standing;
    const { yours, mine } = marks;
    const lacks = yours !== null && !this.#store.contains(yours);
    if (lacks && !sameMark(yours, this.#standing.answered)) this.#onMissing(yours);
    this.#standing = { answered: yours, lacks };
    const judged = this.#other !== null && sameMark(marks.answered, this.#other);
    if (judged && marks.lacks) this.#onOtherLacks?.();
    if (mine) this.#learn(mine, judged);
    return this.#standing;
  }

  /** Stores the mark of the other program's database, in a commit that is made anyway. */
  remember(): void {
    if (!this.#other || sameMark(this.#other, this.#written)) return;
    this.#store.rememberOther(this.#other);
    this.#written = this.#other;
  }

  #learn(mine: StoreMark, judged: boolean): void {
    const known = this.#other;
    const same = known?.store === mine.store && known.session === mine.session;
    if (same && mine.count <= known.count) return;
    if (known && !same && !judged) return;
    this.#other = mine;
    // A mark of a new session is stored at once; a mark with a new count, with the next commit.
    if (!same) this.remember();
  }
}
