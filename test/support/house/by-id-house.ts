import { join } from "node:path";
import type { Assumption } from "../../../src/tp-manager/matching/assumptions.ts";
import {
  type Recollection,
  TerminalUnavailable,
  type TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import { AskedById } from "../terminals/asked-by-id.ts";
import { report } from "../terminals/reports.ts";
import { type House, house } from "./payment-house.ts";

export const running: Recollection = { kind: "running" };
const named = { receiptNumber: "sim1.S1", traceNumber: null, namedAt: "2026-01-15T12:00:00Z" };
export const sold = (change: Partial<TransactionReport> = {}) => report({ ...named, ...change });
export const answered = (change: Partial<TransactionReport> = {}): Recollection => ({
  kind: "answered",
  report: sold(change),
});
export const refused = {
  good: false,
  resultCode: "Refusal",
  reason: "declined",
  amountMinor: null,
} as const;
export const failed = (change: Partial<TransactionReport> = {}): Recollection =>
  answered({ ...refused, ...change });
export const busy = new TerminalUnavailable("busy", "another service runs");

export function houseOf(
  off: readonly Assumption[] = [],
  path = join(temporaryFolder(), "journal.db"),
) {
  const terminal = new AskedById();
  const at = house(path, terminal, { off, confirmAfterMs: 0, paymentTimeoutMs: 60_000 });
  terminal.clock = at.clock;
  return { at, terminal };
}

export const phaseOf = (at: House, orderId = "A-1") =>
  at.journal.attempts.decisive(orderId)?.state.phase;
