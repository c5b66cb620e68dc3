import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Timer } from "../../shared/time.ts";
import { sameTerminal } from "../attempts/comparison.ts";
import { type EarlierProbe, isUnchanged, type Probe } from "../matching/facts.ts";
import type { Conclusion, Verdict } from "../matching/table.ts";
import {
  type RecallOrder,
  type TerminalIdentity,
  TerminalUnavailable,
} from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";

/** What a probe of the terminal's storage must find out. Its methods throw if the journal fails. */
export interface Question {
  readonly key: string;
  /**
   * The order in doubt. null: the question is about an unmatched transaction. Such a question is
   * asked only when no question about an order waits for the same terminal.
   */
  readonly orderId: string | null;
  /** The fields of log lines that name the order or the transaction that the question is about. */
  readonly about: object;
  /** The terminal that has to be probed. The answer of another terminal does not count. */
  readonly identity: TerminalIdentity;
  /** Returns the command in doubt, for a terminal that can be asked about it; missing: none is. */
  recalls?(): RecallOrder;
  /** Whether financial commands wait for the question's conclusion (docs/rules/05-evidence.md). */
  readonly blocks: boolean;
  /** Returns whether the question still needs an answer; an operator may have settled the order. */
  isOpen(): boolean;
  /** Returns what `probe` proves. `earlier`: the previous probe for this question, if any. */
  judge(probe: Probe, earlier: EarlierProbe | null): Verdict;
  /** Writes the conclusion to the journal. `probe`: null if the conclusion rests on no probe. */
  conclude(conclusion: Conclusion, probe: Probe | null): void;
  /** Stores a probe of the terminal that proves nothing about the question yet. */
  note(verdict: Verdict, probe: Probe): void;
}

/** How {@link Inquiries} calls the arbiter's other objects. */
interface InquiryCallbacks {
  /** Resolves when the terminal is free, and no import into the journal and no probation is on. */
  readonly readyToProbe: (signal: AbortSignal) => Promise<void>;
  /** Called with each answer of the terminal, after it has been used for the questions. */
  readonly probed: (probe: Probe) => void;
  /** Called when the value of {@link Inquiries.isAsking} may have changed. */
  readonly asking: () => void;
}

/** The shortest and the longest pause before a terminal that did not answer is probed again. */
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 15_000;
/** So many probes with changing results end a question (docs/rules/32-probe-times.md). */
const PROBES_MAX = 8;

interface Open {
  readonly question: Question;
  readonly ended: PromiseWithResolvers<void>;
  dueAtMs: number;
  /** When a probe can decide, in monotonic ms; 0: no probe was answered yet. */
  untilMs: number;
  retryMs: number;
  unanswered: boolean;
  probes: number;
  because: string;
  earlier: EarlierProbe | null;
}

/**
 * Asks the terminal about everything that only the terminal can clear up, with one probe for all
 * questions that are due (docs/rules/15-not-yet.md). A terminal that is disconnected, busy, locked,
 * out of order or replaced has not answered: the questions are asked again when its state changes,
 * and after growing pauses. Between two probes, only questions with `blocks` delay commands.
 */
export class Inquiries {
  readonly #parts: ArbiterParts;
  readonly #callbacks: InquiryCallbacks;
  readonly #open = new Map<string, Open>();
  readonly #abort = new AbortController();
  readonly #unsubscribe: () => void;
  /** Whether {@link #run} is active; a run without questions ends before `#runner` is set. */
  #isRunning = false;
  #runner: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  /** The terminal's state at the last unanswered probe; a new state is a reason to probe again. */
  #vainState = "";
  #isLockedOut = false;

  constructor(parts: ArbiterParts, callbacks: InquiryCallbacks) {
    this.#parts = parts;
    this.#callbacks = callbacks;
    this.#unsubscribe = parts.terminal.subscribe(() => this.#stateChanged());
  }

