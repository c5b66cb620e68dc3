import type { Clock } from "../../shared/time.ts";
import { type Terminal, type TerminalStatus, TerminalUnavailable } from "../terminal/terminal.ts";
import type { TerminalTurn } from "./terminal-turn.ts";

/** An answer about the terminal's status is told again for so long. */
const STATUS_KEPT_MS = 2_000;
/** Nobody asks a terminal by itself, so a silence is told for so long and then forgotten. */
const SILENCE_TOLD_MS = 60_000;

/** A status and when the terminal told it. */
interface ToldStatus {
  readonly status: TerminalStatus;
  readonly atMs: number;
}

interface AnswerParts {
  readonly terminal: Pick<Terminal, "check" | "subscribe">;
  readonly clock: Clock;
  readonly turn: Pick<TerminalTurn, "begun">;
}

/**
 * The terminal's answer to what was asked of it last, or its silence, until anything else is heard
 * of it. For people and kiosks only: rules about money ask the driver itself
 * (docs/rules/03-repeats.md, docs/rules/05-evidence.md).
 */
export class LastAnswer {
  readonly #parts: AnswerParts;
  #status: (ToldStatus & { readonly monotonicMs: number; readonly turns: number }) | undefined;
  #silence: { readonly why: TerminalUnavailable; readonly monotonicMs: number } | undefined;

  constructor(parts: AnswerParts) {
    this.#parts = parts;
    parts.terminal.subscribe(() => {
      this.#status = undefined;
      this.#silence = undefined;
    });
  }

  /** Asks the terminal for its status. Throws {@link TerminalUnavailable}. */
  async ask(signal: AbortSignal): Promise<ToldStatus> {
    const { terminal, clock, turn } = this.#parts;
    this.#status = undefined;
    const { begun } = turn;
    const status = await this.heard(terminal.check(signal));
    const told = { status, atMs: clock.now() };
    // A turn that began meanwhile makes the answer one of before it.
    if (begun === turn.begun) {
      this.#status = { ...told, monotonicMs: clock.monotonicMs(), turns: begun };
    }
    return told;
  }

  /** The last status, while it is young and nothing was begun since: it costs no command. */
  get told(): ToldStatus | undefined {
    const kept = this.#status;
    const isKept = kept?.turns === this.#parts.turn.begun && this.#isWithin(STATUS_KEPT_MS, kept);
    return isKept ? kept : undefined;
  }

  /** Why the terminal did not answer, although its line may look well: for a minute at most. */
  get silence(): TerminalUnavailable | undefined {
    const kept = this.#silence;
    return kept && this.#isWithin(SILENCE_TOLD_MS, kept) ? kept.why : undefined;
  }

  /** Waits for an answer of the terminal, and keeps whether one came. Rejects as `asked` does. */
  async heard<T>(asked: Promise<T>): Promise<T> {
    try {
      const answer = await asked;
      this.#silence = undefined;
      return answer;
    } catch (error) {
      if (error instanceof TerminalUnavailable && isSilence(error)) {
        this.#silence = { why: error, monotonicMs: this.#parts.clock.monotonicMs() };
      }
      throw error;
    }
  }

  #isWithin(limitMs: number, kept: { readonly monotonicMs: number }): boolean {
    return this.#parts.clock.monotonicMs() - kept.monotonicMs < limitMs;
  }
}

/** Settles as `work` does, whose signal aborts when the terminal has not answered in time. */
export async function answerWithin<T>(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  abort = new AbortController(),
): Promise<T> {
  const timer = clock.startTimer("terminal's answer", limitMs, () => {
    const words = `the terminal did not answer within ${limitMs} ms`;
    abort.abort(new TerminalUnavailable("no-answer", words));
  });
  try {
    return await work(abort.signal);
  } finally {
    timer.clear();
  }
}

function isSilence({ reason }: TerminalUnavailable): boolean {
  return reason === "no-answer" || reason === "disconnected";
}
