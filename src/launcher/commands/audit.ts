import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { programFile } from "../../shared/version-files.ts";
import type { LauncherArguments } from "../arguments.ts";
import type { Output } from "../output.ts";
import type { Site } from "../site.ts";

/** The findings of an audit (src/tp-manager/audit). */
export interface JournalAudit {
  readonly attempts: number;
  readonly steps: number;
  readonly archived: number;
  /** How many faults of each rule. */
  readonly counts: Readonly<Record<string, number>>;
  /** The first of them. */
  readonly faults: readonly {
    readonly rule: string;
    readonly orderId: string;
    readonly transactionId: string;
    readonly says: string;
  }[];
  /** How many attempts have steps of a newer version, by their kind. */
  readonly unknown: Readonly<Record<string, number>>;
}

/** The report of a long list of faults. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Lines for people; `--json` has more. */
const LINES_MAX = 40;

/**
 * Audits the journal of a data folder on a copy, or a file. Throws {@link ProgramExit} when there
 * is nothing to audit, or no room for the copy.
 */
export function auditOf(
  dataDirectory: string,
  journal: string | undefined,
  limitMs = 0,
): Promise<JournalAudit> {
  const args = journal ? ["--journal", resolve(journal)] : ["--data", dataDirectory];
  const options = { maxBuffer: OUTPUT_BYTES_MAX, timeout: limitMs, windowsHide: true };
  return new Promise((done, refused) => {
    execFile(
      process.execPath,
      [programFile("audit"), ...args],
      options,
      (error, stdout, stderr) => {
        if (!error) return done(JSON.parse(stdout) as JournalAudit);
        const code = error.code === exitCodes.unavailable ? error.code : exitCodes.internal;
        const why = error.killed ? "the audit took too long" : stderr.trim();
        return refused(new ProgramExit(code, why || error.message));
      },
    );
  });
}

export function faultCount({ counts }: JournalAudit): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Prints what was found; 0 when nothing is wrong, else 70: the journal breaks a rule. */
export async function showAudit(
  { installation, output }: Site,
  { json, journal }: Pick<LauncherArguments, "json" | "journal">,
): Promise<number> {
  const audit = await auditOf(installation.dataDirectory, journal);
  if (json) output.text(JSON.stringify(audit, null, 2));
  else print(audit, output);
  return faultCount(audit) === 0 ? exitCodes.ok : exitCodes.internal;
}

function print(audit: JournalAudit, output: Output): void {
  const { attempts, steps, archived, counts, faults, unknown } = audit;
  const found = faultCount(audit);
  const looked = `payments: ${attempts}, steps: ${steps}, archived: ${archived}`;
  output.row("journal", found === 0 ? "good" : "bad", found === 0 ? "in order" : "faulty", looked);
  for (const [rule, count] of Object.entries(counts)) {
    if (count > 0) output.row(rule, "bad", String(count));
  }
  for (const { rule, orderId, transactionId, says } of faults.slice(0, LINES_MAX)) {
    output.fault(`${rule}: order ${orderId}, transaction ${transactionId}: ${says}`);
  }
  if (found > LINES_MAX) output.note(`${found - LINES_MAX} more: --json lists up to 1000 a part.`);
  for (const [kind, count] of Object.entries(unknown)) {
    output.note(`${count} payments have the step ${kind} of a newer version; not replayed.`);
  }
}
