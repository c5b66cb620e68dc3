import type {
  CountAndSum,
  DeliveredSums,
  DeliveryFault,
  DeliveryVerdict,
  LedgerEntry,
} from "./reconciliation.ts";

/**
 * Rules for comparing the journal with what the gateway was sent (docs/rules/18-totals.md). Pure. A
 * sale that is on its way, refused and waiting, or closed by an operator is no difference.
 */
export function compareDeliveries(entries: readonly LedgerEntry[]): DeliveryVerdict {
  const sales = entries.filter(({ charged }) => charged === "yes");
  const currencies = [...new Set(sales.map(({ currency }) => currency))];
  return {
    sums: currencies.map((currency) => sumsOf(sales, currency)),
    faults: entries.flatMap(faultOf),
  };
}

function sumsOf(sales: readonly LedgerEntry[], currency: string): DeliveredSums {
  const mine = sales.filter((entry) => entry.currency === currency);
  const those = (...states: readonly LedgerEntry["delivery"][]): CountAndSum =>
    countAndSum(mine.filter(({ delivery }) => states.includes(delivery)));
  return {
    currency,
    charged: countAndSum(mine),
    sent: those("sent"),
    waiting: those("pending", "parked"),
    closed: those("closed"),
  };
}

function countAndSum(entries: readonly LedgerEntry[]): CountAndSum {
  const sumMinor = entries.reduce((sum, { chargedMinor }) => sum + (chargedMinor ?? 0), 0);
  return { count: entries.length, sumMinor };
}

function faultOf(entry: LedgerEntry): DeliveryFault[] {
  const because = whyWrong(entry);
  if (because === undefined) return [];
  const { orderId, transactionId, currency, chargedMinor, amountMinor } = entry;
  return [{ orderId, transactionId, currency, because, amountMinor: chargedMinor ?? amountMinor }];
}

function whyWrong(entry: LedgerEntry): string | undefined {
  const { charged, delivery, handedMinor, chargedMinor, returnedMinor } = entry;
  if (charged === "yes") {
    if (delivery === null) return "charged, and never handed over";
    const isOther = handedMinor !== null && chargedMinor !== null && handedMinor !== chargedMinor;
    return isOther ? "handed over with another amount than was charged" : undefined;
  }
  if (charged === "unknown" || delivery !== "sent") return undefined;
  if (chargedMinor === null) return "not charged, and the gateway has it";
  const isLeft = returnedMinor < chargedMinor;
  return isLeft ? "reversed at the terminal, and the gateway has it" : undefined;
}
