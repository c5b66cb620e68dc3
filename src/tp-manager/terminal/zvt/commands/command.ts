import type { Apdu, MessageName } from "../../../../zvt/index.ts";

/** One command of the register: what leaves, and the closed set of what may come back. */
export interface Command {
  readonly name: MessageName;
  readonly apdu: Apdu;
  /**
   * Messages that the terminal may send while the command runs and the terminal is master, besides
   * 06 0F and 06 1E (docs/zvt.md 5.2). Anything else is refused with 84 83.
   */
  readonly replies: readonly MessageName[];
  /**
   * Whether 80 00 ends it, or the terminal becomes master until 06 0F or 06 1E (docs/zvt.md 5.2).
   */
  readonly ends: "answer" | "completion";
  /**
   * Whether a 04 0F is stored before its ACK, and may be refused (docs/architecture.md 1.2).
   */
  readonly judged: boolean;
  /** A sale that may wait for its goods (docs/zvt.md 8.1). */
  readonly goods?: GoodsWindow;
}

export interface GoodsWindow {
  /** How long one 04 0F is left unanswered before the terminal is told to ask again. */
  readonly holdMs: number;
  /** How often it may be told so, field 02. */
  readonly asksMax: number;
  /** How long the terminal waits for an answer before it reverses, field 01. */
  readonly windowMs: number;
}

/** Sent by the terminal on every occasion it likes (docs/zvt.md 6.5, 7.4). */
export const anyTime: readonly MessageName[] = [
  "intermediate-status",
  "print-line",
  "print-text-block",
  "set-register-time",
];
