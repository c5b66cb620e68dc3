import { AppError } from "../../shared/catalog/errors.ts";
import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Timer } from "../../shared/time.ts";
import type { Journal } from "../journal/journal.ts";
import { TerminalUnavailable } from "../terminal/terminal.ts";
import type { ArbiterTools } from "./arbiter-parts.ts";
import type { TerminalArbiter } from "./terminal-arbiter.ts";
import { answerWithin } from "./terminal-identity.ts";

export interface ClosingParts extends Pick<ArbiterTools, "clock" | "log"> {
  readonly attempts: Pick<Journal["attempts"], "list">;
  readonly terminalLog: Pick<Journal["terminalLog"], "demandedTelecollections">;
  readonly arbiter: TerminalArbiter;
}

/** How often it is checked whether a demanded end of day can begin. */
const CHECK_MS = 5_000;
/**
 * The time without a payment before an end of day: a kiosk whose goods got stuck gives the money
 * back within it, and after an end of day no sale can be reversed. A terminal that is locked until
 * its end of day reverses nothing either (docs/zvt.md 5.3), and is not left waiting.
 */
const QUIET_MS = 300_000;
/** The shortest and the longest pause between two tries; it doubles from try to try. */
const PAUSE_MIN_MS = 60_000;
const PAUSE_MAX_MS = 3_600_000;
/** The age from which on a try has nothing to do with the present demand. */
const RECENT_MS = 6 * 3_600_000;
/** The payments that are checked: an earlier one can turn out to be charged after the newest. */
const PAYMENTS_CHECKED = 50;
/** The pause after which a terminal that could not be asked is asked again. */
const RETRY_MS = 60_000;
const ASK_LIMIT_MS = 10_000;
/** The states that pass by themselves, or that the operator ends after another alarm. */
const waitFor = ["TERMINAL_BUSY", "TERMINAL_IN_DOUBT", "TERMINAL_CHANGED", "STOPPING"];

/**
 * Runs the end of day when the terminal demands it (docs/zvt.md 11.5: F0, B1, tag 1F13) and nothing
 * is going on, because a terminal that waits for it takes no cards. An end of day destroys the
 * evidence, so the keeper waits until recovery has asked about every attempt in doubt
 * (docs/rules/05-evidence.md), unless the terminal refuses that very question until its end of day.
 * It remembers nothing, so a restart changes nothing: the journal knows when one was tried.
 */
export class ClosingKeeper {
  readonly #parts: ClosingParts;
  #timer: Timer | undefined;
  #unsubscribe: (() => void) | undefined;
  #closed = false;

  constructor(parts: ClosingParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#unsubscribe = this.#parts.arbiter.terminal.subscribe((event) => {
      if (event.type === "demand") this.#checkSoon(0);
    });
    this.#checkSoon(0);
  }

  /** Begins nothing new; an end of day that runs has its lease and goes on to its end. */
  close(): void {
    this.#closed = true;
    this.#unsubscribe?.();
    this.#timer?.clear();
  }

  get #isDemanded(): boolean {
    return this.#parts.arbiter.terminal.state.demands.includes("end-of-day");
  }

  #checkSoon(afterMs: number): void {
    if (this.#timer || this.#closed) return;
    this.#timer = this.#parts.clock.startTimer("end of day", afterMs, () => {
      void this.#check().then((nextMs) => {
        this.#timer = undefined;
        if (nextMs !== undefined) this.#checkSoon(nextMs);
      });
    });
  }

  /** Resolves with the time until the next check; undefined when the terminal demands nothing. */
  async #check(): Promise<number | undefined> {
    if (!this.#isDemanded) return undefined;
    const { arbiter, clock, log } = this.#parts;
    try {
      if (!this.#isQuiet()) return CHECK_MS;
      await answerWithin(clock, ASK_LIMIT_MS, (signal) => arbiter.lastAnswer.ask(signal));
      // An operator may have met the demand, or a payment may have begun, meanwhile.
      if (!this.#isDemanded) return undefined;
      if (!this.#isQuiet()) return CHECK_MS;
      log.info("the terminal demands an end of day: begun");
      const { applications } = await arbiter.upkeep.telecollect("terminal");
      log.info({ applications }, "the end of day that the terminal demanded is done");
      return CHECK_MS;
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      this.#failed(error);
      return RETRY_MS;
    }
  }

  /** Whether nothing is going on, nothing is in doubt, and nothing was sold or tried just now. */
  #isQuiet(): boolean {
    const { arbiter, terminalLog, clock } = this.#parts;
    if (arbiter.lease.current || arbiter.lease.closed) return false;
    // Only an end of day lets a terminal answer that refuses the question until one has run.
    if (arbiter.inquiries.isAsking && !arbiter.inquiries.isLockedOut) return false;
    const nowMs = clock.now();
    // A wall clock can jump either way.
    const sinceMs = (atMs: number): number => Math.abs(nowMs - atMs);
    const isLocked = arbiter.terminal.state.status?.cr === "2";
    if (!isLocked && this.#endsOfPayments.some((atMs) => sinceMs(atMs) < QUIET_MS)) return false;
    const tried = terminalLog.demandedTelecollections(nowMs - RECENT_MS);
    const last = tried.at(-1);
    if (last === undefined) return true;
    const pauseMs = Math.min(PAUSE_MIN_MS * 2 ** Math.min(tried.length - 1, 16), PAUSE_MAX_MS);
    return sinceMs(last) >= pauseMs;
  }

  get #endsOfPayments(): number[] {
    const page = { sinceMs: 0, status: null, limit: PAYMENTS_CHECKED, before: null };
    const newest = this.#parts.attempts.list(page);
    return newest.map(({ attempt }) => attempt.endedAtMs ?? attempt.startedAtMs);
  }

  #failed(error: unknown): void {
    const { log } = this.#parts;
    if (error instanceof TerminalUnavailable) {
      log.info({ reason: error.message }, "the terminal demands an end of day and is not ready");
      return;
    }
    const { code, details } = error instanceof AppError ? error : { code: "INTERNAL", details: {} };
    if (waitFor.includes(code)) return;
    if (code === "OPEN_PRE_AUTHORISATIONS") {
      const text = "the terminal demands an end of day; open pre-authorisations keep it from one";
      log.error({ alarm: "open-pre-authorisations", ...details }, text);
      return;
    }
    const text = "the end of day that the terminal demands could not be run";
    log.error({ alarm: "end-of-day-failed", err: error, code, details }, text);
  }
}
