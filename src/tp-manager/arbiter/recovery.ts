import { BrokenInvariant } from "../../shared/invariant.ts";
import type { NoteKind, WrittenEvent } from "../attempts/attempt-event.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { PAYMENT_UNKNOWN } from "../attempts/event-table.ts";
import {
  type Attempt,
  type InDoubtState,
  isCharged,
  REVERSAL_BEGINS,
  type ReversalInDoubtState,
} from "../attempts/payment.ts";
import { isInDoubt, isRunning } from "../attempts/phase-table.ts";
import { candidatesIn, type Proof, RULES_VERSION, textOfProof } from "../matching/answer.ts";
import type { Assumption } from "../matching/assumptions.ts";
import { compareReports, compareStored } from "../matching/comparison.ts";
import { type EarlierProbe, isProbedInTime, type Probe } from "../matching/facts.ts";
import { anyTerminal, identityOf, Knowledge } from "../matching/knowledge.ts";
import { type Conclusion, judge, judgeByNext, type Verdict } from "../matching/table.ts";
import type { TelecollectionEnd, TransactionReport } from "../terminal/terminal.ts";
import type { ArbiterTools } from "./arbiter-parts.ts";
import { alarmTwice } from "./corrections.ts";
import type { Question } from "./inquiries.ts";
import type { OneWay } from "./one-way.ts";

/** The attempt's first complete run ended without proof (docs/rules/05-evidence.md). */
const UNSETTLED = "recovery-unsettled";
const PROBE = "recovery-look";
/** Ends that the terminal said; what came before them is past. */
const heardEnds = ["end-completed", "end-aborted"];

interface RecoveryParts extends ArbiterTools {
  readonly oneWay: OneWay;
}

/**
 * Finds out what became of attempts in doubt by asking the terminal, never by repeating anything
 * financial (docs/rules/01-baseline.md, docs/rules/02-proof.md, docs/rules/05-evidence.md).
 */
