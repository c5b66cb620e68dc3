import type { TransactionReport } from "../terminal/terminal.ts";
import type { Attempt } from "./payment.ts";

/** The journal's record of what happened on terminals since a sale, its own results included. */
export interface SinceSale {
  /** Attempts begun after the sale whose command may have left, oldest first. */
  readonly later: readonly Attempt[];
  /** Attempts of before the sale whose reversal was begun after it. */
  readonly earlier: readonly Attempt[];
  /** Results that were reported since, in their order, with the attempt that got each. */
  readonly reports: readonly ReportedResult[];
  /** An unmatched transaction was kept since. */
  readonly unmatched: boolean;
  /** A reversal of the sale has left before; left out: none has. */
  readonly wasTried?: boolean;
}

export interface ReportedResult {
  readonly transactionId: string;
  readonly report: TransactionReport;
}
