import { execFile } from "node:child_process";
import { resolve } from "node:path";
import type { JournalAudit } from "../../shared/ipc/contract.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { programFile } from "../../shared/version-files.ts";

/** The most bytes of an audit's report; a report with many faults is long. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Audits a copy of a data folder's journal, or the file `journal`. Throws {@link ProgramExit} if
 * there is no journal, or no room for the copy. `limitMs`: the time limit; 0: there is none.
 */
export function auditOf(dataDirectory: string, journal: string | undefined, limitMs = 0) {
  const args = journal ? ["--journal", resolve(journal)] : ["--data", dataDirectory];
  const options = { maxBuffer: OUTPUT_BYTES_MAX, timeout: limitMs, windowsHide: true };
  const command = [programFile("audit"), ...args];
  return new Promise<JournalAudit>((done, refused) => {
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
