import type { PaymentOrder, TransactionReport } from "../terminal.ts";

/** How one request reaches a terminal that cannot be asked about it afterwards. */
export interface Dialogue {
  /** Why nothing can be sent now; null when nothing is known against it. */
  readonly problem: string | null;
  /** The results of all payments come on one line, which stays open. */
  readonly isShared: boolean;
  start(listener: DialogueListener): void;
  /** The terminal answers and takes one request; held for a moment. Nothing is asked for. */
  open(signal: AbortSignal): Promise<Opened>;
  /** Gives up what {@link open} has reached. */
  leave(): void;
  /**
   * Sends the request in what is open. "lapsed": nothing is open any more, nothing has left.
   * "refused": provably nothing has begun. "unanswered": the terminal may have it. `mayLeave` is
   * asked before the first byte where something of before may be heard till then; if not: "lapsed".
   */
  send(
    request: Uint8Array,
    mayLeave: () => boolean,
  ): Promise<"taken" | "refused" | "unanswered" | "lapsed">;
  /** Whether somebody is there. */
  ping(signal: AbortSignal): Promise<Opened>;
  close(): Promise<void>;
}

export type Opened =
  | { readonly opened: true }
  | {
      readonly opened: false;
      readonly why: "away" | "silent" | "busy";
      /** For people. */
      readonly text: string;
    };

export interface DialogueListener {
  /**
   * A whole reply. `unasked`: it came before the request of now had reached the terminal. Returns
   * whether it is on disk and may be acknowledged.
   */
  reply(reply: Uint8Array, unasked: boolean): boolean;
  /** Something that is no whole reply; the text is for people and holds no card number. */
  spoilt(text: string): void;
  /** The state of the line has changed. */
  link(problem: string | null): void;
  /** The way on which the reply would have come is gone. */
  gone(text: string): void;
}

/** The messages of one protocol. Pure. */
export interface Messages {
  readonly protocol: string;
  /** Present: by the settings no result carries a reference. */
  readonly namesNothing?: true;
  /** Throws when the order cannot be asked for in this protocol. */
  request(order: PaymentOrder): Uint8Array;
  /** Reads a reply to `order`, or to one of before. Never throws. */
  read(reply: Uint8Array, order: PaymentOrder | null): Reading;
}

export type Reading =
  /** No result at all; `why` holds no card number. */
  | { readonly reading: "unreadable"; readonly why: string }
  /** The answer to something else than a payment. */
  | { readonly reading: "other"; readonly why: string }
  | {
      readonly reading: "result";
      readonly report: TransactionReport;
      readonly ticket: string;
      /** "wait": another reply follows. "unclear": the terminal has ended and did not say how. */
      readonly end: "told" | "wait" | "unclear";
    };
