import type { Clock } from "../../../shared/time.ts";
import type { PaymentEnd, PaymentObserver, PaymentOrder } from "../terminal.ts";
import type { Dialogue, Sent } from "./dialogue.ts";

/** The longest time to open the line again, enough for all ENQ attempts or one TCP connect. */
const REOPEN_MS = 20_000;

export class Paying {
  readonly order: PaymentOrder;
  readonly observer: PaymentObserver;
  readonly ended = Promise.withResolvers<PaymentEnd>();
  /** The last fault of the connection during this payment; "" when there was none. */
  fault = "";
  /** Whether the terminal may have the request: from then on any reply counts as evidence. */
  isSent = false;
  /** Present while the line is opened again: a reply that comes now is about an earlier payment. */
  reopening: AbortController | undefined;
  /** Whether an approval came before the request: it may be of this order, so nothing is sent. */
  isOvertaken = false;

  constructor(order: PaymentOrder, observer: PaymentObserver) {
    this.order = order;
    this.observer = observer;
  }
}

/**
 * Sends the request of a payment once, and never after an approval of an earlier payment has come.
 * If the line closes before a byte is sent, the line is opened once more.
 */
export async function sendRequest(
  request: Uint8Array,
  paying: Paying,
  dialogue: Dialogue,
  clock: Clock,
): Promise<Exclude<Sent, "lapsed"> | "not-sent"> {
  const mayLeave = (): boolean => !paying.isOvertaken;
  let sent: Sent = mayLeave() ? await dialogue.send(request, mayLeave) : "lapsed";
  if (sent === "lapsed" && mayLeave()) {
    const opening = new AbortController();
    paying.reopening = opening;
    const limit = clock.startTimer("opening again", REOPEN_MS, () => opening.abort());
    const { opened } = await dialogue.open(opening.signal);
    limit.clear();
    paying.reopening = undefined;
    if (opened && mayLeave()) sent = await dialogue.send(request, mayLeave);
  }
  if (sent !== "lapsed") return sent;
  if (!mayLeave()) dialogue.leave();
  return "not-sent";
}

/** Returns the outcome of a payment that was not sent, or that the terminal provably refused. */
export function notBegun(sent: "not-sent" | "refused", fault: string): PaymentEnd {
  if (sent === "not-sent") {
    return { end: "not-sent", code: "line", text: fault || "the terminal does not answer" };
  }
  const text = "the terminal did not take the request, also when it was repeated";
  return { end: "refused", code: "request", text: [text, fault].filter(Boolean).join("; ") };
}