  /** Whether a question that the connected terminal has to answer is still open. */
  get isAsking(): boolean {
    return [...this.#open.values()].some((open) => !this.#isElsewhere(open));
  }

  /** The order in doubt because of which no financial command may be sent now. */
  get blockedBy(): string | undefined {
    return this.#blocking.find(({ orderId }) => orderId !== null)?.orderId ?? undefined;
  }

  get unmatchedAsked(): boolean {
    return this.#blocking.some(({ orderId }) => orderId === null);
  }

  /** Whether the terminal is locked and therefore refused to answer the last probe. */
  get isLockedOut(): boolean {
    return this.#isLockedOut && this.isAsking;
  }

  has(key: string): boolean {
    return this.#open.has(key);
  }

  /** Resolves when the question with this key is concluded; undefined: no such question is open. */
  ended(key: string): Promise<void> | undefined {
    return this.#open.get(key)?.ended.promise;
  }

  /**
   * Returns until about when (epoch ms) the terminal is asked about an attempt, or about any one;
   * null: it is asked when it is back and free; undefined: it is not asked.
   */
  untilMs(transactionId?: string): number | null | undefined {
    const asked = [...this.#open.values()].filter(({ question: { key, orderId } }) =>
      transactionId === undefined ? orderId !== null : key === transactionId,
    );
    if (asked.length === 0) return undefined;
    const isLinked = this.#parts.terminal.state.link === "connected";
    const here = asked.filter((one) => isLinked && !one.unanswered && !this.#isElsewhere(one));
    const leftMs = Math.max(0, ...here.map(({ untilMs }) => untilMs - this.#nowMs));
    return leftMs === 0 ? null : this.#parts.clock.now() + leftMs;
  }

  get questions(): readonly Question[] {
    return [...this.#open.values()].map(({ question }) => question);
  }

  /**
   * Asks until the question is concluded, with or without proof; a second call for a question waits
   * for the first. Never rejects. A stop of the connector ends the call without a conclusion.
   */
  ask(question: Question): Promise<void> {
    const known = this.#open.get(question.key);
    if (known) return known.ended.promise;
    if (this.#abort.signal.aborted) return Promise.resolve();
    const open: Open = {
      question,
      ended: Promise.withResolvers<void>(),
      dueAtMs: this.#nowMs,
      untilMs: 0,
      retryMs: RETRY_MIN_MS,
      unanswered: false,
      probes: 0,
      because: "",
      earlier: null,
    };
    this.#open.set(question.key, open);
    this.#callbacks.asking();
    if (!this.#isRunning) this.#runner = this.#run();
    this.#wake?.();
    return open.ended.promise;
  }

  /**
   * Asks at once every question that the terminal has not answered yet, because an operator has
   * settled an order or accepted a terminal, or the terminal's state has changed. A question that
   * was answered once waits for its second probe, because the terminal may be reversing the sale.
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

  /** The open questions about the connected terminal because of which financial commands wait. */
  get #blocking(): Question[] {
    const here = [...this.#open.values()].filter((open) => !this.#isElsewhere(open));
    return here.map(({ question }) => question).filter(({ blocks }) => blocks);
  }

  get #stateKey(): string {
    const { link, identity, status, demands } = this.#parts.terminal.state;
    return JSON.stringify([link, identity, status?.cr, status?.detail, demands]);
  }

  #stateChanged(): void {
    if (this.#open.size === 0) return;
    this.#callbacks.asking();
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
        if (here.length > 0) await this.#probe();
        else if (due.length === 0 && this.#open.size > 0) await this.#pause();
      }
    } catch (error) {
      // Only a stop of the connector ends the probing early; any other error is a program fault.
      if (!this.#abort.signal.aborted) throw error;
    } finally {
      this.#isRunning = false;
    }
  }

  /** Concludes the questions that need no probe any more, for example after a settlement. */
  #dropAnswered(): void {
    const accepted = this.#guarded(undefined, () =>
      this.#parts.journal.terminalLog.acceptedTerminal(),
    );
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

  /** The open questions; one about an unmatched transaction waits for those about orders. */
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

  #isElsewhere({ question }: Open): boolean {
    return !sameTerminal(question.identity, this.#parts.terminal.state.identity);
  }

  /**
   * Probes the connected terminal once, when no work uses it, for all questions that are due; a
   * terminal that can be asked about one command is asked about the one that waits longest
   * (docs/rules/37-by-id.md).
   */
  async #probe(): Promise<void> {
    const { terminal, log } = this.#parts;
    await this.#callbacks.readyToProbe(this.#abort.signal);
    const all = this.#due.filter((open) => !this.#isElsewhere(open));
    const due = terminal.recall ? all.sort((a, b) => a.dueAtMs - b.dueAtMs).slice(0, 1) : all;
    const [first] = due;
    if (!first) return;
    const about = terminal.recall && this.#guarded(first, () => recallOf(first.question));
    // The journal could not be read: the question is asked later.
    if (terminal.recall && !about) return;
    const delays = terminal.recall !== undefined && first.question.blocks;
    const isThere = terminal.state.link === "connected";
    let probe: Probe;
    try {
      const recalled =
        about?.command && (await terminal.recall?.(about.command, this.#abort.signal));
      const last = await terminal.lastTransaction(this.#abort.signal);
      probe = { identity: terminal.state.identity, last, atMs: this.#nowMs };
      if (recalled) probe = { ...probe, recalled };
      this.#isLockedOut = false;
    } catch (error) {
      if (!(error instanceof TerminalUnavailable)) throw error;
      const text = "the terminal did not answer what its last transaction is";
      log.debug({ reason: error.message }, text);
      this.#isLockedOut = error.reason === "out-of-order";
      this.#vainState = this.#stateKey;
      // It may fail for ever, although the terminal is there: the time limit ends it.
      const failed = unanswered(terminal.state.identity, error.message, this.#nowMs);
      if (delays && isThere) this.#guarded(first, () => this.#process(first, failed));
      else for (const open of due) this.#askLater(open);
      return;
    }
    for (const open of due) this.#guarded(open, () => this.#process(open, probe));
    this.#callbacks.probed(probe);
  }

  #process(open: Open, probe: Probe): void {
    const { question } = open;
    // Checked again after the probe: an operator may have settled the order meanwhile.
    if (!question.isOpen()) {
      this.#end(open);
      return;
    }
    const judged = question.judge(probe, open.earlier);
    const isMany = open.probes >= PROBES_MAX && !probe.recalled;
    const isRestless = judged.verdict === "probe-again" && isMany;
    const verdict = isRestless ? givenUp(question, "each probe shows something else") : judged;
    const sinceMs = unchangedSinceMs(open, probe);
    const isFirst = sinceMs === undefined && verdict.verdict !== "no-answer";
    const isNews = open.because !== verdict.because || isFirst;
    if (isNews) {
      const detail = { ...question.about, verdict: verdict.verdict };
      // A question that is asked again and again, without delaying a sale, is no news each time.
      this.#parts.log[question.blocks ? "warn" : "debug"](detail, `recovery: ${verdict.because}`);
    }
    open.because = verdict.because;
    switch (verdict.verdict) {
      case "no-answer":
        this.#vainState = this.#stateKey;
        this.#askLater(open);
        return;
      case "probe-again":
        if (isNews) question.note(verdict, probe);
        if (sinceMs === undefined) open.probes += 1;
        open.earlier = { ...probe, sinceMs: sinceMs ?? probe.atMs };
        open.unanswered = false;
        open.retryMs = RETRY_MIN_MS;
        open.dueAtMs = this.#nowMs + verdict.waitMs;
        open.untilMs = this.#nowMs + verdict.leftMs;
        return;
      default:
        question.conclude(verdict, probe);
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
    this.#callbacks.asking();
    ended.resolve();
  }

  /** Runs `work` for a question. If the journal fails, the question is asked again later. */
  #guarded<T>(open: Open | undefined, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      const detail = { ...open?.question.about, err: error, alarm: "journal" } as const;
      this.#parts.log.error(detail, "the journal could not be read or written during recovery");
      if (open) this.#askLater(open);
      return undefined;
    }
  }

  /** Waits until the next question is due, or until `#wake` is called, as for a new question. */
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

function unanswered(identity: TerminalIdentity, why: string, atMs: number): Probe {
  const last = { kind: "not-told", why } as const;
  return { identity, last, atMs, recalled: { kind: "unanswered", why } };
}

const recallOf = (question: Question) => ({ command: question.recalls?.() });

const givenUp = ({ orderId }: Question, because: string): Conclusion => ({
  verdict: orderId === null ? "unclear" : "unsettled",
  because,
});

/** Returns since when (monotonic ms) probes have shown this transaction; undefined: first now. */
const unchangedSinceMs = ({ earlier }: Open, probe: Probe): number | undefined =>
  earlier !== null && isUnchanged(earlier, probe) ? earlier.sinceMs : undefined;
