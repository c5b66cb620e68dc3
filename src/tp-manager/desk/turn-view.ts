import type { TerminalTurn, Turn } from "./terminal-turn.ts";

/**
 * What whoever does not use the terminal may know and ask of the turn. An object of its own, so
 * that no cast leads to {@link TerminalTurn.use} or to the payment that runs.
 */
export class TurnView {
  readonly #turn: TerminalTurn;

  constructor(turn: TerminalTurn) {
    this.#turn = turn;
    Object.freeze(this);
  }

  get current(): Pick<Turn, "what" | "orderId"> | undefined {
    const { current } = this.#turn;
    return current && { what: current.what, orderId: current.orderId };
  }

  /** Nothing new gets a turn any more. */
  get closed(): boolean {
    return this.#turn.closed;
  }

  /** From now on nothing new gets a turn: 503 `STOPPING`. */
  close(): void {
    this.#turn.close();
  }

  /** Throws STOPPING or TERMINAL_BUSY. */
  assertFree(): void {
    this.#turn.assertFree();
  }

  /** docs/design.md 3.5. Throws TERMINAL_IN_DOUBT. */
  assertNoDoubt(): void {
    this.#turn.assertNoDoubt();
  }

  /** Resolves when nothing has the terminal. */
  whenFree(): Promise<void> {
    return this.#turn.whenFree();
  }
}
