import { sleep } from "../../shared/time.ts";
import type { Outcome } from "./bank/outcome.ts";
import type { CustomerAction, Wanted } from "./customer.ts";
import type { TerminalOptions } from "./options.ts";
import type { PaymentScript } from "./scenario.ts";
import type { TerminalParts } from "./terminal-parts.ts";

interface CustomerWait {
  readonly wanted: Wanted;
  /** How long the terminal waits; null: for ever. */
  readonly waitMs: number | null;
  readonly signal: AbortSignal;
  readonly outcome?: Outcome;
  readonly script?: PaymentScript;
}

/** The customer's act, by hand or by itself; "time-out" when the terminal has waited in vain. */
export async function customerActs<O extends TerminalOptions>(
  parts: TerminalParts<O>,
  { wanted, waitMs, signal, outcome, script = {} }: CustomerWait,
): Promise<CustomerAction> {
  const { pace } = parts.options;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const byHand = parts.customer.wait(wanted, either);
  const timeOut = async (limitMs: number): Promise<CustomerAction> => {
    await sleep(parts.clock, "card wait", Math.min(limitMs, waitMs ?? limitMs), either);
    return { action: "time-out" };
  };
  const itself = async (): Promise<CustomerAction> => {
    if (parts.customer.plays === "manual") {
      return await (waitMs === null ? byHand : timeOut(waitMs));
    }
    if (outcome?.kind === "customer-timeout") return await timeOut(pace.walkAwayMs);
    const delayMs = script.customerMs ?? pace.customerMs;
    if (waitMs !== null && delayMs >= waitMs) return await timeOut(waitMs);
    if (delayMs > 0) await sleep(parts.clock, "customer", delayMs, either);
    return byThemselves[wanted];
  };
  try {
    return await Promise.race([byHand, itself()]);
  } finally {
    over.abort();
  }
}

/** The acts of a customer whom nobody plays. */
const byThemselves: Readonly<Record<Wanted, CustomerAction>> = {
  card: { action: "insert" },
  key: { action: "key", key: "ok" },
  "key-or-card": { action: "key", key: "ok" },
  digits: { action: "digits", digits: "1234567890" },
};
