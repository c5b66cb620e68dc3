import { invariant } from "../../shared/invariant.ts";
import { AttemptWriter, type WriterParts } from "../attempts/attempt-writer.ts";
import { type Attempt, isCharged } from "../attempts/payment.ts";
import { isInDoubt } from "../attempts/phase-table.ts";
import { judgeReversal, saysReversedBefore } from "../attempts/reversal-machine.ts";
import type { SaleToReverse } from "../matching/fresh-number.ts";
import type { Matcher } from "../matching/matcher.ts";
import type { Baseline, TransactionReport } from "../terminal/terminal.ts";
import { tellReversedBefore } from "./corrections.ts";
import { observe, orderOf, writeEnd } from "./payment-run.ts";
import type { Held } from "./terminal-turn.ts";

type KnownReports = Pick<Matcher, "knownInPayment" | "assumptions">;

/**
 * Reverses one charged attempt on the terminal: reservation and write-ahead record first, then the
 * command, once (docs/design.md 3.7). A sale that was reversed before becomes reversed without a
 * command (docs/design.md 3.16). Resolves with the attempt as it stands afterwards; rejects only
 * when its end could not be written.
 */
export async function runReversal(
  { attempt, reversedBefore }: SaleToReverse,
  baseline: Baseline,
  terminal: Held<"reverse">,
  parts: WriterParts & { readonly matcher: KnownReports },
): Promise<Attempt> {
  const { state, request } = attempt;
  invariant(isCharged(state), "only a charged attempt is reversed");
  const sale = state.report;
  invariant(sale.receiptNumber !== null, "a reversal names a receipt");
  const writer = new AttemptWriter(attempt, parts);
  if (reversedBefore) {
    const because = "the terminal's last transaction is the reversal of this sale";
    const found = writer.advance({ input: "found-reversed", report: reversedBefore, because });
    tellReversedBefore(writer, because);
    return found;
  }
  writer.advance({ input: "reverse", baseline });
  const { goodsWindowSeconds: _, ...order } = orderOf(request);
  const end = await terminal.reverse(
    {
      ...order,
      amountMinor: sale.amountMinor ?? order.amountMinor,
      receiptNumber: sale.receiptNumber,
    },
    { report: (report) => write(writer, sale, report, parts.matcher), ...observe(writer) },
  );
  const { state: before } = writer.attempt;
  const ended = writeEnd(writer, end, parts.matcher.assumptions);
  const said = saysReversedBefore("last" in before ? before.last : null, end);
  if (said && !isInDoubt(ended.state)) {
    tellReversedBefore(writer, "the terminal says that it had reversed this sale before");
  }
  return ended;
}

/**
 * Every report is accepted on the wire, because a refusal could undo a reversal that has happened.
 * A report that does not agree leaves the reversal in doubt.
 */
function write(
  writer: AttemptWriter,
  sale: TransactionReport,
  report: TransactionReport,
  matcher: KnownReports,
): "accept" {
  const known = report.good ? matcher.knownInPayment(report, writer.attempt) : undefined;
  const judgement = known === undefined ? judgeReversal(sale, report) : "disagrees";
  const because = known === undefined ? {} : { because: known };
  writer.advance({ input: "report", report, judgement, ...because });
  if (judgement === "disagrees") {
    const { amountMinor, originalTrace, maskedPan } = report;
    const told = { alarm: "reversal-mismatch", amountMinor, originalTrace, maskedPan };
    const words = "the terminal's answer to a reversal names another sale, card or amount; ";
    writer.log("error", told, `${words}compare the terminal's receipts, then settle the order`);
  }
  return "accept";
}
