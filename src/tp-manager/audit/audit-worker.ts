import { parentPort, workerData } from "node:worker_threads";
import { type AuditPart, auditPart } from "./audit-journal.ts";

/** A thread of the audit: it receives parts of the journal and checks one after the other. */
const { path } = workerData as { readonly path: string };
parentPort?.on("message", (part: AuditPart) => parentPort?.postMessage(auditPart(path, part)));
