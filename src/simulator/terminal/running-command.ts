import { sleep } from "../../shared/time.ts";
import { ProcessOver, type TerminalParts } from "./terminal-parts.ts";
import type { TraceEvent } from "./trace-log.ts";

/** One command of a register while it runs, with the moments at which faults can strike. */
export abstract class RunningCommand<P extends TerminalParts, M extends string> {
  readonly parts: P;
  /** The last moment that was reached, for the trace and for `GET /state`. */
  phase: M;
  /** The number by which faults choose the command, where the protocol has one. */
  readonly control: number | undefined;
  readonly #line: string;
  readonly #killed = new AbortController();

  constructor(parts: P, line: string, phase: M, control?: number) {
    this.parts = parts;
    this.#line = line;
    this.phase = phase;
    this.control = control;
  }

  /** The word of the trace for the command. */
  abstract get word(): string;

  get whereabouts(): Pick<TraceEvent, "command" | "phase"> {
    return { command: this.word, phase: this.phase };
  }

  get signal(): AbortSignal {
    return this.#killed.signal;
  }

  /** Ends the command where it stands; everything that waits rejects with {@link ProcessOver}. */
  kill(why: string): void {
    this.#killed.abort(new ProcessOver(why));
  }

  /** A moment at which faults may strike. Throws {@link ProcessOver} when one ended the command. */
  async reach(moment: M): Promise<void> {
    this.phase = moment;
    this.parts.onPhase(this.#line);
    for (const struck of this.parts.faults.takeAt(moment, this.control)) {
      await this.parts.strike(struck, this.signal);
    }
    this.signal.throwIfAborted();
  }

  async pause(name: string, delayMs: number): Promise<void> {
    if (delayMs > 0) await sleep(this.parts.clock, name, delayMs, this.signal);
  }
}
