/** The end that a payment takes once the customer is there. */
export type Outcome =
  | { readonly kind: "approve" }
  /** Refused by the host; `code` is the ISO 8583 response code, 1 to 99. */
  | { readonly kind: "decline"; readonly code: number }
  /** The customer does nothing until the terminal gives up. */
  | { readonly kind: "customer-timeout" };

/** The cents that mean "the customer walks away". */
const CUSTOMER_TIMEOUT_CENTS = 68;

/** Cents equal the ISO 8583 response code: 00 approves, all others decline, 68 apart. */
function outcomeOfAmount(amountMinor: number): Outcome {
  const cents = amountMinor % 100;
  if (cents === 0) return { kind: "approve" };
  if (cents === CUSTOMER_TIMEOUT_CENTS) return { kind: "customer-timeout" };
  return { kind: "decline", code: cents };
}

export type OutcomeRule = "by-amount" | Outcome;

export function outcomeOf(rule: OutcomeRule, amountMinor: number): Outcome {
  return rule === "by-amount" ? outcomeOfAmount(amountMinor) : rule;
}

/** Reads the value of `--outcome`; undefined when it is none. */
export function parseOutcomeRule(text: string): OutcomeRule | undefined {
  if (text === "by-amount") return text;
  if (text === "approve" || text === "customer-timeout") return { kind: text };
  const code = /^decline:(\d{1,2})$/.exec(text)?.[1];
  return code && Number(code) > 0 ? { kind: "decline", code: Number(code) } : undefined;
}
