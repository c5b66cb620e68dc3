import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { programFile } from "../../shared/version-files.ts";
import { type AuditPart, type AuditReport, joined, partsOf } from "./audit-journal.ts";

/** More threads only wait for the disk. */
const THREADS_MAX = 4;

/** Audits a journal file with as many threads as the machine has for it. */
export async function runAudit(path: string): Promise<AuditReport> {
  const parts = partsOf(path);
  const threads = Math.min(availableParallelism(), THREADS_MAX, parts.length);
  const done = Array.from({ length: threads }, () => work(path, parts));
  return joined((await Promise.all(done)).flat());
}

/** One thread: takes parts until none is left. */
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
