import type { Outcome } from "./run.ts";

/** Runs and what came of them, by fault. JSON. */
export interface Tally {
  runs: number;
  violations: number;
  firstViolation: { seed: number; run: number; invariants: string[] } | null;
  byFault: Record<string, Row>;
}

interface Row {
  runs: number;
  /** How often orders ended so, by status. */
  ends: Record<string, number>;
  violations: number;
}

export const newTally = (): Tally => ({
  runs: 0,
  violations: 0,
  firstViolation: null,
  byFault: {},
});

export function addOutcome(tally: Tally, { plan, struck, ends, violations }: Outcome): void {
  tally.runs += 1;
  tally.violations += violations.length;
  if (violations.length > 0 && tally.firstViolation === null) {
    const invariants = [...new Set(violations.map(({ invariant }) => invariant))];
    tally.firstViolation = { seed: plan.seed, run: tally.runs, invariants };
  }
  const row = { runs: 1, ends: count(ends), violations: violations.length };
  for (const fault of struck.length > 0 ? struck : ["none"]) addRow(tally, fault, row);
}

export function merge(tallies: readonly Tally[]): Tally {
  const all = newTally();
  for (const { runs, violations, firstViolation, byFault } of tallies) {
    all.runs += runs;
    all.violations += violations;
    all.firstViolation ??= firstViolation;
    for (const [fault, row] of Object.entries(byFault)) addRow(all, fault, row);
  }
  return all;
}

export function addRow(tally: Tally, fault: string, given: Row): void {
  tally.byFault[fault] ??= { runs: 0, ends: {}, violations: 0 };
  const row = tally.byFault[fault];
  row.runs += given.runs;
  row.violations += given.violations;
  for (const [end, times] of Object.entries(given.ends)) {
    row.ends[end] = (row.ends[end] ?? 0) + times;
  }
}

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
