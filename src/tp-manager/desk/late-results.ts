import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Timer } from "../../shared/time.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { storage } from "../attempts/failures.ts";
import {
  type Attempt,
  isCharged,
  isNotCharged,
  isPaying,
  type Judgement,
} from "../attempts/payment.ts";
import { judgeReport } from "../attempts/payment-machine.ts";
import { chargedOf, isInDoubt } from "../attempts/phase-table.ts";
import { isReference, referenceOf } from "../attempts/reference-policy.ts";
import type { SettledUnmatched } from "../attempts/terminal-log.ts";
import { type Answer, proofInWords } from "../matching/answer.ts";
import { finalOf } from "../matching/assumptions.ts";
import { isSameWord } from "../matching/one-way.ts";
import type {
  Terminal,
  TerminalFacts,
  ToldResult,
  TransactionReport,
} from "../terminal/terminal.ts";
import { chargeLate, doubtLate, tellTwice } from "./corrections.ts";
import type { DeskTools } from "./desk-parts.ts";
import type { Inquiries } from "./inquiries.ts";
import type { OneWay } from "./one-way.ts";
import { tellDifference, tellMismatch } from "./payment-run.ts";
import { aboutWhom, alarmOf } from "./unmatched.ts";

interface LateParts extends DeskTools {
  readonly terminal: TerminalFacts & Pick<Terminal, "takeLateResults" | "endWritten">;
  readonly oneWay: Pick<OneWay, "late" | "named" | "learn">;
  readonly inquiries: Pick<Inquiries, "reconsider">;
}

const COUNT_AGAIN_MS = 1_000;

/** The consequence of an attempt's result that comes behind its end. */
type Follow =
  /** The machine takes it: charged, not charged, or still in doubt. */
  | "told-late"
  /** The result says nothing new. */
  | "nothing"
  /** Another word about a charge: a note and an alarm. */
  | "contradiction"
  /** Told as not charged, and charged all the same. */
  | "charged-late"
  /** Told as not charged, and something was approved. */
  | "doubted";

const followTable: Readonly<Record<"paid" | "denied", Readonly<Record<Judgement, Follow>>>> = {
  paid: {
    ...{ agrees: "nothing", disagrees: "contradiction" },
    ...{ "not-good": "contradiction", "no-result": "contradiction" },
  },
  denied: {
    ...{ agrees: "charged-late", disagrees: "doubted" },
    ...{ "not-good": "nothing", "no-result": "nothing" },
  },
};

/**
 * Results that a terminal which cannot be asked tells after the end of their payment: what follows
 * of them is written (docs/design.md 3.25). Each is on disk before the driver acknowledges it.
 */
export class LateResults {
  readonly #parts: LateParts;
  /** Until kept approvals are looked through again, after the journal had failed. */
  #uncounted: Timer | undefined;
  #isClosed = false;

  constructor(parts: LateParts) {
    this.#parts = parts;
  }

