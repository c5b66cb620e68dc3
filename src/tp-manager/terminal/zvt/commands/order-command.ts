import { ZvtCodecError } from "../../../../zvt/index.ts";
import type { PaymentOrder } from "../../terminal.ts";
import type { Command } from "./command.ts";

/** The command for an order; what is wrong with the order when there can be none. */
export function commandFor(order: PaymentOrder, make: () => Command): Command | string {
  const { amountMinor, currencyNumeric } = order;
  if (!Number.isSafeInteger(amountMinor) || amountMinor <= 0) {
    return "the amount must be a whole number of minor units above 0";
  }
  if (!/^\d{3}$/.test(currencyNumeric)) return "the currency must be three digits, like 978";
  try {
    return make();
  } catch (error) {
    if (error instanceof ZvtCodecError) return error.message;
    throw error;
  }
}
