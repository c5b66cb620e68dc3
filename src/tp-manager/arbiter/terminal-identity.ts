import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../shared/catalog/errors.ts";
import type { Clock } from "../../shared/time.ts";
import { sameTerminal } from "../attempts/comparison.ts";
import { storage } from "../attempts/failures.ts";
import {
  type Baseline,
  type TerminalIdentity,
  type TerminalStatus,
  TerminalUnavailable,
} from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import type { Inquiries } from "./inquiries.ts";
import type { TerminalLease } from "./terminal-lease.ts";

/** How long the terminal's last status is reused before the terminal is asked again. */
const STATUS_KEPT_MS = 2_000;
/** How long a terminal may take to answer which status it has. */
const STATUS_LIMIT_MS = 10_000;
/** How long a terminal that did not answer counts as silent, unless it sends a message. */
const SILENCE_KEPT_MS = 60_000;

/**
 * Checks before every financial command that the terminal answers and is the one accepted here
 * (docs/rules/01-baseline.md, docs/rules/03-repeats.md, docs/rules/12-terminal.md).
 */
export class IdentityCheck {
  readonly #parts: ArbiterParts;
  readonly #inquiries: Inquiries;
  readonly #lastAnswer: LastAnswer;

  constructor(parts: ArbiterParts, inquiries: Inquiries, lastAnswer: LastAnswer) {
    this.#parts = parts;
    this.#inquiries = inquiries;
    this.#lastAnswer = lastAnswer;
  }

  /** Accepts the connected terminal as the terminal to work with. Throws TERMINAL_DISCONNECTED. */
  accept(): TerminalIdentity {
    const { terminal } = this.#parts;
    if (terminal.state.link !== "connected") throw new AppError("TERMINAL_DISCONNECTED");
    const { identity } = terminal.state;
    this.#accept(identity);
    this.#inquiries.reconsider();
    return identity;
  }

  /** The accepted and the connected terminal, if they differ. Throws STORAGE_FAILED. */
  get replaced() {
    const { link, identity: found } = this.#parts.terminal.state;
    const accepted = link === "connected" ? this.#accepted : undefined;
    return accepted && !sameTerminal(accepted, found) ? { accepted, found } : undefined;
  }

  /**
   * Makes the terminal ready for a financial command and resolves with the baseline, the last
   * transaction that the terminal had stored before. Throws {@link TerminalUnavailable}, the abort
   * reason of `preparing`, or TERMINAL_CHANGED.
   */
  async prepare(preparing: AbortController): Promise<Baseline> {
    const { terminal, clock, settings } = this.#parts;
    const prepared = (signal: AbortSignal) => this.#lastAnswer.heard(terminal.prepare(signal));
    const baseline = await answerWithin(clock, settings.prepareMs, prepared, preparing);
    preparing.signal.throwIfAborted();
    const { identity } = baseline;
    const accepted = this.#assertAccepted(identity);
    const known = accepted ? completed(accepted, identity) : identity;
    if (!isDeepStrictEqual(accepted, known)) this.#accept(known);
    return baseline;
  }

  /**
   * Makes the terminal ready for an end of day, like {@link prepare}, but also when the terminal
   * takes no cards: an end of day unlocks a terminal that is locked until its end of day has run
   * (docs/zvt.md 11.5). Resolves with undefined for a locked terminal.
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

  /** The accepted terminal. Errors get `charged: no`, because no financial command was sent yet. */
  get #accepted(): TerminalIdentity | undefined {
    return storage(() => this.#parts.journal.terminalLog.acceptedTerminal(), "no");
  }

  #accept(identity: TerminalIdentity): void {
    const { journal, clock } = this.#parts;
    storage(() => journal.terminalLog.acceptTerminal(identity, clock.now()), "no");
  }

  /** Returns the accepted terminal, if any. Throws TERMINAL_CHANGED if `found` is another one. */
  #assertAccepted(found: TerminalIdentity): TerminalIdentity | undefined {
    const accepted = this.#accepted;
    if (!accepted || sameTerminal(accepted, found)) return accepted;
    throw new AppError("TERMINAL_CHANGED", undefined, { details: { accepted, found } });
  }
}

