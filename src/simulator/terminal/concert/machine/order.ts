import type { CardName } from "../../bank/cards.ts";

/** The wish of a register, after its message was read. */
export interface Order {
  readonly action: Action;
  readonly amountMinor: number;
  /** ISO 4217, three digits. */
  readonly currency: string;
}

/** `other`: an action that this terminal does not have. */
type Action = "debit" | "credit" | "cancellation" | "other";

/** By the digit of both families (docs/concert.md 3.1, 4.3). */
export const actions: Readonly<Record<string, Action>> = {
  "0": "debit",
  "1": "credit",
  "2": "cancellation",
};

/** The end of an order; a fault may report another one. */
export type Ending = (Done | { readonly how: Refusal }) & {
  /** The word of a fault for it: a status of fixed fields, a reason (AF) of tags. */
  readonly told?: string | undefined;
};

export interface Done {
  readonly how: "done";
  readonly amountMinor: number;
  readonly card: CardName;
  readonly authorisation: string;
}

export type Refusal =
  /** The bank said no. */
  | "declined"
  | "cancelled"
  | "timed-out"
  /** No such action, or nothing that it could take back. */
  | "no-such-action"
  | "no-such-currency"
  | "out-of-order"
  | "message-wrong";

/** A message of a register that was read, and how to answer it. */
export interface Request {
  /** null: nothing is carried out, the answer is there at once. */
  readonly order: Order | null;
  /** Sent at once, before anything is carried out. */
  readonly early: Uint8Array | null;
  /** Whether the end is reported. */
  readonly toldAtTheEnd: boolean;
  reply(ending: Ending): Uint8Array;
}

/** One family of messages. */
export interface Dialogue {
  /** undefined: not a message for this terminal, which refuses it on the line if it can. */
  read(body: Uint8Array): Request | undefined;
  /** The answer to a request while another one runs, where there is one. */
  busy(body: Uint8Array): Uint8Array | undefined;
  /** As if a register had asked: for a sale that the terminal makes by itself. */
  unasked(order: Order, reference: string): Request;
}
