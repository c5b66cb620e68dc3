import type { PaymentEnd } from "../terminal.ts";

/** Nothing was asked for, or the terminal did not take it. */
export function notBegun(sent: "not-sent" | "refused", fault: string): PaymentEnd {
  if (sent === "not-sent") {
    return { end: "not-sent", code: "line", text: fault || "the terminal does not answer" };
  }
  const text = "the terminal did not take the request, also when it was repeated";
  return { end: "refused", code: "request", text: [text, fault].filter(Boolean).join("; ") };
}

/** The terminal may have charged, and no clear result was heard. */
export function lost(code: string, text: string): Extract<PaymentEnd, { end: "lost" }> {
  return { end: "lost", code, text, ticket: "" };
}
