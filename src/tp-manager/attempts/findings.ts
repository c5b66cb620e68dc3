import type { TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";

/** Kinds of things that an operator may acknowledge; each is a row of another table. */
export const acknowledgedKinds = ["unmatched", "difference", "alarm", "charge", "return"] as const;
export type AcknowledgedKind = (typeof acknowledgedKinds)[number];

/** Findings about an unmatched transaction. */
export const unmatchedFindings = [
  /** The terminal has it stored as a sale: a card was charged for an unknown order. */
  "held",
  /** The terminal's last transaction is the reversal of this result. */
  "reversed",
  /** The result is not the terminal's last transaction, and nothing was sold or closed since. */
  "gone",
  /** The result is the sale of an order. */
  "known",
  /** Not known: the terminal does not say, or something was sold or closed since. */
  "unclear",
] as const;
export type UnmatchedFinding = (typeof unmatchedFindings)[number];

/** An unmatched transaction (docs/matching.md), masked. */
export interface UnmatchedRow {
  /** null: the journal could not store it. */
  readonly id: number | null;
  /** Epoch milliseconds. */
  readonly atMs: number;
  readonly report: TransactionReport;
  /** The terminal that has it. */
  readonly identity: TerminalIdentity;
  /**
   * The terminal had it stored and never reported it on the wire, and no order here can have made
   * it: it may be of a journal that was lost (docs/rules/17-loss.md).
   */
  readonly isOfNoOrder: boolean;
}

export interface SettledUnmatched extends UnmatchedRow {
  /** "open": it is being asked about. "not-good": the terminal itself says that it failed. */
  readonly finding: UnmatchedFinding | "open" | "not-good";
  readonly because: string;
  readonly endedAtMs: number | null;
  /** When an operator acknowledged it. */
  readonly acknowledgedAtMs: number | null;
}
