import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import type { AttemptStore } from "../attempts/attempt-store.ts";
import { AttemptWriter } from "../attempts/attempt-writer.ts";
import { PAYMENT_UNKNOWN } from "../attempts/event-table.ts";
import { storage } from "../attempts/failures.ts";
import { canHaveLeft } from "../attempts/never-sent.ts";
import { newestAttempts } from "../attempts/newest-attempts.ts";
import { type Attempt, isCharged, isNotCharged, isPaying } from "../attempts/payment.ts";
import { judgeReport } from "../attempts/payment-machine.ts";
import { isInDoubt } from "../attempts/phase-table.ts";
import { referenceOf } from "../attempts/reference-policy.ts";
import type { TerminalLog } from "../attempts/terminal-log.ts";
import type { Terminal, TerminalFacts, TransactionReport } from "../terminal/terminal.ts";
import type { Inquiries } from "./inquiries.ts";
import { tellDifference, tellMismatch } from "./payment-run.ts";
import {
  ATTEMPTS_LOOKED_AT,
  attemptOf,
  contradicted,
  isSameWord,
  namedBy,
  names,
} from "./whose-result.ts";

interface LateParts {
  readonly attempts: AttemptStore;
  readonly terminalLog: Pick<TerminalLog, "keepStray" | "endStray" | "strays">;
  readonly terminal: TerminalFacts & Pick<Terminal, "takeLateResults" | "endWritten">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly inquiries: Pick<Inquiries, "reconsider">;
  /** Called when an attempt has become charged, so that it is handed over. */
  readonly settled: (attempt: Attempt) => void;
}

/** An approval of an earlier attempt, kept while the order was tried again, is one of these. */
const STRAYS_LOOKED_AT = 1_000;

/** A terminal that misses our acknowledgement tells its result again within seconds. */
const REPEAT_MS = 30_000;
const COUNT_AGAIN_MS = 1_000;

/**
 * Results that a terminal which cannot be asked tells after the end of their payment
 * (docs/design.md 3.25). Each is on disk before the driver acknowledges it.
 */
export class LateResults {
  readonly #parts: LateParts;
  /** The newest attempt whose result a former process had stored. */
  #ended: { readonly transactionId: string; readonly atMs: number } | undefined;
  /** Until kept approvals are looked through again, after the journal had failed. */
  #uncounted: Timer | undefined;
  #isClosed = false;

  constructor(parts: LateParts) {
    this.#parts = parts;
  }

