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
import { approves, lost } from "../terminals/scripted-terminal.ts";
import { type House, house, outcome, pay, request } from "./payment-house.ts";

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
export const other: Recollection = { kind: "not-told", why: "it repeated another answer" };
export const failing = new TerminalUnavailable("no-answer", "it answered with NotAllowed");
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

/** The answer to the payment is lost on the wire. */
export async function loses(at: House, orderId = "A-1"): Promise<string> {
  at.terminal.script = () => Promise.resolve(lost("the connection broke"));
  const answer = await pay(at, request(orderId));
  at.terminal.script = approves;
  return outcome(answer);
}

/** A payment that a cancel crossed, and that the terminal itself says it ended. */
export async function cancels({ at, terminal }: ReturnType<typeof houseOf>) {
  const ended = Promise.withResolvers<void>();
  terminal.script = async (_order, observer) => {
    await ended.promise;
    observer.report(report({ good: false, resultCode: "Aborted", reason: "cancelled" }));
    return { end: "completed", ticket: "" };
  };
  terminal.onCancel = () => ended.resolve();
  const paying = pay(at, request("A-1"));
  await at.clock.advance(0);
  await at.arbiter.running.cancel();
  await at.clock.advance(0);
  terminal.script = approves;
  return { paying };
}
