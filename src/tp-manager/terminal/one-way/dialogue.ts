import type { PaymentOrder, TransactionReport } from "../terminal.ts";

export interface Dialogue {
  /** Why nothing can be sent now; null: no reason is known. */
  readonly problem: string | null;
  /** Whether the results of all payments come on one connection that stays open. */
  readonly isShared: boolean;
  start(listener: DialogueListener): void;
  /** Opens the connection for one request; closes it when no request follows within seconds. */
  open(signal: AbortSignal): Promise<Opened>;
  /** Closes what {@link open} has opened: a session or a connection. */
  leave(): void;
  /**
   * Sends on the opened connection. `mayLeave` is called just before the first byte, where an
   * earlier result may still arrive; after false nothing is sent, and "lapsed" is returned.
   */
  send(request: Uint8Array, mayLeave: () => boolean): Promise<Sent>;
  /** Asks whether the terminal answers; starts no payment. */
  ping(signal: AbortSignal): Promise<Opened>;
  close(): Promise<void>;
}

/**
 * How far a request got. "lapsed": no byte was sent, as the connection was no longer open.
 * "refused": the terminal has provably begun no payment. "unanswered": the terminal may have it.
 */
export type Sent = "taken" | "refused" | "unanswered" | "lapsed";

export type Opened =
  | { readonly opened: true }
  | {
      readonly opened: false;
      /** "away": there is no connection. "silent", "busy": the terminal accepts no request now. */
      readonly why: "away" | "silent" | "busy";
      readonly text: string;
    };

export interface DialogueListener {
  /**
   * Stores a whole reply; returns whether it is on disk, so that it may get an ACK. `isEarly`:
   * the reply began before the running request had reached the terminal.
   */
  reply(reply: Uint8Array, isEarly: boolean): boolean;
  /** Reports bytes that form no whole reply; `text`, for people, holds no card number. */
  malformed(text: string): void;
  /** Reports that the connection broke (`problem`), or works again (null). */
  link(problem: string | null): void;
  /** Reports that the connection on which the reply was awaited has ended. */
  gone(text: string): void;
}

/** Encodes the requests and reads the replies of one protocol, without side effects. */
export interface Messages {
  /** Present when, with the present settings, no result carries an order's reference. */
  readonly namesNothing?: true;
  /** Returns the request for an order. Throws when the protocol cannot express the order. */
  request(order: PaymentOrder): Uint8Array;
  /** Reads a reply to `order`, or to an earlier order when `order` is null. Never throws. */
  read(reply: Uint8Array, order: PaymentOrder | null): Reading;
}

export type Reading =
  /** The reply holds no result; `why` holds no card number. */
  | { readonly reading: "unreadable"; readonly why: string }
  /** The reply answers a request of ours that is no payment. */
  | { readonly reading: "other"; readonly why: string }
  | ResultReading;

export interface ResultReading {
  readonly reading: "result";
  readonly report: TransactionReport;
  readonly ticket: string;
  /** "wait": another reply to the request follows. "unclear": the payment's outcome is unknown. */
  readonly end: "known" | "wait" | "unclear";
}
