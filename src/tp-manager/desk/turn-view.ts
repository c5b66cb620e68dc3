import type { AppError } from "../../shared/errors.ts";
import type { TerminalTurn, Turn } from "./terminal-turn.ts";

interface CurrentTurn extends Pick<Turn, "what" | "orderId"> {
  /** The terminal has approved the sale and waits so long for the word about its goods. */
  readonly goodsUntilMs: number | undefined;
}

/**
 * The view of the turn for the parts of the program that do not use the terminal. The view is an
 * object of its own, so that no cast leads to {@link TerminalTurn.use} or to the running payment.
 */
export class TurnView {
  readonly #turn: TerminalTurn;

  constructor(turn: TerminalTurn) {
    this.#turn = turn;
    Object.freeze(this);
  }

  get current(): CurrentTurn | undefined {
    const { current } = this.#turn;
    if (!current) return undefined;
    const { what, orderId, run } = current;
    return { what, orderId, goodsUntilMs: run?.goodsAwaitedUntilMs };
  }

  /** Nothing new gets a turn any more. */
  get closed(): boolean {
    return this.#turn.closed;
  }

  /** A new version is on probation: nothing gets a turn, and nothing is to be changed. */
  get updating(): boolean {
    return this.#turn.updating;
  }

  /** From now on nothing new gets a turn: 503 `STOPPING`. */
  close(): void {
    this.#turn.close();
  }

  /** Throws STOPPING, UPDATING or TERMINAL_BUSY. */
  assertFree(): void {
    this.#turn.assertFree();
  }

  /** docs/design.md 3.5. Throws TERMINAL_IN_DOUBT. */
  assertNoDoubt(): void {
    this.#turn.assertNoDoubt();
  }

  /** Of an order that is to begin. Throws STORAGE_FAILED. */
  assertWritable(): void {
    this.#turn.assertWritable();
  }

  /** NOT_SUPPORTED where the protocol lacks it, before anything is asked (docs/design.md 3.25). */
  lackOf(needs: Parameters<TerminalTurn["lackOf"]>[0]): AppError | undefined {
    return this.#turn.lackOf(needs);
  }

  /** Resolves when nothing has the terminal. */
  whenFree(): Promise<void> {
    return this.#turn.whenFree();
  }
}
