import type { Clock } from "../../shared/time.ts";
import type { Terminal, TerminalStatus } from "../terminal/terminal.ts";
import type { TerminalTurn } from "./terminal-turn.ts";

/** An answer about the terminal's status is told again for so long. */
const STATUS_KEPT_MS = 2_000;

/** A status and when the terminal told it. */
interface ToldStatus {
  readonly status: TerminalStatus;
  readonly atMs: number;
}

/**
 * The terminal's last answer to the question for its status, for those who ask often: no command
 * goes on the wire while the answer is young and nothing was heard of the terminal since. The
 * answer, repeated or not, is for people and kiosks only: rules about money ask the driver itself
 * (docs/design.md 3.3, 3.5).
 */
export class KeptStatus {
  readonly #terminal: Pick<Terminal, "check" | "subscribe">;
  readonly #turn: Pick<TerminalTurn, "begun">;
  readonly #clock: Clock;
  #kept: (ToldStatus & { readonly monotonicMs: number; readonly turns: number }) | undefined;

  constructor({ terminal, clock }: { terminal: Terminal; clock: Clock }, turn: TerminalTurn) {
    this.#terminal = terminal;
    this.#turn = turn;
    this.#clock = clock;
    terminal.subscribe(() => {
      this.#kept = undefined;
    });
  }

  /** Asks the terminal. Throws {@link TerminalUnavailable}. */
  async ask(signal: AbortSignal): Promise<ToldStatus> {
    this.#kept = undefined;
    const { begun } = this.#turn;
    const status = await this.#terminal.check(signal);
    const told = { status, atMs: this.#clock.now() };
    // A turn that began meanwhile makes the answer one of before it.
    if (begun === this.#turn.begun) {
      this.#kept = { ...told, monotonicMs: this.#clock.monotonicMs(), turns: begun };
    }
    return told;
  }

  /** The last answer, while it is young and nothing was heard or begun since. */
  get told(): ToldStatus | undefined {
    const kept = this.#kept;
    if (!kept || kept.turns !== this.#turn.begun) return undefined;
    const ageMs = this.#clock.monotonicMs() - kept.monotonicMs;
    return ageMs < STATUS_KEPT_MS ? kept : undefined;
  }
}
