import { rowOf } from "../../src/tp-manager/attempts/phase-table.ts";
import { settleByOperator } from "../../src/tp-manager/orders/settlement.ts";
import type { TestClock } from "../support/clocks/test-clock.ts";
import type { Bank } from "./bank.ts";
import type { Kiosk } from "./kiosk.ts";
import type { TpManager } from "./processes.ts";

interface Statement {
  readonly clock: TestClock;
  readonly devices: ReadonlyArray<{ readonly busy: boolean }>;
  readonly kiosk: Kiosk;
  readonly bank: Bank;
  readonly tpManager: TpManager | undefined;
}

/** Longer than a command that was on its way, or a sale that is taken back, is not to be seen. */
const STATEMENT_EVERY_MS = 30_000;

/**
 * Settles what is unknown as the bank's statement of the day has it. The statement comes when no
 * terminal has a card any more, and none takes a sale back; one that was taken away may have one.
 */
export async function settleByStatement(world: Statement): Promise<void> {
  const { clock, devices, kiosk, bank } = world;
  do await clock.advance(STATEMENT_EVERY_MS);
  while (devices.some(({ busy }) => busy));
  if (world.tpManager) settleUnknown(kiosk, world.tpManager, bank);
}

/** Settles every order that is still unknown as the bank has it (docs/rules/24-amount.md). */
function settleUnknown(kiosk: Kiosk, tpManager: TpManager, bank: Bank): void {
  const { journal, orders, arbiter } = tpManager;
  for (const attempt of journal.attempts.unfinished()) {
    const { orderId } = attempt.request;
    const { settle } = rowOf(attempt);
    if (settle.length === 0) continue;
    const balance = bank.balance(orderId);
    const nothing = settle.includes("reversed") ? "reversed" : "not_charged";
    const decision =
      balance > 0
        ? ({ outcome: "charged", amountMinor: balance } as const)
        : ({ outcome: nothing } as const);
    const note = "as the bank's statement has it";
    kiosk.ask({ order: orderId, call: "settle" }, tpManager, async () =>
      settleByOperator({ orders, arbiter }, { orderId, note, ...decision }),
    );
  }
}
