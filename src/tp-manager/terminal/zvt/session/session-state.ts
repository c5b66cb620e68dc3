/** The states, inputs and outputs of the session machine. */

import type { Apdu, Message } from "../../../../zvt/index.ts";
import type { GoodsDecision } from "../../terminal.ts";
import type { Command } from "../commands/commands.ts";
import type { SendOutcome } from "../link/apdu-link.ts";
import type { ZvtTimers } from "../zvt-options.ts";

export type SessionState =
  | { readonly at: "idle" }
  | {
      readonly at: "requested";
      readonly command: Command;
      readonly abort: Abort;
      /** How many copies of the command were sent (docs/zvt.md 2.4). */
      readonly copies: number;
    }
  | Served
  /** The command ended, but the answer to our abort is due: it must reach no other command. */
  | { readonly at: "draining" };

/** The terminal carries out a command, and we answer its messages (docs/zvt.md 1.1). */
export interface Served {
  readonly at: "served";
  readonly command: Command;
  readonly t4Ms: number;
  readonly abort: Abort;
  /** Whether a 04 0F was accepted, and its ACK has not provably arrived. */
  readonly accepted: boolean;
  /** The approval that waits or has waited for the decision about the goods; null: none has. */
  readonly goods: HeldGoods | null;
}

export interface HeldGoods {
  readonly report: Message;
  /** Whether the terminal waits for our answer now. */
  readonly open: boolean;
  /** How often the terminal was made to repeat its 04 0F while it waited for the goods. */
  readonly asked: number;
  readonly decision: GoodsDecision | null;
}

export interface Abort {
  readonly state: "none" | "wanted" | "sent" | "answered";
  readonly attempts: number;
  /** Whether an abort got no answer: a late one could pass for the answer to another command. */
  readonly unanswered: boolean;
}

export type SessionInput =
  | { readonly input: "command"; readonly command: Command }
  | { readonly input: "abort" }
  | { readonly input: "sent"; readonly what: Sending; readonly outcome: SendOutcome }
  | {
      readonly input: "message";
      readonly message: Message;
      /** Why only the control field could be read; null: the whole message could. */
      readonly problem: string | null;
    }
  | { readonly input: "malformed" }
  | { readonly input: "verdict"; readonly verdict: Verdict; readonly message: Message }
  | { readonly input: "goods"; readonly decision: GoodsDecision }
  | { readonly input: "timeout"; readonly timer: SessionTimer }
  | { readonly input: "down"; readonly problem: string };

export type MessageInput = Extract<SessionInput, { input: "message" }>;

/** How a 04 0F is answered. "hold": it stays unanswered until the decision about the goods. */
export type Verdict = "accept" | "refuse" | "hold";

export type Sending = "command" | "abort" | "answer";
export type SessionTimer = "t3" | "t4" | "abort" | "goods";

export type SessionOutput =
  | {
      readonly output: "send";
      readonly what: Sending;
      readonly apdu: Apdu;
      /** The id of the message that this answer belongs to (docs/zvt.md 9.4). */
      readonly answers?: string;
    }
  | { readonly output: "start-timer"; readonly timer: SessionTimer; readonly ms: number }
  | { readonly output: "stop-timer"; readonly timer: SessionTimer }
  /** Passes on a message of the running command that needs no verdict. */
  | { readonly output: "deliver"; readonly message: Message }
  /** Asks how to answer a 04 0F; the next input is the verdict. */
  | { readonly output: "judge"; readonly message: Message }
  /** A message that was or may have been a 04 0F was refused without asking how to answer. */
  | { readonly output: "unjudged" }
  | { readonly output: "ack-arrived" }
  | { readonly output: "end"; readonly end: ExchangeEnd }
  | { readonly output: "abort-answer"; readonly answer: AbortAnswer }
  /** A 04 0F came while no sale ran, and has been refused. */
  | { readonly output: "unmatched"; readonly message: Message }
  /** A late answer could pass for another command's: the link must not be used again. */
  | { readonly output: "out-of-sync"; readonly problem: string }
  | { readonly output: "note"; readonly text: string };

/** How a command ended on the wire; `PaymentEnd` says what that means for a payment. */
export type ExchangeEnd =
  | { readonly end: "not-sent"; readonly problem: string }
  | { readonly end: "refused"; readonly message: Message }
  | { readonly end: "answered"; readonly message: Message }
  | { readonly end: "completed"; readonly message: Message }
  | { readonly end: "aborted"; readonly message: Message }
  | { readonly end: "lost"; readonly problem: string };

export type AbortAnswer =
  | { readonly answer: "taken" }
  | { readonly answer: "refused"; readonly code: number }
  | { readonly answer: "nothing-running" }
  | { readonly answer: "no-answer"; readonly text: string };

export interface Step {
  readonly state: SessionState;
  readonly outputs: readonly SessionOutput[];
}

export interface SessionContext {
  readonly timers: ZvtTimers;
  /** Whether none of our messages is being sent on the link. */
  readonly linkFree: boolean;
}