  /** Whether the result is on disk. Never throws for a journal that fails. */
  take(report: TransactionReport): boolean {
    const { log } = this.#parts;
    try {
      if (this.#isHeardBefore(report)) return true;
      const attempt = attemptOf(report, this.#parts);
      // Its payment has not written its end yet.
      if (attempt && isPaying(attempt.state)) return false;
      if (!attempt || !this.#belongs(attempt, report)) this.#withoutOrder(report);
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
    const writer = new AttemptWriter(attempt, this.#parts);
    const because = "the result was on disk, and its end was not";
    const input = { input: "told-late", report, judgement, wasStored: true, because } as const;
    const after = writer.advance(input);
    this.#ended = { transactionId: after.transactionId, atMs: this.#parts.clock.monotonicMs() };
    if (isCharged(after.state)) this.#parts.settled(after);
    this.wasInVain(after);
    return after;
  }

  /** At start: what a former process had kept, and did not live to make count. */
  begin(): void {
    const { attempts, terminalLog } = this.#parts;
    for (const { report, finding } of terminalLog.strays(STRAYS_LOOKED_AT)) {
      const named = finding === "held" && names(report) ? namedBy(report, attempts) : undefined;
      const latest = named && attempts.latest(named.request.orderId);
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

  /**
   * The attempt that speaks for an order behind this end: an approval of an earlier one counts when
   * it is in vain. Throws STORAGE_FAILED.
   */
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
      return latest !== undefined && !isNotCharged(latest.state);
    };
    const held = terminalLog.strays(STRAYS_LOOKED_AT).filter(({ finding }) => finding === "held");
    const because = "no later attempt of its order was charged";
    for (const { report, seenAtMs } of held.reverse()) {
      // Nothing of the archive changes, and what was never sent has no result.
      const ofIts = attempts
        .ofOrder(orderId)
        .find((one) => one.baseline && report.reference === referenceOf(one.transactionId));
      if (!ofIts || isSpokenFor()) continue;
      const words = [state, ofIts.state].map((of) => isNotCharged(of) && of.settled);
      const hasWord = words.some(Boolean) || seenAtMs !== null;
      if (hasWord && isNotCharged(ofIts.state)) this.#askPerson(ofIts, report);
      else if (!this.#belongs(ofIts, report)) continue;
      for (const { id, report: again } of held) {
        if (id === null || !isSameWord(report, again)) continue;
        terminalLog.endStray(id, clock.now(), "known", because);
      }
    }
  }

  /**
   * The result that a former process had stored and not acknowledged comes again, and nothing in it
   * names its attempt. With a payment since it could be that one's too.
   */
  #isHeardBefore(report: TransactionReport): boolean {
    const { attempts, clock, log } = this.#parts;
    const ended = this.#ended;
    if (!ended || clock.monotonicMs() - ended.atMs > REPEAT_MS) return false;
    if (names(report)) return false;
    const known = newestAttempts(attempts, ATTEMPTS_LOOKED_AT);
    const newest = known.find((attempt) => canHaveLeft(attempts, attempt));
    if (newest?.transactionId !== ended.transactionId || !isToldAgain(newest, report)) return false;
    log.warn({ transactionId: newest.transactionId }, "the terminal told a stored result again");
    return true;
  }

  /** false: nothing was made of it, and it is no order's. */
  #belongs(attempt: Attempt, told: TransactionReport): boolean {
    const { state, request } = attempt;
    // A result that names its attempt need not repeat what was asked.
    const report = {
      ...told,
      amountMinor: told.amountMinor ?? request.amountMinor,
      currencyNumeric: told.currencyNumeric ?? request.currency.numeric,
    };
    const order = { amountMinor: request.amountMinor, currencyNumeric: request.currency.numeric };
    const judgement = judgeReport(order, report);
    if (isInDoubt(state)) {
      if ("sale" in state) return false;
      this.#endDoubt(attempt, report, judgement);
      return true;
    }
    if (isCharged(state)) return this.#ofCharged(attempt, report, judgement);
    if (!isNotCharged(state)) return false;
    if (judgement === "not-good" || judgement === "no-result") return true;
    return judgement === "agrees"
      ? this.#charge(attempt, report)
      : this.#doubtAgain(attempt, report, judgement);
  }

  #endDoubt(
    attempt: Attempt,
    report: TransactionReport,
    judgement: ReturnType<typeof judgeReport>,
  ): void {
    const { inquiries, settled } = this.#parts;
    const writer = new AttemptWriter(attempt, this.#parts);
    const because = "the terminal told the result late";
    const after = writer.advance({ input: "told-late", report, judgement, because });
    this.wasInVain(after);
    if (judgement === "disagrees") tellMismatch(writer, report, "it cannot be refused");
    writer.log("warn", { judgement }, `${because}: ${after.state.phase}`);
    inquiries.reconsider();
    if (!isCharged(after.state)) return;
    tellDifference(writer, report);
    settled(after);
  }

  /** A repeat, because our acknowledgement was lost, or a contradiction. */
  #ofCharged(attempt: Attempt, report: TransactionReport, judgement: string): boolean {
    if (judgement === "agrees") return true;
    const writer = new AttemptWriter(attempt, this.#parts);
    writer.note("told-after-charge", { report, judgement });
    const words = "the terminal told another result of an order that it had told as charged";
    writer.log("error", { alarm: "report-mismatch" }, words);
    return true;
  }

  /** The order was told as not charged. false: it was tried again since. */
  #charge(attempt: Attempt, report: TransactionReport): boolean {
    if (this.#wasTriedAgain(attempt)) return false;
    const writer = new AttemptWriter(attempt, this.#parts);
    const because = "the terminal told it after it had ended the payment";
    const charged = writer.advance({ input: "found-charged", report, because });
    const words =
      "the terminal told a sale after the order had been answered as not charged; the order is " +
      "charged: see that the customer gets the goods, or give the money back";
    writer.log("error", { alarm: "charged-late" }, words);
    this.#parts.settled(charged);
    return true;
  }

  /** Whether the order was tried again since, and not in vain: that attempt speaks for it then. */
  #wasTriedAgain(attempt: Attempt): boolean {
    const latest = this.#parts.attempts.latest(attempt.request.orderId);
    if (!latest || isNotCharged(latest.state)) return false;
    const writer = new AttemptWriter(attempt, this.#parts);
    const words =
      "the terminal told a sale of an earlier attempt, and the order was tried again since: " +
      "look whether the customer was charged twice, and give one charge back";
    writer.log("error", { alarm: "order-charged-twice" }, words);
    return true;
  }

  /** An approval of something else than was asked. false: the order was tried again since. */
  #doubtAgain(attempt: Attempt, report: TransactionReport, judgement: "disagrees"): boolean {
    if (this.#wasTriedAgain(attempt)) return false;
    const writer = this.#doubt(attempt, report, judgement);
    tellMismatch(writer, report, "the order had been answered as not charged");
    return true;
  }

  #doubt(attempt: Attempt, report: TransactionReport, judgement: "disagrees"): AttemptWriter {
    const writer = new AttemptWriter(attempt, this.#parts);
    const because = "the terminal told a sale late, and not surely the one that was asked for";
    writer.advance({ input: "found-doubtful", report, judgement, because });
    this.#parts.inquiries.reconsider();
    return writer;
  }

  #doubtContradicted(report: TransactionReport): void {
    const attempt = names(report) ? undefined : contradicted(report, this.#parts.attempts);
    if (attempt && !this.#wasTriedAgain(attempt)) this.#askPerson(attempt, report);
  }

  /** Unknown until a person settles it, or an approval names it that none did before. */
  #askPerson(attempt: Attempt, report: TransactionReport): void {
    const { orderId } = attempt.request;
    const words =
      `order ${orderId} is unknown now: it had been answered as not charged, and the terminal ` +
      "tells a sale that is its own or another's: compare, and settle it";
    this.#doubt(attempt, report, "disagrees").log("error", { alarm: PAYMENT_UNKNOWN }, words);
  }

  #withoutOrder(report: TransactionReport): void {
    const { terminalLog, terminal, clock, log } = this.#parts;
    const { good, resultCode, amountMinor } = report;
    const told = { good, resultCode, amountMinor };
    const { identity } = terminal.state;
    if (good) this.#doubtContradicted(report);
    // A refusal too: told again it says nothing of a later order.
    const [newest] = terminalLog.strays(1);
    if (!good && newest && isSameWord(newest.report, report)) return;
    const id = terminalLog.keepStray({ atMs: clock.now(), report, identity, isUnmatched: false });
    if (!good) log.warn(told, "the terminal told a result that is no order's; it charged nobody");
    if (!good || id === undefined) return;
    terminalLog.endStray(id, clock.now(), "held", "the terminal told it, and no order fits");
    const words = "the terminal told a sale that no order asked for, or that several fit";
    log.error({ alarm: "sale-without-order", ...told }, words);
  }
}

/** A result without an order need not tell what was asked for. */
function isToldAgain({ state, request }: Attempt, report: TransactionReport): boolean {
  const { amountMinor, good, resultCode } = report;
  const isAmount = amountMinor === null || amountMinor === request.amountMinor;
  if (isCharged(state)) return good && isAmount && state.report.maskedPan === report.maskedPan;
  return isNotCharged(state) && !good && state.outcome.terminalCode === resultCode;
}
