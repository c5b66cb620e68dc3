import { AppError } from "../../shared/catalog/errors.ts";
import { BrokenInvariant } from "../../shared/invariant.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import type { Attempt } from "../attempts/payment.ts";
import type { Journal } from "../journal/journal.ts";
import { TerminalUnavailable } from "../terminal/terminal.ts";
import type { TerminalArbiter } from "./terminal-arbiter.ts";

/** The time between two checks of whether the end of day that the terminal demands can begin. */
const CHECK_MS = 5_000;
/**
 * The time without a payment before an end of day. A kiosk whose goods got stuck requests a
 * reversal within this time, and after an end of day no sale can be reversed. A terminal locked
 * until its end of day reverses nothing, so its end of day does not wait (docs/zvt.md 5.3).
 */
const QUIET_MS = 300_000;
/** The shortest and the longest pause between two demanded ends of day; each is twice the last. */
const PAUSE_MIN_MS = 60_000;
const PAUSE_MAX_MS = 3_600_000;
/** For how long a demanded end of day counts when the pause before the next one is doubled. */
const RECENT_MS = 6 * 3_600_000;
/** How many of the newest payments are checked: an older payment can end after a newer one. */
const PAYMENTS_CHECKED = 50;
const RETRY_MS = 60_000;
/** The errors of an end of day without an alarm: they pass by themselves, or raised one already. */
const waitFor = ["TERMINAL_BUSY", "TERMINAL_IN_DOUBT", "TERMINAL_CHANGED", "STOPPING"];

/**
 * Runs the end of day that the terminal demands (docs/zvt.md 11.5: F0, B1, tag 1F13) when no other
 * work is going on, because a terminal that waits for an end of day takes no cards. An end of day
 * deletes the evidence of what was charged, so this class waits until recovery has probed every
 * attempt in doubt (docs/rules/05-evidence.md), unless the terminal refuses to answer recovery
 * before its end of day. This class stores nothing, so a restart changes nothing: the journal knows
 * when an end of day was last begun.
 */
export class ClosingKeeper {
  readonly #arbiter: TerminalArbiter;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #log: AlarmLog;
  #timer: Timer | undefined;
  #unsubscribe: (() => void) | undefined;
  #closed = false;

  constructor(arbiter: TerminalArbiter, journal: Journal, clock: Clock, log: AlarmLog) {
    this.#arbiter = arbiter;
    this.#journal = journal;
    this.#clock = clock;
    this.#log = log;
  }

  start(): void {
    this.#unsubscribe = this.#arbiter.terminal.subscribe((event) => {
      if (event.type === "demand") this.#checkSoon(0);
    });
    this.#checkSoon(0);
  }

  /** Begins no new end of day any more. An end of day that runs already is not interrupted. */
  close(): void {
    this.#closed = true;
    this.#unsubscribe?.();
    this.#timer?.clear();
  }

  get #isDemanded(): boolean {
    return this.#arbiter.terminal.state.demands.includes("end-of-day");
  }

  #checkSoon(afterMs: number): void {
    if (this.#timer || this.#closed) return;
    this.#timer = this.#clock.startTimer("end of day", afterMs, () => {
      void this.#check().then((nextMs) => {
        this.#timer = undefined;
        if (nextMs !== undefined) this.#checkSoon(nextMs);
      });
    });
  }

  /** Runs the end of day if it is due. Resolves with the pause until the next check, in ms. */
  async #check(): Promise<number | undefined> {
    if (!this.#isDemanded) return undefined;
    const log = this.#log;
    try {
      if (!this.#isQuiet()) return CHECK_MS;
      await this.#arbiter.lastAnswer.ask();
      // The demand is checked again: an end of day may have run, or a payment may have begun since.
      if (!this.#isDemanded) return undefined;
      if (!this.#isQuiet()) return CHECK_MS;
      log.info("the end of day that the terminal demands begins now");
      const { applications } = await this.#arbiter.upkeep.telecollect("terminal");
      log.info({ applications }, "the end of day that the terminal demanded has succeeded");
      return CHECK_MS;
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      this.#failed(error);
      return RETRY_MS;
    }
  }

  /** Whether no work and no recovery runs, and no payment or end of day was recent. */
  #isQuiet(): boolean {
    const arbiter = this.#arbiter;
    if (arbiter.lease.current || arbiter.lease.stopping.aborted) return false;
    // Waits for recovery, unless the terminal refuses all probes until its end of day has run.
    if (arbiter.inquiries.isAsking && !arbiter.inquiries.isLockedOut) return false;
    const nowMs = this.#clock.now();
    // A time in the future counts like one in the past: the wall clock may have been set back.
    const sinceMs = (atMs: number): number => Math.abs(nowMs - atMs);
    const isLocked = arbiter.terminal.state.status?.cr === "2";
    const newest = this.#journal.attempts.newest().take(PAYMENTS_CHECKED);
    const isRecent = ({ startedAtMs, endedAtMs }: Attempt): boolean =>
      sinceMs(endedAtMs ?? startedAtMs) < QUIET_MS;
    if (!isLocked && newest.some(isRecent)) return false;
    const tried = this.#journal.terminalLog.demandedTelecollections(nowMs - RECENT_MS);
    const last = tried.at(-1);
    if (last === undefined) return true;
    const pauseMs = Math.min(PAUSE_MIN_MS * 2 ** Math.min(tried.length - 1, 16), PAUSE_MAX_MS);
    return sinceMs(last) >= pauseMs;
  }

  #failed(error: unknown): void {
    const log = this.#log;
    if (error instanceof TerminalUnavailable) {
      log.info(
        { reason: error.message },
        "the terminal demands an end of day, but cannot run it at the moment",
      );
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
