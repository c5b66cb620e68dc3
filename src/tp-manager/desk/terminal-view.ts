import type {
  TerminalCapabilities,
  TerminalEvent,
  TerminalFacts,
  TerminalState,
} from "../terminal/terminal.ts";

/**
 * The view of the terminal for every room but the desk: facts and news. The view is an object of
 * its own and not the driver under another type, so that no cast leads from the view to the wire
 * (docs/design.md 2.2).
 */
export class TerminalView implements TerminalFacts {
  readonly #terminal: TerminalFacts;

  constructor(terminal: TerminalFacts) {
    this.#terminal = terminal;
    Object.freeze(this);
  }

  get protocol(): string {
    return this.#terminal.protocol;
  }

  get capabilities(): TerminalCapabilities {
    return this.#terminal.capabilities;
  }

  get state(): TerminalState {
    return this.#terminal.state;
  }

  subscribe(listener: (event: TerminalEvent) => void): () => void {
    return this.#terminal.subscribe(listener);
  }
}
