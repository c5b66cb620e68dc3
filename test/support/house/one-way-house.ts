import { expect } from "vitest";
import { referenceOf } from "../../../src/tp-manager/attempts/reference-policy.ts";
import type { OneWayResult, TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { report } from "../terminals/reports.ts";
import { lost, ScriptedTerminal } from "../terminals/scripted-terminal.ts";
import { type House, house, outcome, pay, request } from "./payment-house.ts";

const unsaid = { terminalId: null, receiptNumber: null, traceNumber: null, localDate: null };
export const nameless = { ...unsaid, localTime: null };
export const alarms = (at: House): string[] =>
  at.hub.source.alarms(20).map(({ data }) => ("alarm" in data ? data.alarm : ""));
export const phaseOf = (at: House, orderId = "A-1") =>
  at.journal.attempts.decisive(orderId)?.state.phase;
export const referenceAt = (at: House, orderId = "A-1"): string =>
  referenceOf(at.journal.attempts.decisive(orderId)?.transactionId ?? "");

/** In time, by a driver that remembers none before. */
export const reportedNow = (said: TransactionReport): OneWayResult => ({
  report: said,
  isEarly: false,
  isAgain: undefined,
});

/** A kiosk whose terminal cannot be asked, cancelled or refused. */
export function oneWayKiosk(
  path?: string,
): House & { reports(change: Partial<TransactionReport>): boolean } {
  const terminal = new ScriptedTerminal();
  const capabilities = { ...terminal.capabilities, lastTransaction: false };
  let take = (_result: OneWayResult): boolean => false;
  Object.assign(terminal, {
    capabilities,
    cancel: undefined,
    takeLateResults: (listener: typeof take) => {
      take = listener;
    },
    last: { kind: "not-told", why: "cannot be asked" },
    baseline: { ...terminal.baseline, last: { kind: "not-told", why: "cannot be asked" } },
  });
  const at = house(path, terminal);
  at.start();
  const reports = (change: Partial<TransactionReport>) =>
    take(reportedNow(report({ ...nameless, ...change })));
  return Object.assign(at, { reports });
}

/** An order whose result was not heard, and the recovery run after it. */
export async function leaveInDoubt(at: House, orderId = "A-1", change = {}): Promise<void> {
  at.terminal.script = () => Promise.resolve(lost("nothing came"));
  expect(outcome(await pay(at, request(orderId, change)))).toBe("Unknown");
  await at.clock.advance(1_000);
  expect(at.arbiter.inquiries.blockedBy).toBeUndefined();
}
