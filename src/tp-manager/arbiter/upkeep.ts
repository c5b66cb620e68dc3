import { AppError } from "../../shared/catalog/errors.ts";
import { storage } from "../attempts/failures.ts";
import type { TelecollectionAsker } from "../journal/terminal-rows.ts";
import { type Baseline, type LastTransaction, TerminalUnavailable } from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import { type ArbiterTools, noteStored } from "./financial-commands.ts";
import { answerWithin } from "./terminal-identity.ts";

/** The number of unanswered probes after which a locked terminal gets its end of day anyway. */
const UNANSWERED_MAX = 3;

/** A restart of the terminal, or the end of day that a lock demands (docs/rules/15-not-yet.md). */
export class Upkeep {
  readonly #parts: ArbiterParts;
  readonly #tools: ArbiterTools;
  #unanswered = 0;

  constructor(parts: ArbiterParts, tools: ArbiterTools) {
    this.#parts = parts;
    this.#tools = tools;
  }

  /**
   * Restarts the terminal and waits until it answers again. Throws {@link AppError}. The terminal
   * is not asked for its status first, because one that gives no answers must be restarted too.
   */
  async reset(): Promise<void> {
    const { clock, settings } = this.#parts;
    await this.#tools.lease.use("reset", undefined, {
      needs: "reset",
      prepare: () => Promise.resolve(),
      run: async (terminal) => {
        try {
          await answerWithin(clock, settings.resetLimitMs, (signal) => terminal.reset(signal));
        } catch (error) {
          if (!(error instanceof TerminalUnavailable)) throw error;
          throw new AppError("RESET_FAILED", error.message, { cause: error });
        }
      },
    });
  }

  /**
   * Runs the end of day. The record of its begin is on disk before the command is sent, because no
   * sale from before the end of day can be reversed afterwards (docs/rules/07-returns.md). Resolves
   * with the completed end of day and with the result of its comparison with the journal.
   */
  async telecollect(askedBy: TelecollectionAsker = "operator") {
    const { lease, identityCheck, reconciler } = this.#tools;
    const { clock, log, settings, journal } = this.#parts;
    const { end, id } = await lease.use("end of day", undefined, {
      needs: "telecollect",
      prepare: async (preparing) => {
        const baseline = await identityCheck.prepareToClose(preparing);
        if (baseline) noteStored(baseline, this.#tools);
        await this.#keepLast(baseline);
      },
      run: async (terminal) => {
        const { identity } = this.#parts.terminal.state;
        const begin = () => journal.terminalLog.beginTelecollection(clock.now(), askedBy, identity);
        const id = storage(begin, "no");
        const ended = await answerWithin(clock, settings.telecollectionLimitMs, (signal) =>
          terminal.telecollect(signal),
        );
        storage(() => journal.terminalLog.endTelecollection(id, clock.now(), ended), "no", true);
        this.#tools.recovery.closed(ended);
        return { end: ended, id };
      },
    });
    log.info({ end: end.end, askedBy }, "the end of day on the terminal has ended");
    switch (end.end) {
      case "completed":
        return { ...end, reconciliation: reconciler.closed(id) ?? null };
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
   * Stores the terminal's last sale, when the journal has a gap, before an end of day deletes the
   * sale in the terminal (docs/rules/34-journal-gap.md). Throws {@link TerminalUnavailable} or
   * {@link AppError} STORAGE_FAILED; no end of day has begun then.
   */
  async #keepLast(baseline: Baseline | undefined): Promise<void> {
    const { guard, terminal } = this.#parts;
    if (!guard.open) return;
    const last = baseline?.last ?? (await this.#lastUnderLock());
    const { identity } = terminal.state;
    if (last) storage(() => guard.keepLast({ last, identity }), "no");
  }

  /**
   * Returns the last transaction of a locked terminal. undefined: the terminal refuses the probe
   * until its end of day has run, or gave no answer so often that it would stay locked for ever.
   */
  async #lastUnderLock(): Promise<LastTransaction | undefined> {
    const { terminal, settings, clock, log } = this.#parts;
    try {
      const last = await answerWithin(clock, settings.prepareMs, (signal) =>
        terminal.lastTransaction(signal),
      );
      this.#unanswered = 0;
      return last;
    } catch (error) {
      const reason = error instanceof TerminalUnavailable ? error.reason : undefined;
      if (reason === "no-answer") this.#unanswered += 1;
      const isOver = reason === "out-of-order" || this.#unanswered >= UNANSWERED_MAX;
      if (!isOver) throw error;
      this.#unanswered = 0;
      const text =
        "the end of day closes the last sale unread: the terminal is locked and does not answer";
      log.warn({ err: error }, text);
      return undefined;
    }
  }
}
