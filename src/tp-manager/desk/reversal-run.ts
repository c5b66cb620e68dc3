import { invariant } from "../../shared/invariant.ts";
import { AttemptWriter, type WriterParts } from "../attempts/attempt-writer.ts";
import type { Attempt } from "../attempts/payment.ts";
import { judgeReversal } from "../attempts/reversal-machine.ts";
import type { Baseline, TransactionReport } from "../terminal/terminal.ts";
import { observe, orderOf, writeEnd } from "./payment-run.ts";
import type { Held } from "./terminal-turn.ts";

/** The event of the write-ahead record. */
export const REVERSAL_BEGINS = "reversal-begins";

/**
 * Reverses one charged attempt on the terminal: reservation and write-ahead record first, then the
 * command, once (docs/design.md 3.7). Resolves with the attempt as it stands afterwards; rejects
 * only when its end could not be written.
 */
export async function runReversal(
  attempt: Attempt,
  baseline: Baseline,
  terminal: Held<"reverse">,
  parts: WriterParts,
): Promise<Attempt> {
  const { state, request } = attempt;
  invariant(state.phase === "charged", "only a charged attempt is reversed");
  const sale = state.report;
  invariant(sale.receiptNumber !== null, "a reversal names a receipt");
  const writer = new AttemptWriter(attempt, parts);
  writer.advance({ input: "reverse", baseline }, REVERSAL_BEGINS, {
    receiptNumber: sale.receiptNumber,
  });
  const { goodsWindowSeconds: _, ...order } = orderOf(request);
  const end = await terminal.reverse(
    {
      ...order,
      amountMinor: sale.amountMinor ?? order.amountMinor,
      receiptNumber: sale.receiptNumber,
    },
    { report: (report) => write(writer, sale, report), ...observe(writer) },
  );
  return writeEnd(writer, end);
}

/**
 * Every report is accepted on the wire, because a refusal could undo a reversal that has happened.
 * A report that does not agree leaves the reversal in doubt.
 */
function write(
  writer: AttemptWriter,
  sale: TransactionReport,
  report: TransactionReport,
): "accept" {
  const judgement = judgeReversal(sale, report);
  writer.advance({ input: "report", report, judgement }, "reversal-report", { judgement, report });
  return "accept";
}
