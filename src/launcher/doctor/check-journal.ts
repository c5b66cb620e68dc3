import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Finding, finding } from "../../shared/catalog/finding.ts";
import { auditOf, faultCount } from "../commands/audit.ts";

/** A doctor that takes minutes is not called again; the audit itself has no such limit. */
const WITHIN_MS = 60_000;

/** Every payment of the journal checked against the rules, where there is a journal. */
export async function checkJournal(dataDirectory: string): Promise<Finding[]> {
  if (!existsSync(join(dataDirectory, "journal.db"))) return [];
  try {
    const audit = await auditOf(dataDirectory, undefined, WITHIN_MS);
    const found = faultCount(audit);
    if (found > 0) return [finding("journal-faulty", { count: found })];
    return [finding("journal-right", { count: audit.attempts })];
  } catch (error) {
    return [finding("journal-not-audited", { detail: (error as Error).message })];
  }
}
