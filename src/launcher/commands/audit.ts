import type { JournalAudit } from "../../shared/ipc/contract.ts";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import type { CommandContext, Output } from "../output.ts";
import { auditOf, faultCount } from "../processes/journal-audit.ts";

/** The largest number of faults that are printed for people; `--json` lists more. */
const LINES_MAX = 40;

/** Prints the audit's findings; returns exit code 0, or 70 when the journal breaks a rule. */
export async function showAudit(
  { dataDirectory, output }: CommandContext,
  { json, journal }: { readonly json: boolean; readonly journal?: string | undefined },
): Promise<number> {
  const audit = await auditOf(dataDirectory, journal);
  if (json) output.text(JSON.stringify(audit, null, 2));
  else print(audit, output);
  return faultCount(audit) === 0 ? exitCodes.ok : exitCodes.internal;
}

function print(audit: JournalAudit, output: Output): void {
  const { attempts, steps, archived, counts, faults, unknown } = audit;
  const found = faultCount(audit);
  const summary = `payments: ${attempts}, steps: ${steps}, archived: ${archived}`;
  output.row("journal", found === 0 ? "good" : "bad", found === 0 ? "in order" : "faulty", summary);
  for (const [rule, count] of Object.entries(counts)) {
    if (count > 0) output.row(rule, "bad", String(count));
  }
  for (const { rule, orderId, transactionId, says } of faults.slice(0, LINES_MAX)) {
    output.fault(`${rule}: order ${orderId}, transaction ${transactionId}: ${says}`);
  }
  if (found > LINES_MAX) output.note(`${found - LINES_MAX} more faults: --json lists 1000 a kind.`);
  for (const [kind, count] of Object.entries(unknown)) {
    output.note(`${count} payments not checked: their step ${kind} is of a newer version.`);
  }
}
