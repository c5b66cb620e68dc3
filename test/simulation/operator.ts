import { rowOf } from "../../src/tp-manager/attempts/phase-table.ts";
import { settleByOperator } from "../../src/tp-manager/orders/settlement.ts";
import type { Bank } from "./bank.ts";
import type { Kiosk } from "./kiosk.ts";
import type { TpManager } from "./processes.ts";

/** Settles every order that is still unknown as the bank has it (docs/design.md 3.24). */
export function settleUnknown(kiosk: Kiosk, tpManager: TpManager, bank: Bank): void {
  const { journal, orders, desk } = tpManager;
  for (const attempt of journal.attempts.unfinished()) {
    const { orderId } = attempt.request;
    const { settle } = rowOf(attempt);
    if (settle.length === 0) continue;
    const balance = bank.balance(orderId);
    const nothing = settle.includes("reversed") ? "reversed" : "not_charged";
    const word =
      balance > 0
        ? ({ outcome: "charged", amountMinor: balance } as const)
        : ({ outcome: nothing } as const);
    const note = "as the bank's statement has it";
    kiosk.ask({ order: orderId, call: "settle" }, tpManager, async () =>
      settleByOperator({ orders, desk }, { orderId, note, ...word }),
    );
  }
}
