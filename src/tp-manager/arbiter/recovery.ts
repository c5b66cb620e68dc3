import { isDeepStrictEqual } from "node:util";
import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Timer } from "../../shared/time.ts";
import type { NoteKind, WrittenEvent } from "../attempts/attempt-event.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { compareReports, compareStored } from "../attempts/comparison.ts";
import {
  type Attempt,
  type Detail,
  isCharged,
  isPassedOn,
  isPaying,
  isRequested,
  REVERSAL_BEGINS,
  returnableMinorOf,
  reversalBeganAtMs,
} from "../attempts/payment.ts";
import { isInDoubt, isRunning, PAYMENT_UNKNOWN } from "../attempts/phase-table.ts";
import { recallOf } from "../attempts/reference-policy.ts";
import { candidatesIn, type Proof, RULES_VERSION } from "../matching/answer.ts";
import { type EarlierProbe, isProbedInTime, type Probe } from "../matching/facts.ts";
import { identityOf } from "../matching/matcher.ts";
import { type Conclusion, judge, judgeByNext, type Verdict } from "../matching/table.ts";
import {
  noIdentity,
  type TelecollectionEnd,
  type TransactionReport,
} from "../terminal/terminal.ts";
import type { ArbiterParts } from "./arbiter-parts.ts";
import { alarmBeyondGoods, alarmTwice, chargedBy } from "./corrections.ts";
import type { Inquiries, Question } from "./inquiries.ts";
import { LostCommands } from "./lost-commands.ts";
import type { OneWay } from "./one-way.ts";
import { writeEnd } from "./payment-run.ts";

/** The kind of the event which says that probes gave no proof (docs/rules/05-evidence.md). */
const UNSETTLED = "recovery-unsettled";
const PROBE = "recovery-look";
/** The code of an end of which nothing was heard, because the line or the terminal fell silent. */
const LINE_LOST = "no-end";
const OTHER_KIND = "another kind of terminal than the connected one got this command";
/** The pause before a terminal is asked by id again about what stays unknown. */
const ASK_AGAIN_MS = 5 * 60_000;
/** After this time an operator has to find out what became of a requested reversal. */
const REQUESTED_ALARM_MS = 24 * 3_600_000;
/** So long after its begin a command has ended, although each start begins its limit anew. */
const LONG_AGO_MS = 3_600_000;
/** The kinds of events which show that the terminal itself reported the end of its command. */
const heardEnds = ["end-completed", "end-aborted"];

/**
 * Finds out what became of attempts in doubt without repeating a financial command
 * (docs/rules/01-baseline.md, docs/rules/02-proof.md, docs/rules/28-unchanged-storage.md). It
 * decides what is asked about an attempt and writes the verdict; Inquiries decides when to probe
 * (docs/rules/15-not-yet.md, docs/rules/32-probe-times.md).
 */
export class Recovery {
  readonly #parts: ArbiterParts;
  readonly #inquiries: Inquiries;
  readonly #oneWay: OneWay | undefined;
  readonly lost: LostCommands;
  #timer: Timer | undefined;

  constructor(parts: ArbiterParts, inquiries: Inquiries, oneWay: OneWay | undefined) {
    this.#parts = parts;
    this.#inquiries = inquiries;
    this.#oneWay = oneWay;
    this.lost = new LostCommands(parts);
  }

  /**
   * At start, puts in doubt the attempts that an earlier process left running, as their outcome was
   * not received. Ends the attempts whose stored result gives the outcome. Probes the terminal for
   * every attempt in doubt.
   */
  begin(): void {
    for (const attempt of this.#parts.journal.attempts.unfinished()) {
      this.#endUnwritten(attempt);
      void this.recover(attempt.transactionId);
    }
  }

  /** Probes the terminal for one attempt in doubt. Resolves when its question is concluded. */
  recover(transactionId: string): Promise<void> {
    const attempt = this.#parts.journal.attempts.read(transactionId);
    if (!attempt || !inDoubtStateOf(attempt)) return Promise.resolve();
    // The gateway may have notified the return before the terminal had passed the reversal on.
    if (this.returned(attempt)) return Promise.resolve();
    if (isRequested(attempt.state)) {
      this.#awaitOthers(attempt);
      return Promise.resolve();
    }
    return this.#inquiries.ask(this.#questionOf(attempt, !this.#wasUnsettled(transactionId)));
  }

