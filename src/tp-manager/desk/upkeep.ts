import { AppError } from "../../shared/errors.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { failureOf, storage } from "../attempts/failures.ts";
import { sameTerminal } from "../attempts/recovery-policy.ts";
import type { TelecollectionAsker, TerminalLog } from "../attempts/terminal-log.ts";
import type { PaymentService } from "../orders/payment-service.ts";
import {
  type TelecollectionEnd,
  type Terminal,
  TerminalUnavailable,
} from "../terminal/terminal.ts";

export interface UpkeepParts {
  readonly terminalLog: Pick<
    TerminalLog,
    "acceptedTerminal" | "beginTelecollection" | "endTelecollection"
  >;
  readonly terminal: Terminal;
  readonly payments: PaymentService;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a restart may take before the caller is told to wait. */
  readonly resetLimitMs: number;
  /** How long an end of day may take. */
  readonly telecollectionLimitMs: number;
}

/** What a terminal needs besides payments: a restart, an end of day. Never beside a payment. */
export class Upkeep {
  readonly #parts: UpkeepParts;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
  }

  /** Restarts the terminal and waits until it answers again. Throws {@link AppError}. */
  async reset(): Promise<void> {
    const { terminal, payments } = this.#parts;
    const { reset } = terminal;
    if (!reset) throw new AppError("NOT_SUPPORTED", "This terminal cannot be restarted.");
    payments.assertNoDoubt();
    await payments.turn.take("reset", undefined, async () => {
      try {
        await this.#limited(this.#parts.resetLimitMs, (signal) => reset.call(terminal, signal));
      } catch (error) {
        if (!(error instanceof TerminalUnavailable)) throw error;
        throw new AppError("RESET_FAILED", error.message, { cause: error });
      }
    });
  }

  /**
   * Runs the end of day. That it was begun is on disk before the command leaves, because a sale
   * from before it can no longer be reversed (docs/design.md 3.7).
   */
  async telecollect(
    askedBy: TelecollectionAsker = "operator",
  ): Promise<Extract<TelecollectionEnd, { end: "completed" }>> {
    const { terminal, payments, terminalLog, clock, log } = this.#parts;
    const { telecollect } = terminal;
    if (!telecollect) throw new AppError("NOT_SUPPORTED", "This terminal has no end of day.");
    payments.assertNoDoubt();
    const end = await payments.turn.take("end of day", undefined, async () => {
      await this.#prepared();
      // What the terminal reported meanwhile would be closed before it was asked about.
      payments.assertNoDoubt();
      const id = storage(() => terminalLog.beginTelecollection(clock.now(), askedBy), "no");
      const ended = await this.#limited(this.#parts.telecollectionLimitMs, (signal) =>
        telecollect.call(terminal, signal),
      );
      storage(() => terminalLog.endTelecollection(id, clock.now(), ended), "no");
      return ended;
    });
    log.info({ end: end.end, askedBy }, "end of day");
    switch (end.end) {
      case "completed":
        return end;
      case "open-pre-authorisations":
        throw new AppError("OPEN_PRE_AUTHORISATIONS", undefined, {
          details: { receiptNumbers: end.receiptNumbers },
        });
      case "refused":
      case "failed":
      case "lost":
        throw new AppError("TELECOLLECTION_FAILED", end.text, {
          details: { terminalCode: end.code, end: end.end },
        });
    }
  }

  /**
   * As before a payment, except that the terminal need not take cards: the end of day is what cures
   * one that is locked until it has run (docs/zvt.md 11.5).
   */
  async #prepared(): Promise<void> {
    const { payments, terminalLog, terminal } = this.#parts;
    try {
      await payments.prepare();
    } catch (error) {
      const locked = error instanceof TerminalUnavailable && error.reason === "out-of-order";
      const accepted = terminalLog.acceptedTerminal();
      const { identity } = terminal.state;
      if (!locked) throw failureOf(error) ?? error;
      if (accepted && !sameTerminal(accepted, identity)) {
        throw new AppError("TERMINAL_CHANGED", undefined, {
          details: { accepted, found: identity },
        });
      }
    }
  }

  async #limited<T>(limitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    const timer = this.#parts.clock.startTimer("terminal upkeep", limitMs, () =>
      abort.abort(new TerminalUnavailable("no-answer", `nothing within ${limitMs} ms`)),
    );
    try {
      return await work(abort.signal);
    } finally {
      timer.clear();
    }
  }
}
