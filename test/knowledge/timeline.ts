import { createHash } from "node:crypto";
import type { Entry } from "../explore/entry-reports.ts";
import type { Assumption } from "./assumptions.ts";
import type { Choice } from "./chooser.ts";

export const OUTSIDER = "outsider";

/** A charge of the bank: which command of which order made it, and from when to when it stood. */
export interface Charge {
  readonly order: string;
  readonly attempt: number;
  /** What the order asked for. */
  readonly isAsked: boolean;
  readonly isReversal: boolean;
  /** What was taken for granted and did not hold when it was made. */
  broke: Assumption | null;
  from: number | null;
  until: number | null;
  /** Since when the connector has had a record of this charge; null: it has had none. */
  shown: number | null;
}

/** A result of a one-way terminal, and the charge that it is about. */
export interface ResultOfCharge {
  readonly bytes: Uint8Array;
  readonly charge: number | null;
}

/** A word about an order. */
export interface Verdict {
  readonly seq: number;
  readonly order: string;
  readonly says: "yes" | "no" | "unknown";
  readonly because: string;
  /** Everything that was heard and done before it. */
  readonly key: string;
  readonly atRest: boolean;
}

/** A command that was allowed to leave. */
export interface Leave {
  readonly seq: number;
  readonly what: "payment" | "reversal";
  readonly order: string;
  readonly attempt: number;
  readonly key: string;
  /** Of a reversal: the charge that its number names at the terminal; null: none. */
  readonly names: number | null;
}

/** One world: what nobody knows, what reached the connector, what it did and said. */
export interface Timeline {
  readonly isShared: boolean;
  readonly choices: readonly Choice[];
  readonly way: readonly number[];
  /** The choices that are not normal life. */
  readonly faults: readonly string[];
  readonly lines: ReadonlyArray<{ readonly seq: number; readonly text: string }>;
  readonly charges: readonly Charge[];
  readonly verdicts: readonly Verdict[];
  readonly leaves: readonly Leave[];
  readonly alarms: ReadonlyArray<{
    readonly seq: number;
    readonly alarm: string;
    readonly names: readonly string[];
  }>;
  /** An error that nothing caught. */
  readonly fallen: readonly string[];
}

/** Records a world's events, in one order of everything. */
export class Recorder {
  readonly lines: Array<{ seq: number; text: string }> = [];
  readonly charges: Charge[] = [];
  readonly verdicts: Verdict[] = [];
  readonly leaves: Leave[] = [];
  readonly alarms: Array<{ seq: number; alarm: string; names: string[] }> = [];
  readonly fallen: string[] = [];
  readonly #trace = createHash("sha1");
  readonly #known = new Set<string>();
  readonly #nowMs: () => number;
  #seq = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  next(): number {
    this.#seq += 1;
    return this.#seq;
  }

  /** Of which the connector knows: it reached it, or it did it. */
  known(text: string): void {
    const line = `${(this.#nowMs() / 1_000).toFixed(1)} s: ${text}`;
    this.lines.push({ seq: this.next(), text: line });
    this.#trace.update(line).update("\n");
  }

  get key(): string {
    return this.#trace.copy().digest("base64url");
  }

  /** The terminal reports a record of this charge to the connector. */
  shows(index: number | null, content: string): void {
    const isNew = !this.#known.has(content);
    this.#known.add(content);
    const charge = index === null ? undefined : this.charges[index];
    if (charge && isNew) charge.shown ??= this.next();
  }

  /** What the bank has now. */
  bank(entries: readonly Entry[], isAsked: (entry: Entry) => boolean): void {
    for (const [index, entry] of entries.entries()) {
      const { order, attempt = 0, money, original } = entry;
      const made = { isReversal: original !== null, broke: null };
      const empty = { from: null, until: null, shown: null };
      this.charges[index] ??= { order, attempt, isAsked: isAsked(entry), ...made, ...empty };
      const charge = this.charges[index];
      if (money === "standing" && charge.from === null) charge.from = this.next();
      if (money === "returned" && charge.until === null) charge.until = this.next();
    }
  }
}
