import type { LastTransaction, TerminalIdentity } from "../terminal/terminal.ts";

/** The first command that was begun after the one in doubt. */
export interface NextCommand {
  readonly identity: TerminalIdentity;
  /** The last transaction that it found stored. */
  readonly found: LastTransaction;
  /** The order, other than that of the command in doubt, that this transaction belongs to. */
  readonly foundIs: string | null;
  /** See `otherCandidate` of matching/facts.ts. */
  readonly otherCandidate: string | null;
  readonly isCandidate?: boolean;
  /** The terminal carried it out to its end, so nothing earlier was running any more. */
  readonly served: boolean;
  /** The receipt number of the sale it made; null when it made none. */
  readonly receiptNumber: string | null;
  /** The last number that the terminal is known to have given before the command in doubt. */
  readonly formerReceipt: string | null;
}

/** A next command without what the matcher says of the transaction that it found. */
export type NextFound = Omit<NextCommand, "foundIs" | "otherCandidate" | "isCandidate">;

/** Commands that nobody here knows of may lie between an attempt and the loss of the journal. */
export const lostSince: NextFound = {
  identity: { serialNumber: "", deviceId: "", terminalId: "", version: "" },
  found: { kind: "not-told", why: "the journal was lost or restored since" },
  served: false,
  receiptNumber: null,
  formerReceipt: null,
};
