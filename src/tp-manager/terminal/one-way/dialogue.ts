import type { PaymentOrder, TransactionReport } from "../terminal.ts";

/** The way of one request to a terminal that cannot be asked about the request afterwards. */
export interface Dialogue {
  /** Why nothing can be sent now; null when no reason is known. */
  readonly problem: string | null;
  /** The results of all payments come on one line that stays open. */
  readonly isShared: boolean;
  start(listener: DialogueListener): void;
  /** Opens the line for one request, and holds it open for a moment. Sends no request. */
  open(signal: AbortSignal): Promise<Opened>;
  /** Ends what {@link open} has opened. */
  leave(): void;
  /**
   * Sends the request on the line that {@link open} has opened. Where an earlier result may arrive
   * until the first byte leaves, `mayLeave` is asked just before; after false nothing leaves, and
   * the request is "lapsed".
   */
  send(request: Uint8Array, mayLeave: () => boolean): Promise<Sent>;
  /** Asks whether the terminal is there. */
  ping(signal: AbortSignal): Promise<Opened>;
  close(): Promise<void>;
}

/**
 * How far a request got. "lapsed": the line is no longer open for it, and no byte has left.
 * "refused": the terminal has provably begun nothing. "unanswered": the terminal may have it.
 */
export type Sent = "taken" | "refused" | "unanswered" | "lapsed";

export type Opened =
  | { readonly opened: true }
  | {
      readonly opened: false;
      /** "away": there is no line. "silent", "busy": the terminal takes no request now. */
      readonly why: "away" | "silent" | "busy";
      /** For people. */
      readonly text: string;
    };

export interface DialogueListener {
  /**
   * Returns whether a whole reply is on disk now, and may be acknowledged. `isEarly`: the reply
   * began before the running request had reached the terminal.
   */
  reply(reply: Uint8Array, isEarly: boolean): boolean;
  /** Bytes came that are no whole reply; the text about them, for people, holds no card number. */
  malformed(text: string): void;
  /** The state of the line has changed. */
  link(problem: string | null): void;
  /** The connection has ended on which the reply to the running request would have come. */
  gone(text: string): void;
}

/** The messages of one protocol. Pure. */
export interface Messages {
  readonly protocol: string;
  /** Present: by the settings no result carries a reference. */
  readonly namesNothing?: true;
  /** Throws when the protocol cannot express the order. */
  request(order: PaymentOrder): Uint8Array;
  /** Reads a reply to `order`; null: a reply to an earlier order. Never throws. */
  read(reply: Uint8Array, order: PaymentOrder | null): Reading;
}

export type Reading =
  /** The reply holds no result; `why` holds no card number. */
  | { readonly reading: "unreadable"; readonly why: string }
  /** The reply answers a question of ours that is no payment. */
  | { readonly reading: "other"; readonly why: string }
  | ResultReading;

export interface ResultReading {
  readonly reading: "result";
  readonly report: TransactionReport;
  readonly ticket: string;
  /** "wait": another reply follows. "unclear": the payment has ended, and how is not known. */
  readonly end: "known" | "wait" | "unclear";
}
