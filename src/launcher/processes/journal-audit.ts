import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { programFile } from "../../shared/version-files.ts";

/** The findings of an audit (src/tp-manager/audit). */
export interface JournalAudit {
  readonly attempts: number;
  readonly steps: number;
  readonly archived: number;
  /** How many faults of each rule. */
  readonly counts: Readonly<Record<string, number>>;
  /** The first of the faults. */
  readonly faults: readonly {
    readonly rule: string;
    readonly orderId: string;
    readonly transactionId: string;
    readonly says: string;
  }[];
  /** How many attempts have steps of a newer version, by their kind. */
  readonly unknown: Readonly<Record<string, number>>;
}

/** The size of a report with a long list of faults. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
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