  /**
   * Ends a reversal in doubt that its terminal only passes on when the gateway says that the whole
   * amount went back: the sale counts as charged, and the gateway's return as the only one. Returns
   * whether it has ended so.
   */
  returned(attempt: Attempt): boolean {
    const isWhole = attempt.returnedMinor >= returnableMinorOf(attempt);
    if (!isPassedOn(attempt.state) || !isWhole) return false;
    const because = "the gateway says that the reversal, which the terminal passed on, is done";
    const writer = new AttemptWriter(attempt, this.#parts);
    writer.advance({ input: "proved-not-reversed", because });
    this.#inquiries.reconsider();
    return true;
  }

  /**
   * Returns for how long (ms) the terminal can still carry out a command that it is asked about by
   * id. An operator decides nothing before: the order would not be asked about any more, and what
   * the terminal charges then would stay unseen (docs/rules/37-by-id.md).
   */
  runsForMs(attempt: Attempt): number {
    const { terminal, clock } = this.#parts;
    const { state, transactionId, startedAtMs } = attempt;
    const isAsked = terminal.recall !== undefined && isInDoubt(state) && !isRequested(state);
    if (!isAsked || this.#isOfOtherKind(attempt)) return 0;
    const events = this.#eventsOfCommand(transactionId);
    const isOver = events.some(({ kind }) => kind === UNSETTLED || heardEnds.includes(kind));
    const beganAtMs = reversalBeganAtMs(events) ?? startedAtMs;
    if (isOver || clock.now() - beganAtMs > LONG_AGO_MS) return 0;
    const untilMs = this.lost.sinceMs(attempt) + terminal.capabilities.paymentLimitMs;
    return Math.max(0, untilMs - clock.monotonicMs());
  }

  /** Raises an alarm about a requested reversal of which nobody has heard for a day. */
  #awaitOthers(attempt: Attempt): void {
    const { attempts } = this.#parts.journal;
    const beganAtMs = reversalBeganAtMs(attempts.events(attempt.transactionId)) ?? 0;
    const isLate = this.#parts.clock.now() - beganAtMs >= REQUESTED_ALARM_MS;
    if (!isLate) this.#learnLater();
    else if (!this.#wasUnsettled(attempt.transactionId)) {
      this.#staysUnknown(attempt, "nobody has said what became of the requested reversal", null);
    }
  }

  #learnLater(): void {
    const { clock } = this.#parts;
    this.#timer?.clear();
    this.#timer = clock.startTimer("unknown orders", ASK_AGAIN_MS, () => this.learn());
  }

  askAgain(): void {
    for (const { transactionId } of this.#parts.journal.attempts.unfinished()) {
      void this.recover(transactionId);
    }
  }

  /** Ends the questions that are asked every few minutes. */
  close(): void {
    this.#timer?.clear();
  }

