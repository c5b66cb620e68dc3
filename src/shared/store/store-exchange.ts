import type { Store } from "./store.ts";
import { type StoreMark, type StoreWord, sameMark } from "./store-mark.ts";

/** The own database as the other side remembers it, and the judgement about that. */
type Standing = Pick<StoreWord, "answered" | "lacks">;

interface ExchangeParts {
  readonly store: Store;
  /** Of the other one's memory this database lacks a part. On disk when it returns. */
  readonly onMissing: (mark: StoreMark) => void;
  /** The other one's database lacks a part of what it had. On disk when it returns. */
  readonly onOtherLacks?: () => void;
}

/**
 * The two marks that every message between the programs carries (docs/rules/17-loss.md). Each side
 * judges itself by what the other one remembers. The memory of a former session is given up only
 * when the other side has judged itself by it and has that on disk: a crash in between hides no
 * loss.
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

  /** For the answer of one message: its own standing; else the last one. */
  tell(standing: Standing = this.#standing): StoreWord {
    return { mine: this.#parts.store.mark, yours: this.#other, ...standing };
  }

  /** undefined: the other program is of a version that tells nothing. */
  hear(word: StoreWord | undefined): Standing {
    const { store, onMissing, onOtherLacks } = this.#parts;
    if (!word) return this.#standing;
    const { yours, mine } = word;
    const lacks = yours !== null && !store.contains(yours);
    if (lacks && !sameMark(yours, this.#standing.answered)) onMissing(yours);
    this.#standing = { answered: yours, lacks };
    const judged = this.#other !== null && sameMark(word.answered, this.#other);
    if (judged && word.lacks) onOtherLacks?.();
    if (mine) this.#learn(mine, judged);
    return this.#standing;
  }

  /** Writes what is remembered, in a commit that is made anyway. */
  ride(): void {
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
    // Within a session the count is written by the way; what has never been seen at once.
    if (!same) this.ride();
  }
}
