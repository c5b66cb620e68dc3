import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { programFile } from "../../shared/version-files.ts";

/** The report of the journal's audit, as the program in src/tp-manager/audit prints it. */
export interface JournalAudit {
  readonly attempts: number;
  readonly steps: number;
  readonly archived: number;
  /** The number of faults against each rule. */
  readonly counts: Readonly<Record<string, number>>;
  /** The first faults; at most 1 000 of each part of the journal. */
  readonly faults: readonly {
    readonly rule: string;
    readonly orderId: string;
    readonly transactionId: string;
    readonly says: string;
  }[];
  /** The number of attempts with steps that only a newer version knows, by the kind of step. */
  readonly unknown: Readonly<Record<string, number>>;
}

/** The most bytes of an audit's report; a report with many faults is long. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Audits a copy of a data folder's journal, or the file `journal`. Throws {@link ProgramExit} if
 * there is no journal, or no room for the copy. `limitMs`: the time limit; 0: there is none.
 */
export function auditOf(
  dataDirectory: string,
  journal: string | undefined,
  limitMs = 0,
): Promise<JournalAudit> {
  const args = journal ? ["--journal", resolve(journal)] : ["--data", dataDirectory];
  const options = { maxBuffer: OUTPUT_BYTES_MAX, timeout: limitMs, windowsHide: true };
  const command = [programFile("audit"), ...args];
  return new Promise((done, refused) => {
    execFile(process.execPath, command, options, (error, stdout, stderr) => {
      if (!error) return done(JSON.parse(stdout) as JournalAudit);
      const code = error.code === exitCodes.unavailable ? error.code : exitCodes.internal;
      const why = error.killed ? "the audit took too long" : stderr.trim();
      return refused(new ProgramExit(code, why || error.message));
    });
  });
}

export function faultCount({ counts }: JournalAudit): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
