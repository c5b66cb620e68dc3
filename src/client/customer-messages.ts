/*
 * Sentences that a kiosk can display to its customer. The answers have none, because each kiosk has
 * its own style. A sentence claims no more about the money than its member `charged`.
 */
import messages from "./customer-messages.json" with { type: "json" };

export const customerLanguages = ["en", "fr", "de", "it", "es"] as const;
export type CustomerLanguage = (typeof customerLanguages)[number];

interface Message extends Readonly<Record<CustomerLanguage, string>> {
  /** Whether the sentence says that the order was charged. */
  readonly charged: "no" | "yes" | "unknown";
}

export type CustomerMessageName =
  | "paid"
  | "collect"
  | "returned"
  | "charged-ask"
  | "unknown"
  | "declined"
  | "cancelled"
  | "too-slow"
  | "no-goods"
  | "unconfirmed"
  | "try-again"
  | "moment"
  // While payments are refused because an earlier payment has to be probed or settled.
  | "ask-staff"
  | "unavailable";

export const customerMessages = messages as Readonly<Record<CustomerMessageName, Message>>;

/** The name of the sentence for each error code without a charge; `unavailable` for other codes. */
export const customerMessageOfCode: Readonly<Record<string, CustomerMessageName>> = {
  PAYMENT_DECLINED: "declined",
  PAYMENT_CANCELLED: "cancelled",
  CUSTOMER_TIMEOUT: "too-slow",
  GOODS_NOT_DELIVERED: "no-goods",
  DELIVERY_UNCONFIRMED: "unconfirmed",
  DELIVERY_DECIDED: "unconfirmed",
  SETTLED_NOT_CHARGED: "try-again",
  SALE_TAKEN_BACK: "try-again",
  TERMINAL_FAULT: "try-again",
  TERMINAL_BUSY: "moment",
  TERMINAL_IN_DOUBT: "ask-staff",
  STOPPING: "moment",
  UPDATING: "moment",
  ORDER_REVERSED: "returned",
};

/** The name of the sentence for each status of an outcome without an error. */
export const customerMessageOfStatus: Readonly<Record<string, CustomerMessageName>> = {
  Success: "paid",
  Approved: "collect",
  Reversed: "returned",
  Declined: "declined",
  Cancelled: "cancelled",
  Unknown: "unknown",
};

interface DecidingParts {
  readonly status: string;
  readonly error: { readonly code: string; readonly charged: "no" | "yes" | "unknown" } | null;
}

/**
 * Returns the name of the sentence for an answer. The error's member `charged` has precedence over
 * the error's code, because a newer connector can send a code that is missing here.
 */
export function customerMessageName({ status, error }: DecidingParts): CustomerMessageName {
  if (error === null) {
    return customerMessageOfStatus[status] ?? "unknown";
  }
  if (error.charged === "unknown") return "unknown";
  if (error.charged === "yes") return "charged-ask";
  return customerMessageOfCode[error.code] ?? "unavailable";
}

/** Returns the customer's sentence for an answer of `POST /payment` or `GET /payment/{orderId}`. */
export function customerMessage(outcome: DecidingParts, language: CustomerLanguage = "en"): string {
  return customerMessages[customerMessageName(outcome)][language];
}
