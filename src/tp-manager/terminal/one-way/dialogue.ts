import type { PaymentOrder, TransactionReport } from "../terminal.ts";

/** How one request reaches a terminal that cannot be asked about the request afterwards. */
export interface Dialogue {
  /** Why nothing can be sent now; null when no reason is known. */
  readonly problem: string | null;
  /** The results of all payments come on one line, which stays open. */
  readonly isShared: boolean;
  start(listener: DialogueListener): void;
  /** Makes the terminal ready for one request, and holds it so for a moment. Sends no request. */
  open(signal: AbortSignal): Promise<Opened>;
  /** Gives up what {@link open} has reached. */
  leave(): void;
  /**
   * Sends the request in what is open. `mayLeave` is asked before the first byte, where an earlier
   * result may arrive until then; if it answers false, nothing leaves and the request is "lapsed".
   */
  send(request: Uint8Array, mayLeave: () => boolean): Promise<Sent>;
  /** Asks whether the terminal is there. */
  ping(signal: AbortSignal): Promise<Opened>;
  close(): Promise<void>;
}

/**
 * "lapsed": nothing is open any more, nothing has left. "refused": provably nothing has begun.
 * "unanswered": the terminal may have the request.
 */
export type Sent = "taken" | "refused" | "unanswered" | "lapsed";

export type Opened =
  | { readonly opened: true }
  | {
      readonly opened: false;
      /** "away": there is no line. The other two: the terminal does not take a request now. */
      readonly why: "away" | "silent" | "busy";
      /** For people. */
      readonly text: string;
    };

export interface DialogueListener {
  /**
   * Takes a whole reply. `isEarly`: it began before the running request had reached the terminal.
   * Returns whether the reply is on disk and may be acknowledged.
   */
  reply(reply: Uint8Array, isEarly: boolean): boolean;
  /** Something came that is no whole reply; the text is for people and holds no card number. */
  malformed(text: string): void;
  /** The state of the line has changed. */
  link(problem: string | null): void;
  /** The connection on which the reply would have come has ended. */
  gone(text: string): void;
}

/** The messages of one protocol. Pure. */
export interface Messages {
  readonly protocol: string;
  /** Present: by the settings no result carries a reference. */
  readonly namesNothing?: true;
  /** Throws when the protocol cannot express the order. */
  request(order: PaymentOrder): Uint8Array;
  /** Reads a reply to `order`; null: to an earlier order. Never throws. */
  read(reply: Uint8Array, order: PaymentOrder | null): Reading;
}

export type Reading =
  /** No result at all; `why` holds no card number. */
  | { readonly reading: "unreadable"; readonly why: string }
  /** The answer to something else than a payment. */
  | { readonly reading: "other"; readonly why: string }
  | ResultReading;

export interface ResultReading {
  readonly reading: "result";
  readonly report: TransactionReport;
  readonly ticket: string;
  /** "wait": another reply follows. "unclear": the terminal has ended and did not say how. */
  readonly end: "known" | "wait" | "unclear";
}
