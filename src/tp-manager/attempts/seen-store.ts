import type { Reconciliation } from "./reconciliation.ts";
import type { SettledUnmatched } from "./terminal-log.ts";

/** Kinds of things that a person may say to have seen and dealt with; each of another table. */
export const seenKinds = ["unmatched", "difference", "alarm", "charge", "return"] as const;
export type SeenKind = (typeof seenKinds)[number];

/** Things of one kind that wait for a person. */
export interface Waiting {
  readonly count: number;
  /** Of the oldest one. */
  readonly sinceMs: number;
}

/**
 * Things that a person has seen and dealt with (docs/design.md 8.8). A mark changes what waits for
 * a person and nothing else: no order, no sum, no row of what was found.
 */
export interface SeenStore {
  /** false: no such thing waits. On disk when this returns. `item`: a number or an order's id. */
  mark(kind: SeenKind, item: string, note: string, atMs: number): boolean;
  /** When it was marked; null: it was not. */
  seenAtMs(kind: SeenKind, item: string): number | null;
  /** The newest mark of the kind; null: there is none. */
  newestMs(kind: SeenKind): number | null;
  /** null: none waits. */
  waiting(kind: "unmatched" | "difference"): Waiting | null;
  /** Newest first. */
  waitingUnmatched(limit: number): SettledUnmatched[];
  /** Newest first. */
  waitingDifferences(limit: number): Reconciliation[];
}
