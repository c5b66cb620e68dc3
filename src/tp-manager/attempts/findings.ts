import type { TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";

/** The kinds of items that an operator may acknowledge; each kind is the rows of a table. */
export const acknowledgedKinds = ["unmatched", "difference", "alarm", "charge", "return"] as const;
export type AcknowledgedKind = (typeof acknowledgedKinds)[number];

export const unmatchedFindings = [
  /** The terminal has stored it as a sale: a card was charged for an unknown order. */
  "held",
  /** The terminal's last transaction is the reversal of this result. */
  "reversed",
  /** It is not the terminal's last transaction, though nothing was sold or closed since then. */
  "gone",
  /** The result is the sale of an order. */
  "known",
  /** The terminal does not say, or a sale or an end of day since then hides the answer. */
  "unclear",
] as const;
export type UnmatchedFinding = (typeof unmatchedFindings)[number];

/** An unmatched transaction (docs/matching.md) with masked card numbers. */
export interface UnmatchedRow {
  /** The number of the row; null when the journal could not store it. */
  readonly id: number | null;
  /** When it was reported or found, in epoch milliseconds. */
  readonly atMs: number;
  readonly report: TransactionReport;
  readonly identity: TerminalIdentity;
  /**
   * Whether the terminal had stored the transaction without reporting it and no order here can have
   * made it, so that a lost journal may have had its order (docs/rules/17-loss.md).
   */
  readonly isOfNoOrder: boolean;
}

export interface SettledUnmatched extends UnmatchedRow {
  /** "open": the terminal is being asked. "not-good": the terminal itself calls it failed. */
  readonly finding: UnmatchedFinding | "open" | "not-good";
  readonly because: string;
  readonly endedAtMs: number | null;
  /** When an operator acknowledged it, in epoch milliseconds; null when none did. */
  readonly acknowledgedAtMs: number | null;
}