export class Recovery {
  readonly #parts: RecoveryParts;
  readonly #knowledge: Knowledge;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
    this.#knowledge = new Knowledge(parts);
  }

  /**
   * At start: puts in doubt what an earlier process left running, because nobody heard the end, and
   * ends what has a stored result that is the end. Asks the terminal about every attempt in doubt.
   */
  begin(): void {
    const { attempts, oneWay } = this.#parts;
    for (const attempt of attempts.unfinished()) {
      if (isRunning(attempt.state)) this.#interrupt(attempt, { unwritten: true });
      else oneWay.endStored(attempt);
      void this.recover(attempt.transactionId);
    }
  }

  /** Asks the terminal about one attempt in doubt; settles as {@link Inquiries.ask} does. */
  recover(transactionId: string): Promise<void> {
    const { attempts, inquiries } = this.#parts;
    const attempt = attempts.read(transactionId);
    if (!attempt || !inDoubtStateOf(attempt)) return Promise.resolve();
    return inquiries.ask(this.#questionOf(attempt, !this.#wasUnsettled(transactionId)));
  }

  /** Asks once more about every attempt in doubt. */
  askAgain(): void {
    for (const { transactionId } of this.#parts.attempts.unfinished()) {
      void this.recover(transactionId);
    }
  }

  /** A run about the sale proves nothing of its reversal, so only later runs count. */
  #wasUnsettled(transactionId: string): boolean {
    const events = this.#parts.attempts.events(transactionId);
    const since = events.findLastIndex(({ kind }) => kind === REVERSAL_BEGINS);
    return events.slice(since + 1).some(({ kind }) => kind === UNSETTLED);
  }

  /**
   * A command has just ended in doubt, or its end could not be written, so that the journal still
   * says "sent". The attempt blocks sales even while the journal cannot be read
   * (docs/rules/05-evidence.md). As soon as the journal takes a record again, first of all what was
   * heard and is not written yet is written. Resolves as {@link recover} does.
   */
  doubted(attempt: Attempt, unwritten: WrittenEvent[] = []): Promise<void> {
    return this.#parts.inquiries.ask(this.#questionOf(attempt, true, unwritten));
  }

  /** A command has ended: what it found may settle attempts in doubt. Nothing is sent. */
  learn(): void {
    const { attempts, inquiries, log } = this.#parts;
    try {
      for (const attempt of attempts.unfinished()) {
        const state = inDoubtStateOf(attempt);
        if (!state || inquiries.has(attempt.transactionId)) continue;
        const inquiry = this.#knowledge.inquiry(attempt, state, 0);
        const proof = judgeByNext(inquiry, this.#knowledge.ofAttempt(attempt, null));
        if (proof) this.#conclude(attempt, proof, null);
      }
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      log.error({ err: error }, "the journal could not be read about attempts in doubt");
    }
  }

  /** An end of day was run because the terminal was locked until then: it may be evidence. */
  closed(end: TelecollectionEnd): void {
    const { attempts, inquiries, clock, log } = this.#parts;
    for (const { key, orderId } of inquiries.questions) {
      if (orderId === null) continue;
      try {
        const detail = { ...end };
        attempts.addEvent(key, { atMs: clock.now(), kind: "closed-while-in-doubt", detail });
      } catch (error) {
        log.error({ err: error }, "the journal did not take an end of day as evidence");
      }
    }
  }

  #questionOf(attempt: Attempt, blocks: boolean, unwritten: WrittenEvent[] = []): Question {
    const { transactionId, request } = attempt;
    const lostSinceMs = this.#parts.clock.monotonicMs();
    // Only an attempt whose own end could not be written is found running here; a reversal's was
    // charged when it began.
    let isEndWritten = inDoubtStateOf(attempt) !== undefined;
    const read = (): Attempt | undefined => {
      const now = this.#parts.attempts.read(transactionId);
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
      isWatched &&= isProbedInTime(earlier ? probe.atMs - earlier.atMs : this.#unseenMs(now));
      const inquiry = { ...this.#knowledge.inquiry(now, state, lostSinceMs), isWatched };
      const known = this.#knowledge.ofAttempt(now, probe);
      return judge(inquiry, probe, known, earlier, this.#parts.confirmAfterMs);
    };
    return {
      key: transactionId,
      orderId: request.orderId,
      about: { transactionId, orderId: request.orderId },
      identity: identityOf(attempt),
      blocks,
      isOpen: () => read() !== undefined,
      judge: decided,
      conclude: (conclusion, probe) => {
        const now = read();
        if (now) this.#conclude(now, conclusion, probe);
      },
      note: (verdict, probe) => this.#note(transactionId, PROBE, verdict, probe),
    };
  }

  /** Since when nobody knows what the terminal did; a former process had no other clock. */
  #unseenMs({ transactionId, startedAtMs }: Attempt): number {
    const events = this.#parts.attempts.events(transactionId);
    const heard = events.findLast(({ kind }) => heardEnds.includes(kind));
    return this.#parts.clock.now() - (heard?.atMs ?? startedAtMs);
  }

  /** The journal may have failed once more between the two steps. */
  #endUnwritten(attempt: Attempt, unwritten: WrittenEvent[]): Attempt | undefined {
    if (inDoubtStateOf(attempt)) return this.#parts.oneWay.endStored(attempt);
    return isRunning(attempt.state) ? this.#interrupt(attempt, {}, unwritten) : undefined;
  }

  #interrupt(
    attempt: Attempt,
    how: { readonly unwritten?: true },
    unwritten: WrittenEvent[] = [],
  ): Attempt {
    const writer = new AttemptWriter(attempt, { ...this.#parts, unwritten });
    const interrupted = writer.advance({ input: "interrupted", ...how });
    return this.#parts.oneWay.endStored(interrupted);
  }

  #conclude(before: Attempt, conclusion: Conclusion, probe: Probe | null): void {
    const writer = new AttemptWriter(before, this.#parts);
    const { assumes = [] } = conclusion;
    const grounds = {
      because: conclusion.because,
      observation: probe,
      proof: { facts: [conclusion.because], assumes, rules: RULES_VERSION },
    };
    const { matcher } = this.#parts;
    if (probe) matcher.learn(probe);
    switch (conclusion.verdict) {
      case "charged": {
        const { report, because } = conclusion;
        const proof = this.#proofOf(before, report, { because, assumes });
        const isTwice = this.#hadAnotherStored(before, report);
        writer.advance({
          input: "proved-charged",
          report,
          observation: probe,
          because: `charged: ${textOfProof(proof)}`,
          proof: { ...proof, rules: RULES_VERSION },
        });
        alarmBeyondGoods(writer, before);
        this.#parts.settled();
        if (isTwice) {
          const text = "the terminal had stored another sale of this order before";
          alarmTwice(before, text, this.#parts);
        }
        return;
      }
      case "not-charged":
        writer.advance({ input: "proved-not-charged", ...grounds });
        return;
      case "reversed": {
        const { report } = conclusion;
        writer.advance({ input: "proved-reversed", report, ...grounds });
        this.#parts.settled();
        return;
      }
      case "not-reversed":
        writer.advance({ input: "proved-not-reversed", ...grounds });
        return;
      default: {
        const { transactionId, request } = before;
        const isNews = !this.#wasUnsettled(transactionId);
        this.#note(transactionId, UNSETTLED, conclusion, probe);
        const text = `order ${request.orderId} stays unknown: ${conclusion.because}`;
        const { log } = this.#parts;
        if (isNews) log.error({ transactionId, alarm: PAYMENT_UNKNOWN }, text);
        else log.warn({ transactionId }, text);
      }
    }
  }

  /** A probe has shown another sale that can be the order's, and that was stored over. */
  #hadAnotherStored({ transactionId, baseline, request }: Attempt, it: TransactionReport): boolean {
    const { matcher, attempts } = this.#parts;
    return attempts.events(transactionId).some(({ kind, detail }) => {
      const { observation } = detail as { readonly observation?: Probe | null };
      if (kind !== PROBE || observation?.last.kind !== "transaction") return false;
      const { report } = observation.last;
      if (compareReports(report, it) !== "different") return false;
      if (baseline && compareStored(baseline.last, observation.last) !== "different") return false;
      const fitting = candidatesIn(matcher.whose(report, "probe", observation.identity));
      return fitting.some(({ attempt }) => attempt.request.orderId === request.orderId);
    });
  }

  /** The facts by which the record is that of the attempt; asked before anything is written. */
  #proofOf(
    { transactionId, baseline }: Attempt,
    report: TransactionReport,
    { because, assumes }: { readonly because: string; readonly assumes: readonly Assumption[] },
  ): Proof {
    const identity = baseline?.identity ?? anyTerminal;
    const answer = this.#parts.matcher.whose(report, "probe", identity);
    const isIts =
      answer.answer === "one" && answer.candidate.attempt.transactionId === transactionId;
    if (!isIts) return { facts: [because], assumes };
    return { ...answer.proof, assumes: [...new Set([...answer.proof.assumes, ...assumes])] };
  }

  #note(transactionId: string, kind: NoteKind, verdict: Verdict, probe: Probe | null): void {
    this.#parts.attempts.addEvent(transactionId, {
      atMs: this.#parts.clock.now(),
      kind,
      detail: { because: verdict.because, observation: probe },
    });
  }
}

/** Raises an alarm when the terminal kept more than came out: people must give money back. */
function alarmBeyondGoods(writer: AttemptWriter, before: Attempt): void {
  const { state } = writer.attempt;
  if ("goods" in before.state && before.state.goods?.decision === null) {
    const alarm = { alarm: "charged-without-delivery" };
    writer.log("error", alarm, "the terminal kept a sale of which nobody said that goods came out");
  }
  if (!isCharged(state) || state.goodsMinor === undefined) return;
  const { amountMinor: chargedMinor } = state.report;
  const detail = { alarm: "charged-beyond-goods", chargedMinor, goodsMinor: state.goodsMinor };
  writer.log("error", detail, "the terminal charged more than the goods that came out were worth");
}

/** The state of an attempt that recovery can ask about; undefined for any other. */
function inDoubtStateOf({ state }: Attempt): InDoubtState | ReversalInDoubtState | undefined {
  return isInDoubt(state) ? state : undefined;
}