  /** Whether recovery has already ended without proof since the attempt's last command began. */
  #wasUnsettled(transactionId: string): boolean {
    return this.#eventsOfCommand(transactionId).some(({ kind }) => kind === UNSETTLED);
  }

  /** Returns the events of the attempt's last command: of its reversal, if one has begun. */
  #eventsOfCommand(transactionId: string) {
    const events = this.#parts.journal.attempts.events(transactionId);
    const since = events.findLastIndex(({ kind }) => kind === REVERSAL_BEGINS);
    return events.slice(Math.max(since, 0));
  }

  /**
   * Probes the terminal for an attempt whose command has just ended in doubt, or whose outcome
   * could not be written, so that the journal still has it as "sent". The attempt blocks sales even
   * while the journal cannot be read (docs/rules/05-evidence.md). When the journal can be written
   * again, the `unwritten` events are written first; missing: they are not known, as after a crash.
   * Settles like {@link recover}.
   */
  doubted(attempt: Attempt, unwritten?: WrittenEvent[]): Promise<void> {
    if (isPassedOn(attempt.state)) return this.recover(attempt.transactionId);
    return this.#inquiries.ask(this.#questionOf(attempt, true, unwritten));
  }

  /** Settles attempts in doubt without a probe, if what a later command found stored is proof. */
  learn(): void {
    const { journal, matcher, log, terminal } = this.#parts;
    try {
      // A terminal that is asked by id shows no later command what it has stored, and is asked.
      if (terminal.recall) {
        this.askAgain();
        return;
      }
      for (const attempt of journal.attempts.unfinished()) {
        const state = inDoubtStateOf(attempt);
        if (!state || this.#inquiries.has(attempt.transactionId)) continue;
        if (this.#isOfOtherKind(attempt)) continue;
        const inquiry = matcher.inquiry(attempt, state, 0);
        const proof = judgeByNext(inquiry, matcher.ofAttempt(attempt, null));
        if (proof) this.#conclude(attempt, proof, null);
      }
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      log.error({ err: error }, "could not read the attempts in doubt from the journal");
    }
  }

  /** Stores an end of day as evidence for each order about which the terminal is being asked. */
  closed(end: TelecollectionEnd): void {
    const { log } = this.#parts;
    for (const { key, orderId } of this.#inquiries.questions) {
      if (orderId === null) continue;
      try {
        this.#note(key, "closed-while-in-doubt", { ...end });
      } catch (error) {
        log.error(
          { err: error },
          "could not write to the journal that an end of day took place while an order is in doubt",
        );
      }
    }
  }

  #questionOf(attempt: Attempt, blocks: boolean, unwritten?: WrittenEvent[]): Question {
    const { transactionId, request } = attempt;
    const lostSinceMs = this.lost.sinceMs(attempt);
    // An attempt that is not in doubt here has an unwritten outcome: it is still running in the
    // journal, or charged as it was before its reversal.
    let isEndWritten = inDoubtStateOf(attempt) !== undefined;
    const read = (): Attempt | undefined => {
      const now = this.#parts.journal.attempts.read(transactionId);
      if (!now || (isEndWritten && inDoubtStateOf(now))) return now;
      if (isEndWritten) return undefined;
      const ended = this.#endUnwritten(now, unwritten);
      isEndWritten = true;
      return ended;
    };
    let isWatched = true;
    const decided = (probe: Probe, earlier: EarlierProbe | null): Verdict => {
      const now = read();
      const state = now && inDoubtStateOf(now);
      if (!now || !state) return { verdict: "no-answer", because: "it was settled meanwhile" };
      if (this.#isOfOtherKind(now)) return { verdict: "unsettled", because: OTHER_KIND };
      isWatched &&= isProbedInTime(earlier ? probe.atMs - earlier.atMs : this.#unseenMs(now));
      const said = probe.recalled?.kind;
      if (said && said !== "answered" && said !== "not-found") this.lost.abortLate(now);
      const { matcher, settings } = this.#parts;
      const inquiry = { ...matcher.inquiry(now, state, lostSinceMs), isWatched };
      const known = matcher.ofAttempt(now, probe);
      return judge(inquiry, probe, known, earlier, settings.confirmAfterMs);
    };
    return {
      key: transactionId,
      orderId: request.orderId,
      about: { transactionId, orderId: request.orderId },
      identity: identityOf(attempt),
      recalls: () => recallOf(read() ?? attempt),
      blocks,
      isOpen: () => read() !== undefined,
      judge: decided,
      conclude: (conclusion, probe) => {
        const now = read();
        if (now) this.#conclude(now, conclusion, probe);
        if (conclusion.verdict !== "unsettled") this.lost.forget(now ?? attempt);
      },
      note: ({ because }, probe) =>
        this.#note(transactionId, PROBE, { because, observation: probe }),
    };
  }

  /**
   * Returns the time, in milliseconds of the wall clock, since the terminal reported the end of the
   * command, or since the attempt began. An earlier process had another monotonic clock.
   */
  #unseenMs({ transactionId, startedAtMs }: Attempt): number {
    const events = this.#parts.journal.attempts.events(transactionId);
    const heard = events.findLast(({ kind }) => heardEnds.includes(kind));
    return this.#parts.clock.now() - (heard?.atMs ?? startedAtMs);
  }

  /**
   * Writes an unwritten outcome, even if part of it is written. `unwritten`: this process's
   * unwritten events; missing: an earlier process may have left some. Returns an attempt in doubt.
   */
  #endUnwritten(attempt: Attempt, unwritten?: WrittenEvent[]): Attempt | undefined {
    let ended = attempt;
    if (isRunning(attempt.state)) {
      const writer = new AttemptWriter(attempt, this.#parts, unwritten);
      if (recallOf(attempt).registerId && isPaying(attempt.state) && attempt.state.last) {
        return this.#endReported(writer);
      }
      const lost = unwritten ? {} : { unwritten: true as const };
      ended = writer.advance({ input: "interrupted", ...lost });
    } else if (!inDoubtStateOf(attempt)) return undefined;
    return this.#oneWay?.endStored(ended) ?? ended;
  }

  /**
   * Ends a payment whose answer is on disk without its end: a terminal that is asked by id sends
   * both as one message. A failure is borne out by one question, as after a cancel.
   */
  #endReported(writer: AttemptWriter): Attempt | undefined {
    const { matcher, settled } = this.#parts;
    const { state } = writer.attempt;
    const isBad = isPaying(state) && state.last?.report.good === false;
    const ended = writeEnd(writer, { end: "completed", ticket: "" }, matcher.assumptions, isBad);
    if (isCharged(ended.state)) settled();
    return inDoubtStateOf(ended) && ended;
  }

  #conclude(before: Attempt, conclusion: Conclusion, probe: Probe | null): void {
    const writer = new AttemptWriter(before, this.#parts);
    const { because, assumes = [] } = conclusion;
    const bare = { facts: [because], assumes };
    const grounds = { because, observation: probe, proof: { ...bare, rules: RULES_VERSION } };
    switch (conclusion.verdict) {
      case "charged": {
        const { report } = conclusion;
        const proof = this.#proofOf(before, report, bare);
        const isTwice = this.#hadAnotherStored(before, report);
        const { ticket } = probe?.recalled?.kind === "answered" ? probe.recalled : {};
        const ground = { observation: probe, ...chargedBy(proof), ...(ticket && { ticket }) };
        writer.advance({ input: "proved-charged", report, ...ground });
        alarmBeyondGoods(writer, before);
        this.#parts.settled();
        if (isTwice) {
          const text = "the terminal had stored another sale of this order before";
          alarmTwice(before, text, this.#parts.log);
        }
        return;
      }
      case "not-charged": {
        const { report } = conclusion;
        const takenBack = this.#hasLostItsLine(before) && conclusion.takenBack;
        writer.advance({
          input: "proved-not-charged",
          ...grounds,
          ...(takenBack && { takenBack }),
          ...(report && { report }),
        });
        return;
      }
      case "reversed": {
        const { report } = conclusion;
        writer.advance({ input: "proved-reversed", report, ...grounds });
        this.#parts.settled();
        return;
      }
      case "not-reversed":
        writer.advance({ input: "proved-not-reversed", ...grounds });
        return;
      case "requested":
        writer.advance({ input: "proved-requested", ...grounds });
        void this.recover(before.transactionId);
        return;
      default: {
        this.#staysUnknown(before, because, probe);
      }
    }
  }

  #staysUnknown({ transactionId, request }: Attempt, because: string, probe: Probe | null): void {
    const { log, terminal } = this.#parts;
    if (terminal.recall !== undefined) this.#learnLater();
    const said = { because, recalled: probe?.recalled };
    const isNews = !this.#wasUnsettled(transactionId);
    const isOld = terminal.recall !== undefined && !isNews;
    if (isOld && isDeepStrictEqual(said, this.#saidLast(transactionId))) return;
    this.#note(transactionId, UNSETTLED, { because, observation: probe });
    const text = `order ${request.orderId} stays unknown: ${because}`;
    if (isNews) log.error({ transactionId, alarm: PAYMENT_UNKNOWN }, text);
    else log.warn({ transactionId }, text);
  }

  /** Returns what the last question that left an attempt unknown was answered. */
  #saidLast(transactionId: string) {
    const events = this.#parts.journal.attempts.events(transactionId);
    const { detail = {} } = events.findLast(({ kind }) => kind === UNSETTLED) ?? {};
    const { observation } = detail as { readonly observation?: Probe | null };
    return { because: detail["because"], recalled: observation?.recalled };
  }

  #isOfOtherKind(attempt: Attempt): boolean {
    const isAskedById = recallOf(attempt).registerId !== undefined;
    return isAskedById !== (this.#parts.terminal.recall !== undefined);
  }

  #hasLostItsLine({ transactionId }: Attempt): boolean {
    const events = this.#parts.journal.attempts.events(transactionId);
    return events.some(({ kind, detail }) => kind === "end-lost" && detail["code"] === LINE_LOST);
  }

  /** Whether an earlier probe showed another sale, overwritten since, that can be this order's. */
  #hadAnotherStored({ transactionId, baseline, request }: Attempt, it: TransactionReport): boolean {
    const { matcher, journal } = this.#parts;
    return journal.attempts.events(transactionId).some(({ kind, detail }) => {
      const { observation } = detail as { readonly observation?: Probe | null };
      if (kind !== PROBE || observation?.last.kind !== "transaction") return false;
      const { report } = observation.last;
      if (compareReports(report, it) !== "different") return false;
      if (baseline && compareStored(baseline.last, observation.last) !== "different") return false;
      const fitting = candidatesIn(matcher.whose(report, observation.identity));
      return fitting.some(({ attempt }) => attempt.request.orderId === request.orderId);
    });
  }

  /** Returns the proof that the report is the attempt's. Call it before the verdict is written. */
  #proofOf({ transactionId, baseline }: Attempt, report: TransactionReport, bare: Proof): Proof {
    const answer = this.#parts.matcher.whose(report, baseline?.identity ?? noIdentity);
    const isIts =
      answer.answer === "one" && answer.candidate.attempt.transactionId === transactionId;
    if (!isIts) return bare;
    return { ...answer.proof, assumes: [...new Set([...answer.proof.assumes, ...bare.assumes])] };
  }

  #note(transactionId: string, kind: NoteKind, detail: Detail): void {
    const { journal, clock } = this.#parts;
    journal.attempts.addEvent(transactionId, { atMs: clock.now(), kind, detail });
  }
}

function inDoubtStateOf({ state }: Attempt) {
  return isInDoubt(state) ? state : undefined;
}
