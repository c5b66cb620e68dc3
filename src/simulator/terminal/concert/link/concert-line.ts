import * as port from "../../port/register-line.ts";
import type { Delivery, LinkReply } from "./session-machine.ts";

interface LineHandlers {
  /** Whether a register that asks to speak may speak. */
  mayBegin(): boolean;
  /** Reads a request. Returns the work that begins, or undefined to refuse it on the line. */
  request(body: Uint8Array): (() => void) | undefined;
  closed(): void;
}

export interface LineOptions extends port.LineOptions {
  readonly transport: port.Transport;
  readonly interference: Interference;
}

/** Asked by a line at every moment at which a fault can disturb it. */
export interface Interference extends port.Interference {
  /** The reply to an ENQ in place of the usual one; undefined: no fault. */
  enquiry(): LinkReply | undefined;
  /** The reply to a good request in place of ACK, and how late it comes. */
  request(): { readonly reply?: LinkReply; readonly taken?: boolean; readonly delayMs: number };
  /** Whether the EOT that ends the terminal's session is left out. */
  withholdsEot(): boolean;
  /** Whether every byte carries the bit of even parity. */
  parity(): boolean;
  /** Over TCP without sessions: what becomes of the connection; undefined: the usual. */
  closing(): Closing | undefined;
}

/** Seen from the answer; `left-open`: the terminal does not close it. */
export type Closing = "before" | "middle" | "left-open";

/**
 * A line of these protocols. Two kinds: `session-line.ts` (the dialogue of ENQ, frames and EOT) and
 * `bare-line.ts` (bodies as they are). The code above a line knows neither.
 */
export abstract class ConcertLine<O extends LineOptions = LineOptions> extends port.RegisterLine<
  O,
  LineHandlers
> {
  protected readonly what = "body";
  /** A line without sessions carries the answer to its request, and nothing else. */
  abstract readonly inSessions: boolean;

  get transport(): port.Transport {
    return this.options.transport;
  }

  /** One attempt to deliver a reply, once the line is free. */
  abstract tell(body: Uint8Array): Promise<Delivery | "closed">;

  /** The exchange is over: the connection of one exchange is closed. */
  abstract finish(): void;
}
