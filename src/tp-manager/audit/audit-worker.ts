import { parentPort, workerData } from "node:worker_threads";
import { type AuditPart, auditPart } from "./audit-journal.ts";

/** A thread of the audit, which checks the parts that it receives one after the other. */
const { path } = workerData as { readonly path: string };
parentPort?.on("message", (part: AuditPart) => parentPort?.postMessage(auditPart(path, part)));
