import type {
  TelecollectionEnd,
  TerminalIdentity,
  TransactionReport,
} from "../terminal/terminal.ts";

/** Findings about an unmatched transaction. */
export const unmatchedFindings = [
  /** The terminal has it stored as a sale: a card was charged, nobody knows for whom. */
  "held",
  /** The terminal's last transaction is its reversal. */
  "reversed",
  /** The result is not the terminal's last transaction, and nothing was sold or closed since. */
  "gone",
  /** The result is the sale of an order. */
  "known",
  /** The terminal does not tell, or something was sold or closed since. */
  "unclear",
] as const;
export type UnmatchedFinding = (typeof unmatchedFindings)[number];

/** An unmatched transaction (docs/matching.md), masked. */
export interface UnmatchedRow {
  /** null: the journal did not take it. */
  readonly id: number | null;
  /** Epoch milliseconds. */
  readonly atMs: number;
  readonly report: TransactionReport;
  /** The terminal that has it. */
  readonly identity: TerminalIdentity;
  /**
   * The terminal had it stored and never told of it on the wire, and no order here can have made
   * it: it may be of a journal that was lost (docs/rules/17-loss.md).
   */
  readonly isOfNoOrder: boolean;
}

export interface SettledUnmatched extends UnmatchedRow {
  /** "open": it is being asked about. "not-good": the terminal itself says that it failed. */
  readonly finding: UnmatchedFinding | "open" | "not-good";
  readonly because: string;
  readonly endedAtMs: number | null;
  /** When a person marked it as seen. */
  readonly seenAtMs: number | null;
}

/** Who wanted an end of day: somebody by `/tlc`, or the terminal itself. */
export type TelecollectionAsker = "operator" | "terminal";

/** Records about the terminal itself, not about one order. */
export interface TerminalLog {
  /** Before the command leaves. */
  beginTelecollection(
    atMs: number,
    askedBy: TelecollectionAsker,
    identity?: TerminalIdentity,
  ): number;
  endTelecollection(id: number, atMs: number, result: TelecollectionEnd): void;
  /** When ends of day were begun that the terminal demanded, oldest first, epoch milliseconds. */
  demandedTelecollections(sinceMs: number): number[];
  /** An end of day may have run since the attempt; by `atMs` where their order is not known. */
  wasClosedSince(atMs: number, transactionId: string): boolean;

  /** Before anything is made of it. undefined: the newest is the same, and open or held. */
  keepUnmatched(
    seen: Omit<UnmatchedRow, "id">,
    isSame?: (newest: UnmatchedRow) => boolean,
  ): number | undefined;
  /** Not yet asked about, oldest first. */
  openUnmatched(): UnmatchedRow[];
  /** Something may have been sold after it was kept. */
  soldSinceUnmatched(id: number): boolean;
  /** An end of day may have run after it was kept, one that had been begun before included. */
  closedSinceUnmatched(id: number): boolean;
  /** The first unmatched transactions that were kept since the attempt was begun. */
  unmatchedSince(transactionId: string): UnmatchedRow[];
  /** An unmatched transaction was kept since the attempt was begun. */
  wasUnmatchedSince(transactionId: string): boolean;
  endUnmatched(id: number, atMs: number, finding: UnmatchedFinding, because: string): void;
  /** Newest first. */
  unmatched(limit: number): SettledUnmatched[];
  /** Held results that carry this reference, the oldest first. */
  heldAs(reference: string): SettledUnmatched[];
  /** The references that held results carry. */
  heldReferences(): string[];

  /** The terminal this installation works with; undefined before the first one. */
  acceptedTerminal(): TerminalIdentity | undefined;
  acceptTerminal(identity: TerminalIdentity, atMs: number): void;
}
