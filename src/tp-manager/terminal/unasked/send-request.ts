import type { Clock } from "../../../shared/time.ts";
import type { PaymentEnd, PaymentObserver, PaymentOrder } from "../terminal.ts";
import type { Dialogue } from "./dialogue.ts";

/** Longer than all tries of ENQ, and than a connect. */
const REOPEN_MS = 20_000;

/** The payment of now. */
export interface Paying {
  readonly order: PaymentOrder;
  readonly observer: PaymentObserver;
  readonly ended: PromiseWithResolvers<PaymentEnd>;
  /** The newest fault of the line while this payment runs; "" without. */
  fault: string;
  /** The terminal may have the request, so whatever comes is evidence. */
  isSent: boolean;
  /** The way is opened once more, so nothing that comes answers this payment. */
  reopening: AbortController | undefined;
  /** An approval came before the request left. The order may be its, so nothing leaves. */
  isOvertaken: boolean;
}

type Sent = "taken" | "refused" | "unanswered" | "not-sent";

/**
 * Sends the request of a payment once, and not behind an approval of before. An opening that has
 * lapsed meanwhile is made once more, because nothing has left.
 */
export async function sendRequest(
  request: Uint8Array,
  paying: Paying,
  { dialogue, clock }: { readonly dialogue: Dialogue; readonly clock: Clock },
): Promise<Sent> {
  const mayLeave = (): boolean => !paying.isOvertaken;
  let sent = await dialogue.send(request, mayLeave);
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
