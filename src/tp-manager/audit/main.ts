import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { backup } from "node:sqlite";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { isPidInUse } from "../../shared/process/presence.ts";
import { installationAt } from "../../shared/program/installation.ts";
import { openForReading } from "../../shared/store/sqlite.ts";
import { programFile } from "../../shared/version-files.ts";
import { type AuditPart, type AuditReport, joined, partsOf } from "./audit-journal.ts";

/** The pages copied in one step: all, because a write between two steps restarts the copy. */
const ALL_PAGES = 2 ** 30;

/** The largest number of threads; more threads would only wait for the disk. */
const THREADS_MAX = 4;

/**
 * Audits a journal in a process of its own (docs/design.md 9.6): `--journal FILE` reads that file,
 * `--data DIR` reads a copy of that installation's journal. Prints the report as JSON.
 */
try {
  const { values } = parseArgs({
    options: { data: { type: "string" }, journal: { type: "string" } },
  });
  const report = values.journal
    ? await runAudit(existing(values.journal))
    : await auditCopy(String(values.data));
  process.stdout.write(`${JSON.stringify(report)}\n`);
} catch (error) {
  const exit = error instanceof ProgramExit ? error : undefined;
  process.stderr.write(`${exit?.message ?? String((error as Error).stack)}\n`);
  process.exitCode = exit?.exitCode ?? exitCodes.internal;
}

/** Audits a copy of the journal, because the programs may write to the journal meanwhile. */
async function auditCopy(data: string) {
  const { dataDirectory } = installationAt(data);
  const journal = existing(join(dataDirectory, "journal.db"));
  const folder = openRunDirectory(dataDirectory);
  removeLeftovers(folder);
  await assertRoom(journal, folder);
  const copy = join(folder, `audit-${process.pid}.db`);
  const remove = (): void => {
    for (const rest of ["", "-wal", "-shm", "-journal"]) rmSync(`${copy}${rest}`, { force: true });
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      remove();
      process.exit(exitCodes.unavailable);
    });
  }
  try {
    const source = openForReading(journal);
    try {
      await backup(source, copy, { rate: ALL_PAGES });
    } finally {
      source.close();
    }
    return await runAudit(copy);
  } finally {
    remove();
  }
}

/** Removes the copies that audits left because of a power cut. */
function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = /^audit-(\d+)\.db/.exec(name)?.[1];
    if (pid !== undefined && !isPidInUse(Number(pid))) rmSync(join(folder, name), { force: true });
  }
}

function existing(path: string): string {
  if (existsSync(path)) return path;
  throw new ProgramExit(exitCodes.unavailable, `there is no journal ${path}`);
}

async function assertRoom(journal: string, folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize > 2 * statSync(journal).size) return;
  const why = `the disk has no room for a copy of ${journal}: audit a backup of it with --journal`;
  throw new ProgramExit(exitCodes.unavailable, why);
}

async function runAudit(path: string): Promise<AuditReport> {
  const parts = partsOf(path);
  const threads = Math.min(availableParallelism(), THREADS_MAX, parts.length);
  const done = Array.from({ length: threads }, () => work(path, parts));
  return joined((await Promise.all(done)).flat());
}

function work(path: string, parts: AuditPart[]): Promise<AuditReport[]> {
  const worker = new Worker(programFile("audit-worker"), { workerData: { path } });
  const reports: AuditReport[] = [];
  return new Promise<AuditReport[]>((resolve, reject) => {
    const next = (): void => {
      const part = parts.shift();
      if (part === undefined) resolve(reports);
      else worker.postMessage(part);
    };
    worker.on("message", (report: AuditReport) => {
      reports.push(report);
      next();
    });
    worker.once("error", reject);
    next();
  }).finally(() => worker.terminate());
}
