import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../shared/catalog/errors.ts";
import { storage } from "../attempts/failures.ts";
import { sameTerminal } from "../matching/comparison.ts";
import {
  type Baseline,
  type Terminal,
  type TerminalIdentity,
  TerminalUnavailable,
} from "../terminal/terminal.ts";
import type { ArbiterTools } from "./arbiter-parts.ts";
import type { Inquiries } from "./inquiries.ts";
import { answerWithin, type LastAnswer } from "./last-answer.ts";

interface GateParts extends ArbiterTools {
  readonly terminal: Pick<Terminal, "prepare" | "state">;
  readonly lastAnswer: Pick<LastAnswer, "heard">;
  readonly inquiries: Pick<Inquiries, "reconsider">;
}

/** Who both of them are. */
interface ReplacedTerminal {
  readonly accepted: TerminalIdentity;
  readonly found: TerminalIdentity;
}

/**
 * The gate that every financial command passes first: the terminal answers, and it is the one this
 * installation works with (docs/rules/01-baseline.md, docs/rules/03-repeats.md,
 * docs/rules/12-terminal.md).
 */
export class TerminalGate {
  readonly #parts: GateParts;

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /** The operator accepts the terminal that is connected now. Throws TERMINAL_DISCONNECTED. */
  accept(): TerminalIdentity {
    const { terminal, inquiries } = this.#parts;
    if (terminal.state.link !== "connected") throw new AppError("TERMINAL_DISCONNECTED");
    const { identity } = terminal.state;
    this.#accept(identity);
    inquiries.reconsider();
    return identity;
  }

  /** The connected terminal, where another one is accepted. Throws STORAGE_FAILED. */
  get replaced(): ReplacedTerminal | undefined {
    const { link, identity: found } = this.#parts.terminal.state;
    const accepted = link === "connected" ? this.#accepted : undefined;
    return accepted && !sameTerminal(accepted, found) ? { accepted, found } : undefined;
  }

  /**
   * Makes the terminal ready for something financial and tells what it looks like: the baseline.
   * Throws {@link TerminalUnavailable}, the reason of `preparing`, or {@link AppError}
   * TERMINAL_CHANGED.
   */
  async prepare(preparing: AbortController): Promise<Baseline> {
    const { terminal, clock, lastAnswer, prepareMs } = this.#parts;
    const prepared = (signal: AbortSignal): Promise<Baseline> =>
      lastAnswer.heard(terminal.prepare(signal));
    const baseline = await answerWithin(clock, prepareMs, prepared, preparing);
    preparing.signal.throwIfAborted();
    const accepted = this.#assertAccepted(baseline.identity);
    const known = completed(accepted, baseline.identity);
    if (!isDeepStrictEqual(accepted, known)) this.#accept(known);
    return baseline;
  }

  /**
   * Makes the terminal ready for an end of day, like {@link prepare}, except that it need not take
   * cards: the end of day is what cures a terminal that is locked until one has run
   * (docs/zvt.md 11.5). Resolves with undefined then.
   */
  async prepareToClose(preparing: AbortController): Promise<Baseline | undefined> {
    try {
      return await this.prepare(preparing);
    } catch (error) {
      const isLocked = error instanceof TerminalUnavailable && error.reason === "out-of-order";
      if (!isLocked) throw error;
      this.#assertAccepted(this.#parts.terminal.state.identity);
      return undefined;
    }
  }

  /** Nothing financial has left when the journal cannot be read or written here. */
  get #accepted(): TerminalIdentity | undefined {
    return storage(() => this.#parts.terminalLog.acceptedTerminal(), "no");
  }

  #accept(identity: TerminalIdentity): void {
    const { terminalLog, clock } = this.#parts;
    storage(() => terminalLog.acceptTerminal(identity, clock.now()), "no");
  }

  /** The accepted terminal, if there is one. Throws TERMINAL_CHANGED when `found` is another. */
  #assertAccepted(found: TerminalIdentity): TerminalIdentity | undefined {
    const accepted = this.#accepted;
    if (!accepted || sameTerminal(accepted, found)) return accepted;
    throw new AppError("TERMINAL_CHANGED", undefined, { details: { accepted, found } });
  }
}

/** A terminal may tell more later; what it once told stays (docs/rules/12-terminal.md). */
function completed(
  accepted: TerminalIdentity | undefined,
  told: TerminalIdentity,
): TerminalIdentity {
  if (!accepted) return told;
  return {
    serialNumber: accepted.serialNumber || told.serialNumber,
    terminalId: accepted.terminalId || told.terminalId,
    deviceId: told.deviceId || accepted.deviceId,
    version: told.version || accepted.version,
  };
}
