import type { UnmatchedFinding } from "../attempts/findings.ts";
import type { Assumption } from "./assumptions.ts";
import type { Facts } from "./facts.ts";

/** The form of a row of a decision table, and the verdicts that a row can give. */

export type SaleVerdict =
  | "charged"
  /** Charged as the terminal reported, although another transaction is its last one. */
  | "charged-as-reported"
  | "not-charged"
  | "not-charged-reversed"
  | "unsettled"
  | Waiting;
export type ReversalVerdict = "reversed" | "not-reversed" | "requested" | "unsettled" | Waiting;
/** A verdict about an unmatched transaction; "taken-back": the terminal has reversed it. */
export type UnmatchedVerdict = Exclude<UnmatchedFinding, "reversed"> | "taken-back";
/** When to probe again: soon, after the command's time limit, or at the right terminal. */
export type Waiting = "confirm" | "silence" | "no-answer";

export interface EvidenceRow {
  readonly holds: (facts: Facts) => boolean;
  /** The reason, as a text for people; a name in braces is replaced by the fact of that name. */
  readonly because: string;
  readonly sale?: SaleVerdict;
  readonly reversal?: ReversalVerdict;
  readonly unmatched?: UnmatchedVerdict | Waiting;
  /** The assumptions on which the row rests; without one of them, the row proves nothing. */
  readonly assumes?: readonly Assumption[];
}
