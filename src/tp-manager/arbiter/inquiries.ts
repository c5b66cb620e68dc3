import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import { sameTerminal } from "../matching/comparison.ts";
import { type EarlierLook, isUnchanged, type Look } from "../matching/facts.ts";
import type { Conclusion, Verdict } from "../matching/table.ts";
import { type Terminal, type TerminalIdentity, TerminalUnavailable } from "../terminal/terminal.ts";

/** Something that only the terminal can clear up. The methods throw when the journal fails. */
export interface Question {
  readonly key: string;
  /** null: it is about none, and asked only when none about an order is open at that terminal. */
  readonly orderId: string | null;
  /** For the log. */
  readonly about: object;
  /** The terminal that has to be asked; another one's answer is none. */
  readonly identity: TerminalIdentity;
  /** No command may leave for that terminal before the run ended (docs/rules/05-evidence.md). */
  readonly blocks: boolean;
  /** false: cleared up meanwhile in another way. */
  isOpen(): boolean;
  /** The worth of a look. `earlier` is the look before it in this run. */
  judge(look: Look, earlier: EarlierLook | null): Verdict;
  /** Writes how the run has ended. `look` is null when the terminal was never asked. */
  conclude(conclusion: Conclusion, look: Look | null): void;
  /** Keeps a look that has concluded nothing yet. */
  note(verdict: Verdict, look: Look): void;
}

interface InquiryParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly terminal: Terminal;
  /** Resolves when no question disturbs anybody there, and the journal can judge the answer. */
  readonly readyToLook: (signal: AbortSignal) => Promise<void>;
  /** The terminal that this installation works with; undefined before the first one. */
  readonly accepted: () => TerminalIdentity | undefined;
  /** Called with each answer, when the questions have been judged by it. */
  readonly looked: (look: Look) => void;
  /** Called whenever {@link Inquiries.isAsking} may have changed. */
  readonly asking: () => void;
}

/** Pauses after a question that got no answer. */
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 15_000;
/** A terminal that shows something else at each look proves nothing. */
const LOOKS_MAX = 8;

interface Open {
  readonly question: Question;
  readonly ended: PromiseWithResolvers<void>;
  dueAtMs: number;
  retryMs: number;
  /** The last question got no answer. */
  unanswered: boolean;
  /** Looks that showed something else than the one before. */
  looks: number;
  because: string;
  earlier: EarlierLook | null;
}

/**
 * Asks the terminal about everything that is in doubt, with one look for all that is due
 * (docs/rules/15-not-yet.md). A terminal that is away, busy, locked, out of order or another one
 * has not answered: the questions wait, and are asked again when that changes and at growing
 * pauses. Between two looks nothing is held up but what {@link Question.blocks}.
 */
export class Inquiries {
  readonly #parts: InquiryParts;
  readonly #open = new Map<string, Open>();
  readonly #abort = new AbortController();
  readonly #unsubscribe: () => void;
  /** Of its own: a run that finds everything cleared up ends before its promise is known. */
  #isRunning = false;
  #runner: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  /** The state in which a question got no answer; another one is a reason to ask again. */
  #vainState = "";
  #isLockedOut = false;