/**
 * Returns the accepted identity with the members that the terminal has reported since. A serial
 * number or terminal id that was once reported stays (docs/rules/12-terminal.md).
 */
const completed = (accepted: TerminalIdentity, found: TerminalIdentity): TerminalIdentity => ({
  serialNumber: accepted.serialNumber || found.serialNumber,
  terminalId: accepted.terminalId || found.terminalId,
  deviceId: found.deviceId || accepted.deviceId,
  version: found.version || accepted.version,
});

/**
 * The terminal's last answer, or that the terminal did not answer, valid until its next message.
 * Used for people and kiosks only: the rules about money ask the driver itself
 * (docs/rules/03-repeats.md, docs/rules/05-evidence.md).
 */
export class LastAnswer {
  readonly #parts: ArbiterParts;
  readonly #lease: TerminalLease;
  #status:
    | { status: TerminalStatus; atMs: number; monotonicMs: number; leases: number }
    | undefined;
  #silence: { readonly why: TerminalUnavailable; readonly monotonicMs: number } | undefined;

  constructor(parts: ArbiterParts, lease: TerminalLease) {
    this.#parts = parts;
    this.#lease = lease;
    parts.terminal.subscribe(() => {
      this.#status = undefined;
      this.#silence = undefined;
    });
  }

  /** Resolves with the terminal's status and its time. Throws {@link TerminalUnavailable}. */
  async ask() {
    const { terminal, clock } = this.#parts;
    this.#status = undefined;
    const { begun } = this.#lease;
    const { busy } = terminal.state;
    const check = (signal: AbortSignal) => terminal.check(signal);
    const asked = answerWithin(clock, STATUS_LIMIT_MS, check, undefined, busy);
    const status = await this.heard(asked);
    const dated = { status, atMs: clock.now() };
    // If a command began meanwhile, the status is outdated already and is not stored.
    if (begun === this.#lease.begun) {
      this.#status = { ...dated, monotonicMs: clock.monotonicMs(), leases: begun };
    }
    return dated;
  }

  /** The last status if it is recent and no command began since; the terminal is not asked. */
  get kept() {
    const last = this.#status;
    const isKept = last?.leases === this.#lease.begun && this.#isWithin(STATUS_KEPT_MS, last);
    return isKept ? last : undefined;
  }

  /** Why the terminal did not answer although its line may be open; undefined after one minute. */
  get silence(): TerminalUnavailable | undefined {
    const kept = this.#silence;
    return kept && this.#isWithin(SILENCE_KEPT_MS, kept) ? kept.why : undefined;
  }

  /** Waits for the terminal's answer `asked`, and records whether the terminal has answered. */
  async heard<T>(asked: Promise<T>): Promise<T> {
    try {
      const answer = await asked;
      this.#silence = undefined;
      return answer;
    } catch (error) {
      const isSilence = (reason: string) => ["no-answer", "disconnected"].includes(reason);
      if (error instanceof TerminalUnavailable && isSilence(error.reason)) {
        this.#silence = { why: error, monotonicMs: this.#parts.clock.monotonicMs() };
      }
      throw error;
    }
  }

  #isWithin(limitMs: number, kept: { readonly monotonicMs: number }): boolean {
    return this.#parts.clock.monotonicMs() - kept.monotonicMs < limitMs;
  }
}

/**
 * Settles like `work`, whose signal aborts when the terminal has not answered in time. `wasBusy`:
 * the driver used the terminal before, so that `work` may only have waited for the driver.
 */
export async function answerWithin<T>(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  abort = new AbortController(),
  wasBusy = false,
): Promise<T> {
  const timer = clock.startTimer("terminal's answer", limitMs, () => {
    const silent = `the terminal did not answer within ${limitMs} ms`;
    const text = wasBusy ? "another command is running on the terminal" : silent;
    abort.abort(new TerminalUnavailable(wasBusy ? "busy" : "no-answer", text));
  });
  try {
    return await work(abort.signal);
  } finally {
    timer.clear();
  }
}
