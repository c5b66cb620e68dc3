import type { Parts } from "./parts.ts";

/**
 * After power came back: a charge that never became final is reversed (docs/zvt.md 9.1), unless the
 * terminal is of the newer kind that keeps it until the next transaction (docs/zvt.md 9.4).
 */
export function reverseUnfinished({ ledger, memory, options }: Parts): void {
  if (!options.behaviour.autoReversal) return;
  for (const { id, kind, final, receiptNumber } of ledger.entries) {
    if (final || kind === "reversal" || kind === "release" || ledger.remaining(id) === 0) continue;
    ledger.takeBack(id, "restart", { trace: memory.takeTrace(), receiptNumber });
  }
}