  constructor(parts: InquiryParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.terminal.subscribe(() => this.#stateChanged());
  }

  /** The connected terminal has something to be asked about. */
  get isAsking(): boolean {
    return this.#here.length > 0;
  }

  /** The order that has to be asked about before anything else may leave. */
  get blockedBy(): string | undefined {
    return this.#blocking.find(({ orderId }) => orderId !== null)?.orderId ?? undefined;
  }

  /** A transaction that no order asked for is being asked about. */
  get unmatchedAsked(): boolean {
    return this.#blocking.some(({ orderId }) => orderId === null);
  }

  /** The question itself was refused by a terminal that is locked. */
  get isLockedOut(): boolean {
    return this.#isLockedOut && this.isAsking;
  }

  has(key: string): boolean {
    return this.#open.has(key);
  }

  /** Resolves when the run of an open question has ended; undefined: there is none. */
  ended(key: string): Promise<void> | undefined {
    return this.#open.get(key)?.ended.promise;
  }

  get questions(): readonly Question[] {
    return [...this.#open.values()].map(({ question }) => question);
  }

  /**
   * Asks a question until its run has ended, with or without proof; a run that is under way is
   * shared. Never rejects. Ends early, without a conclusion, when the connector stops.
   */
  ask(question: Question): Promise<void> {
    const known = this.#open.get(question.key);
    if (known) return known.ended.promise;
    if (this.#abort.signal.aborted) return Promise.resolve();
    const open: Open = {
      question,
      ended: Promise.withResolvers<void>(),
      dueAtMs: this.#nowMs,
      retryMs: RETRY_MIN_MS,
      unanswered: false,
      looks: 0,
      because: "",
      earlier: null,
    };
    this.#open.set(question.key, open);
    this.#parts.asking();
    if (!this.#isRunning) this.#runner = this.#run();
    this.#wake?.();
    return open.ended.promise;
  }

  /**
   * An operator has settled something or accepted a terminal, or the terminal has changed: some
   * questions may be over, or get an answer now. One that was answered once waits on for its second
   * look, because a reversal may be running.
   */
  reconsider(): void {
    for (const open of this.#open.values()) {
      if (open.unanswered) open.dueAtMs = Math.min(open.dueAtMs, this.#nowMs);
    }
    this.#wake?.();
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    this.#abort.abort(new Error("the connector stops"));
    this.#wake?.();
    await this.#runner;
    for (const { ended } of this.#open.values()) ended.resolve();
  }

  get #nowMs(): number {
    return this.#parts.clock.monotonicMs();
  }

  get #here(): Open[] {
    return [...this.#open.values()].filter((open) => !this.#isElsewhere(open));
  }

  get #blocking(): Question[] {
    return this.#here.map(({ question }) => question).filter(({ blocks }) => blocks);
  }

  get #stateKey(): string {
    const { link, identity, status, demands } = this.#parts.terminal.state;
    return JSON.stringify([link, identity, status?.cr, status?.detail, demands]);
  }

  #stateChanged(): void {
    if (this.#open.size === 0) return;
    this.#parts.asking();
    if (this.#stateKey === this.#vainState) return;
    this.#vainState = "";
    this.reconsider();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#open.size > 0 && !this.#abort.signal.aborted) {
        this.#dropAnswered();
        const due = this.#due;
        for (const open of due.filter((each) => this.#isElsewhere(each))) this.#askLater(open);
        const here = due.filter((each) => !this.#isElsewhere(each));
        if (here.length > 0) await this.#look();
        else if (due.length === 0 && this.#open.size > 0) await this.#pause();
      }
    } catch (error) {
      // Only the ordered stop ends a run early; any other error is a fault and must be seen.
      if (!this.#abort.signal.aborted) throw error;
    } finally {
      this.#isRunning = false;
    }
  }

  /** Ends the runs that need no look any more. */
  #dropAnswered(): void {
    const accepted = this.#guarded(undefined, () => this.#parts.accepted());
    for (const open of [...this.#open.values()]) {
      const { question } = open;
      this.#guarded(open, () => {
        if (!question.isOpen()) {
          this.#end(open);
          return;
        }
        if (!accepted || sameTerminal(accepted, question.identity)) return;
        question.conclude(givenUp(question, "another terminal was accepted since"), null);
        this.#end(open);
      });
    }
  }

  /** Open questions, without those that wait for others to end. */
  get #askable(): Open[] {
    const all = [...this.#open.values()];
    const ofOrders = all.map(({ question }) => question).filter(({ orderId }) => orderId !== null);
    return all.filter(
      ({ question: { orderId, identity } }) =>
        orderId !== null || !ofOrders.some((other) => sameTerminal(other.identity, identity)),
    );
  }

  get #due(): Open[] {
    return this.#askable.filter(({ dueAtMs }) => dueAtMs <= this.#nowMs);
  }

  /** No look at another terminal can answer a question. */
  #isElsewhere({ question }: Open): boolean {
    return !sameTerminal(question.identity, this.#parts.terminal.state.identity);
  }

  /** One look for everything that is due at the connected terminal by the time it is free. */
  async #look(): Promise<void> {
    const { terminal, readyToLook, log } = this.#parts;
    await readyToLook(this.#abort.signal);
    const due = this.#due.filter((open) => !this.#isElsewhere(open));
    if (due.length === 0) return;
    let look: Look;
    try {
      const last = await terminal.lastTransaction(this.#abort.signal);
      look = { identity: terminal.state.identity, last, atMs: this.#nowMs };
      this.#isLockedOut = false;
    } catch (error) {
      if (!(error instanceof TerminalUnavailable)) throw error;
      log.debug({ reason: error.message }, "the terminal did not answer a question");
      this.#isLockedOut = error.reason === "out-of-order";
      this.#vainState = this.#stateKey;
      for (const open of due) this.#askLater(open);
      return;
    }
    for (const open of due) this.#guarded(open, () => this.#process(open, look));
    this.#parts.looked(look);
  }

  #process(open: Open, look: Look): void {
    const { question } = open;
    // Read after the look, because an operator may have settled the matter meanwhile.
    if (!question.isOpen()) {
      this.#end(open);
      return;
    }
    const judged = question.judge(look, open.earlier);
    const isRestless = judged.verdict === "look-again" && open.looks >= LOOKS_MAX;
    const verdict = isRestless ? givenUp(question, "each look shows something else") : judged;
    const sinceMs = shownSinceMs(open, look);
    const isNews = open.because !== verdict.because || sinceMs === undefined;
    if (isNews) {
      const { verdict: word, because } = verdict;
      this.#parts.log.warn({ ...question.about, verdict: word }, `recovery: ${because}`);
    }
    open.because = verdict.because;
    switch (verdict.verdict) {
      case "no-answer":
        this.#vainState = this.#stateKey;
        this.#askLater(open);
        return;
      case "look-again":
        if (isNews) question.note(verdict, look);
        if (sinceMs === undefined) open.looks += 1;
        open.earlier = { ...look, sinceMs: sinceMs ?? look.atMs };
        open.unanswered = false;
        open.retryMs = RETRY_MIN_MS;
        open.dueAtMs = this.#nowMs + verdict.waitMs;
        return;
      default:
        question.conclude(verdict, look);
        this.#end(open);
    }
  }

  #askLater(open: Open): void {
    open.unanswered = true;
    open.dueAtMs = this.#nowMs + open.retryMs;
    open.retryMs = Math.min(open.retryMs * 2, RETRY_MAX_MS);
  }

  #end({ question, ended }: Open): void {
    this.#open.delete(question.key);
    this.#parts.asking();
    ended.resolve();
  }

  /** A journal that fails is tried again later; the question stays open. */
  #guarded<T>(open: Open | undefined, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      const about = open?.question.about;
      this.#parts.log.error(
        { ...about, err: error, alarm: "journal" },
        "the journal takes nothing",
      );
      if (open) this.#askLater(open);
      return undefined;
    }
  }

  /** Until the next question is due, or something has happened. */
  async #pause(): Promise<void> {
    const { clock } = this.#parts;
    const waiting = this.#askable;
    const nextMs = Math.min(...waiting.map(({ dueAtMs }) => dueAtMs));
    const isAway = waiting.every((each) => this.#isElsewhere(each));
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      const name = isAway ? "recovery at another terminal" : "recovery";
      timer = clock.startTimer(name, Math.max(nextMs - this.#nowMs, 0), resolve);
    });
    timer?.clear();
    this.#wake = undefined;
  }
}

/** The conclusion when no look can help any more. */
const givenUp = ({ orderId }: Question, because: string): Conclusion => ({
  verdict: orderId === null ? "unclear" : "unsettled",
  because,
});

/** Since when the looks of a run have shown what this one shows; undefined: it is the first. */
const shownSinceMs = ({ earlier }: Open, { last }: Look): number | undefined =>
  earlier !== null && isUnchanged(earlier.last, last) ? earlier.sinceMs : undefined;
