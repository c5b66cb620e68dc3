import type { TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";
import { type Look, sameReport, sameTerminal } from "./recovery-policy.ts";

/**
 * Rules for what the terminal made of a result that was refused because no order asked for it
 * (docs/design.md 3.4). Pure.
 */

export const strayFindings = ["held", "reversed", "gone", "known", "unclear"] as const;
export type StrayFinding =
  /** The terminal has the result stored as a sale: a card was charged and nobody here knows why. */
  | "held"
  /** The terminal's last transaction is its reversal. */
  | "reversed"
  /** The result is not the terminal's last transaction, and nothing was sold or closed since. */
  | "gone"
  /** The result is the sale of an order. */
  | "known"
  /** The terminal does not tell, is another one, or something was sold or closed since. */
  | "unclear";

export type StrayVerdict =
  | { readonly verdict: StrayFinding; readonly because: string }
  /** An automatic reversal could still be running: look again. */
  | { readonly verdict: "look-again"; readonly because: string };

export interface Stray {
  readonly report: TransactionReport;
  /** The terminal that reported it. */
  readonly identity: TerminalIdentity;
  /** The order whose sale this very transaction is; null when there is none. */
  readonly knownAs: string | null;
  /** Something may have been charged after it was reported. */
  readonly soldSince: boolean;
  /** An end of day may have taken it out of the terminal's storage. */
  readonly closedSince: boolean;
}

export function judgeStray(
  { report, identity, knownAs, soldSince, closedSince }: Stray,
  { last, identity: found }: Look,
  earlier: Look | null,
): StrayVerdict {
  const unclear = (because: string): StrayVerdict => ({ verdict: "unclear", because });
  if (knownAs !== null) return { verdict: "known", because: `it is the sale of order ${knownAs}` };
  if (!sameTerminal(identity, found)) return unclear("another terminal is connected now");
  if (last.kind === "not-told") return unclear(`the terminal does not tell: ${last.why}`);
  if (last.kind === "transaction" && sameReport(last.report, report)) {
    const confirmed =
      earlier?.last.kind === "transaction" && sameReport(earlier.last.report, report);
    return confirmed
      ? { verdict: "held", because: "the terminal has it stored as a sale" }
      : { verdict: "look-again", because: "an automatic reversal could still be running" };
  }
  const { originalTrace } = last.kind === "transaction" ? last.report : { originalTrace: null };
  if (originalTrace !== null && originalTrace === report.traceNumber) {
    return { verdict: "reversed", because: "the terminal has reversed it" };
  }
  if (closedSince) return unclear("an end of day may have closed it");
  const above = soldSince || originalTrace !== null;
  if (above) return unclear("something else was stored since, so it need not be the last one");
  return { verdict: "gone", because: "the terminal has not stored it" };
}