  /** Whether the result is on disk. Never throws for a journal that fails. */
  take(told: ToldResult): boolean {
    const { log, oneWay } = this.#parts;
    try {
      const { report, answer } = oneWay.late(told);
      if (answer.answer === "known") {
        const { orderId } = answer;
        log.warn({ orderId }, "the terminal told a stored result again");
        return true;
      }
      const attempt = answer.answer === "one" ? answer.candidate.attempt : undefined;
      // Its payment has not written its end yet.
      if (attempt && isPaying(attempt.state)) return false;
      const because = answer.answer === "one" ? proofInWords(answer.proof) : "";
      if (attempt && this.#belongs(attempt, report, because)) oneWay.learn(report);
      else this.#withoutOrder(report, answer);
      return true;
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      log.error({ err: error, alarm: "journal" }, "the journal did not take a late result");
      return false;
    }
  }

  /**
   * A result that is on disk although its end is not, because the process or the disk failed
   * between the two. Nothing takes it back at a terminal that cannot be refused, so it is the end.
   */
  endStored(attempt: Attempt): Attempt {
    const { state, baseline } = attempt;
    const { cannotRefuse } = this.#parts.terminal.capabilities;
    // A terminal with a name or a storage was another one, with another protocol.
    const { identity = {}, last } = baseline ?? {};
    const isOfIts = last?.kind === "not-told" && Object.values(identity).every((word) => !word);
    if (!cannotRefuse || !isOfIts || !isInDoubt(state) || "sale" in state) return attempt;
    const { report, judgement } = state.last ?? {};
    if (!report || (judgement !== "agrees" && judgement !== "not-good")) return attempt;
    const needed = report.good ? "own-report" : finalOf(report.reason);
    if (!this.#parts.matcher.assumptions.has(needed)) return attempt;
    const writer = new AttemptWriter(attempt, this.#parts);
    const because = "the result was on disk before the payment's end";
    const input = { input: "told-late", report, judgement, wasStored: true, because } as const;
    const after = writer.advance(input);
    if (isCharged(after.state)) this.#parts.settled();
    this.wasInVain(after);
    return after;
  }

  /** At start: what a former process had kept, and did not live to make count. */
  begin(): void {
    const { attempts, terminalLog, oneWay } = this.#parts;
    const kept = new Set(terminalLog.heldReferences().filter(isReference));
    for (const { request } of oneWay.named(kept)) {
      const latest = attempts.latest(request.orderId);
      if (latest) this.wasInVain(latest);
    }
  }

  /**
   * When an attempt has charged nothing, an approval of an earlier attempt of its order counts that
   * was kept while this one was open; where a person's word ended this one, or the approval was
   * marked as seen, the person decides anew. Throws when the journal fails, and tries again then.
   */
  wasInVain(attempt: Attempt): void {
    try {
      this.#countKept(attempt);
    } catch (error) {
      this.#countLater();
      throw error;
    }
  }

  /** The attempt that speaks for its order behind this end. Throws STORAGE_FAILED. */
  spokenFor(end: Attempt): Attempt {
    const { terminal, attempts } = this.#parts;
    if (!terminal.takeLateResults) return end;
    terminal.endWritten?.();
    if (!isNotCharged(end.state)) return end;
    return storage(() => {
      this.wasInVain(end);
      return attempts.latest(end.request.orderId) ?? end;
    }, "unknown");
  }

  /** Does what failed in {@link wasInVain}, then `next`. STORAGE_FAILED when it fails again. */
  caughtUp<T>(next: () => T): T {
    if (this.#uncounted) storage(() => this.begin(), "unknown");
    return next();
  }

  /** A kept approval may charge the order of this attempt: {@link wasInVain} has failed. */
  mayCount({ number }: Attempt): boolean {
    return this.#uncounted !== undefined && number > 1;
  }

  /** Nothing is tried again. */
  close(): void {
    this.#isClosed = true;
    this.#uncounted?.clear();
  }

  #countLater(): void {
    const { clock, log } = this.#parts;
    if (this.#isClosed) return;
    this.#uncounted ??= clock.startTimer("kept approvals", COUNT_AGAIN_MS, () => {
      this.#uncounted = undefined;
      try {
        this.begin();
      } catch (error) {
        if (error instanceof BrokenInvariant) throw error;
        log.error({ err: error, alarm: "journal" }, "the journal did not take a kept approval");
        this.#countLater();
      }
    });
  }

  #countKept({ state, number, request: { orderId } }: Attempt): void {
    if (!isNotCharged(state) || number < 2) return;
    const { attempts, terminalLog, clock } = this.#parts;
    const isSpokenFor = (): boolean => {
      const latest = attempts.latest(orderId);
      return latest !== undefined && chargedOf(latest) !== "no";
    };
    const because = "no later attempt of its order was charged";
    for (const { report, seenAtMs, ofIts, others } of this.#kept(orderId)) {
      if (isSpokenFor()) continue;
      const words = [state, ofIts.state].map((of) => isNotCharged(of) && of.settled);
      const hasWord = words.some(Boolean) || seenAtMs !== null;
      if (hasWord && isNotCharged(ofIts.state)) this.#askPerson(ofIts, report, because);
      else if (!this.#belongs(ofIts, report, because)) continue;
      for (const { id, report: again } of others) {
        if (id === null || !isSameWord(report, again)) continue;
        terminalLog.endUnmatched(id, clock.now(), "known", because);
      }
    }
  }

  /** Kept results that carry the reference of an attempt of the order, the oldest first. */
  #kept(orderId: string) {
    const { attempts, terminalLog } = this.#parts;
    // Nothing of the archive changes, and what was never sent has no result.
    const sent = attempts.ofOrder(orderId).filter(({ baseline }) => baseline !== null);
    return sent
      .flatMap((ofIts) => {
        const others: readonly SettledUnmatched[] = terminalLog.heldAs(
          referenceOf(ofIts.transactionId),
        );
        return others.map((kept) => ({ ...kept, ofIts, others }));
      })
      .sort((a, b) => (a.id ?? 0) - (b.id ?? 0));
  }

  /** false: nothing was made of it, and it is no order's. */
  #belongs(attempt: Attempt, told: TransactionReport, because: string): boolean {
    const { state, request } = attempt;
    // A result that names its attempt need not repeat what was asked.
    const report = {
      ...told,
      amountMinor: told.amountMinor ?? request.amountMinor,
      currencyNumeric: told.currencyNumeric ?? request.currency.numeric,
    };
    const order = { amountMinor: request.amountMinor, currencyNumeric: request.currency.numeric };
    const judgement = judgeReport(order, report);
    switch (followOf(state, judgement)) {
      case undefined:
        return false;
      case "told-late":
        this.#endDoubt(attempt, report, judgement, because);
        return true;
      case "nothing":
        return true;
      case "contradiction":
        this.#contradicted(attempt, report, judgement);
        return true;
      case "charged-late":
        if (this.#wasTriedAgain(attempt)) return false;
        chargeLate(attempt, { report, because }, "the terminal told a sale late", this.#parts);
        return true;
      case "doubted":
        if (this.#wasTriedAgain(attempt)) return false;
        this.#doubtAgain(attempt, report, because);
        return true;
    }
  }

  #endDoubt(
    attempt: Attempt,
    report: TransactionReport,
    judgement: Judgement,
    because: string,
  ): void {
    const { inquiries, settled } = this.#parts;
    const writer = new AttemptWriter(attempt, this.#parts);
    const after = writer.advance({ input: "told-late", report, judgement, because });
    this.wasInVain(after);
    if (judgement === "disagrees") tellMismatch(writer, report, "it cannot be refused");
    writer.log("warn", { judgement }, `the terminal told the result late: ${after.state.phase}`);
    inquiries.reconsider();
    if (!isCharged(after.state)) return;
    tellDifference(writer, report);
    settled();
  }

  #contradicted(attempt: Attempt, report: TransactionReport, judgement: Judgement): void {
    const writer = new AttemptWriter(attempt, this.#parts);
    writer.note("told-after-charge", { report, judgement });
    const words = "the terminal told another result of an order that it had told as charged";
    writer.log("error", { alarm: "report-mismatch" }, words);
  }

  /** Whether the order was tried again since, and not in vain: that attempt speaks for it then. */
  #wasTriedAgain(attempt: Attempt): boolean {
    const latest = this.#parts.attempts.latest(attempt.request.orderId);
    if (!latest || chargedOf(latest) === "no") return false;
    const words =
      "the terminal told a sale of an earlier attempt, and its order was tried again since";
    tellTwice(attempt, words, this.#parts);
    return true;
  }

  /** An approval of something else than was asked. */
  #doubtAgain(attempt: Attempt, report: TransactionReport, because: string): void {
    const writer = new AttemptWriter(attempt, this.#parts);
    writer.advance({ input: "found-doubtful", report, judgement: "disagrees", because });
    this.#parts.inquiries.reconsider();
    tellMismatch(writer, report, "the order had been answered as not charged");
  }

  /** Unknown until a person settles it, or an approval names it that none did before. */
  #askPerson(attempt: Attempt, report: TransactionReport, because: string): void {
    const found = { report, judgement: "disagrees", because } as const;
    doubtLate(attempt, found, "tells a sale that is its own or another's", this.#parts);
    this.#parts.inquiries.reconsider();
  }

  #withoutOrder(report: TransactionReport, answer: Answer): void {
    const { terminalLog, terminal, clock, log } = this.#parts;
    const { good, resultCode, amountMinor } = report;
    const told = { good, resultCode, amountMinor };
    const { identity } = terminal.state;
    const { candidates = [], because = "" } = answer.answer === "many" ? answer : {};
    for (const { attempt } of good ? candidates : []) {
      const isDenied = isNotCharged(attempt.state) && !this.#wasTriedAgain(attempt);
      if (isDenied) this.#askPerson(attempt, report, because);
    }
    // A refusal too: told again it says nothing of a later order.
    const [newest] = terminalLog.unmatched(1);
    if (!good && newest && isSameWord(newest.report, report)) return;
    const id = terminalLog.keepUnmatched({
      atMs: clock.now(),
      report,
      identity,
      isOfNoOrder: false,
    });
    if (!good) log.warn(told, "the terminal told a result that is no order's; it charged nobody");
    if (!good || id === undefined) return;
    terminalLog.endUnmatched(id, clock.now(), "held", "the terminal told it, and no order fits");
    const words = "the terminal told a sale that no order asked for, or that several fit";
    log.error({ ...alarmOf(report, answer, "held"), ...told }, words + aboutWhom(answer));
  }
}

/** undefined: no result of a sale is waited for in this state, nor was one told. */
function followOf(state: Attempt["state"], judgement: Judgement): Follow | undefined {
  if (isInDoubt(state)) return "sale" in state ? undefined : "told-late";
  if (isCharged(state)) return followTable.paid[judgement];
  return isNotCharged(state) ? followTable.denied[judgement] : undefined;
}
