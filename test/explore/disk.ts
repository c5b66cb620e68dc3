import type { AttemptInput } from "../../src/tp-manager/attempts/attempt-input.ts";
import { type AttemptState, begun } from "../../src/tp-manager/attempts/payment.ts";
import { phaseTable } from "../../src/tp-manager/attempts/phase-table.ts";
import type { KnownRecord } from "../../src/tp-manager/journal/record-rows.ts";
import type { Baseline, TransactionReport } from "../../src/tp-manager/terminal/terminal.ts";
import { identityOf } from "./device.ts";
import { attemptOf, nowMs, type World } from "./world.ts";

/** What the connector writes, as the product's journal keeps it. */

/** The write-ahead record. Returns its place. */
export function begin(world: World, order: string, baseline: Baseline): number {
  const { attempts, records } = world.disk;
  const number = attempts.filter((each) => each.order === order).length + 1;
  const at = { startedAtMs: nowMs(world), endedAtMs: null, events: [] };
  const heard = { end: null, proved: false, good: false, cut: false } as const;
  const found = { asked: false, served: false, heard };
  const attemptIndex =
    attempts.push({ order, number, state: begun, baseline, ...at, ...found }) - 1;
  if (baseline.last.kind === "transaction") {
    const { traceNumber, receiptNumber, localTime } = baseline.last.report;
    const isKnown = records.some(
      ({ record: one }) =>
        one.traceNumber === traceNumber &&
        one.receiptNumber === receiptNumber &&
        one.localTime === localTime,
    );
    if (!isKnown) keepRecord(world, baseline.last.report, null, "baseline");
  }
  return attemptIndex;
}

/** The steps that the matcher reads; those with a report keep it as a record. */
const steps: Partial<Record<AttemptInput["input"], string>> = {
  report: "report",
  interrupted: "interrupted",
  "second-sale": "second-sale",
  "proved-charged": "recovery-charged",
  "proved-not-charged": "recovery-not-charged",
  "found-charged": "charged-late",
};

/** The state that `input` has led to. */
export function keepStep(
  world: World,
  index: number,
  input: AttemptInput,
  state: AttemptState,
): void {
  const before = attemptOf(world, index);
  const atMs = nowMs(world);
  const kind = input.input === "end" ? `end-${input.end.end}` : steps[input.input];
  const report = "report" in input ? input.report : undefined;
  const events = kind ? [...before.events, { atMs, kind, detail: { report } }] : before.events;
  const endedAtMs = phaseTable[state.phase].open === null ? atMs : null;
  world.disk.attempts[index] = { ...before, state, events, endedAtMs };
  if (kind && report) keepRecord(world, report, String(index), "step");
}

/** A transaction that belongs to no attempt for certain. Returns its number. */
export function keepUnmatched(world: World, report: TransactionReport, finding: string): number {
  const { attempts, closings, unmatched } = world.disk;
  const since = { attempts: attempts.length, closings: closings.length };
  const identity = identityOf(world.device);
  unmatched.push({ report, identity, atMs: nowMs(world), ...since, finding });
  keepRecord(world, report, null, "unmatched");
  return unmatched.length - 1;
}

/** A record without a name is none. */
function keepRecord(
  world: World,
  record: TransactionReport,
  transactionId: string | null,
  source: KnownRecord["source"],
): void {
  const { receiptNumber, traceNumber, localTime } = record;
  if ((receiptNumber ?? traceNumber ?? localTime) === null) return;
  world.disk.records.push({ record, transactionId, source, atMs: nowMs(world) });
}
