import { existsSync } from "node:fs";
import { join } from "node:path";
import { auditOf, faultCount } from "../audit.ts";
import { bad, doubtful, type Finding, good } from "./finding.ts";

/** A doctor that takes minutes is not called again; the audit itself has no such limit. */
const WITHIN_MS = 60_000;
const AUDIT = "./launch.sh audit";

/** Every payment of the journal checked against the rules, where there is a journal. */
export async function checkJournal(dataDirectory: string): Promise<Finding[]> {
  if (!existsSync(join(dataDirectory, "journal.db"))) return [];
  try {
    const audit = await auditOf(dataDirectory, undefined, WITHIN_MS);
    const found = faultCount(audit);
    const says = `${audit.attempts} payments follow the rules`;
    if (found === 0) return [good("journal", says)];
    const todo = `${AUDIT} lists them; send what it prints with --json to support`;
    return [bad("journal", `${found} records break a rule about money`, todo)];
  } catch (error) {
    return [doubtful("journal", `not audited: ${(error as Error).message}`, AUDIT)];
  }
}
