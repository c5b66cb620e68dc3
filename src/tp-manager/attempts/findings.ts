import type { TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";

/** The kinds of items that an operator may acknowledge; each item is a row in the journal. */
export const acknowledgedKinds = ["unmatched", "difference", "alarm", "charge", "return"] as const;
export type AcknowledgedKind = (typeof acknowledgedKinds)[number];

export const unmatchedFindings = [
  /** The terminal has the transaction stored as a sale: a card was charged for an unknown order. */
  "held",
  /** The terminal's last transaction is the reversal of this transaction. */
  "reversed",
  /** The terminal shows another last transaction, but no sale or end of day came in between. */
  "gone",
  /** The transaction proved to be the sale of a known order. */
  "known",
  /** The terminal does not answer, or a later sale or end of day hides the transaction. */
  "unclear",
] as const;
export type UnmatchedFinding = (typeof unmatchedFindings)[number];

/** An unmatched transaction (docs/matching.md) with masked card numbers. */
export interface UnmatchedRow {
  /** The number of the row in the journal; null when the journal could not store it. */
  readonly id: number | null;
  /** When the transaction was reported or found, in epoch milliseconds. */
  readonly atMs: number;
  readonly report: TransactionReport;
  readonly identity: TerminalIdentity;
  /**
   * Whether the terminal had stored the transaction without a report, and no order here can have
   * made it: its order may have been in a journal that was lost (docs/rules/34-journal-gap.md).
   */
  readonly isOfNoOrder: boolean;
}

export interface SettledUnmatched extends UnmatchedRow {
  /** "open": the terminal is being asked. "not-good": the terminal reported that it had failed. */
  readonly finding: UnmatchedFinding | "open" | "not-good";
  readonly because: string;
  readonly endedAtMs: number | null;
  /** When an operator acknowledged the transaction, in epoch milliseconds; null: not yet. */
  readonly acknowledgedAtMs: number | null;
}
