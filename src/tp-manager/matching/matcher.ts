import {
  compareReports,
  compareStored,
  haveMoments,
  type Stored,
  sameTerminal,
} from "../attempts/comparison.ts";
import type { UnmatchedRow } from "../attempts/findings.ts";
import {
  type Attempt,
  type AttemptStep,
  type InDoubtState,
  isCharged,
  isReversed,
  REVERSAL_BEGINS,
  type ReversalInDoubtState,
  saleOf,
} from "../attempts/payment.ts";
import {
  type LastTransaction,
  noIdentity,
  type TerminalFacts,
  type TerminalIdentity,
  type TerminalState,
  type TransactionReport,
} from "../terminal/terminal.ts";
import { type Answer, candidatesIn, concernsNotCharged, type WhyNotOne } from "./answer.ts";
import { type Assumptions, type Learned, takenForGranted } from "./assumptions.ts";
import {
  type Attribution,
  type Inquiry,
  inquiryOfAttempt,
  type Known,
  lostSince,
  type Probe,
} from "./facts.ts";
import { compareKnown, type JournalView, knownAs, match } from "./match.ts";

interface MatcherParts {
  readonly journal: JournalView;
  readonly terminal: Pick<TerminalFacts, "capabilities">;
  readonly clock: { now(): number };
  readonly assumptions: Assumptions;
  readonly learned: (identity: TerminalIdentity) => Learned;
}

/**
 * Says for this installation to which attempt a record belongs ({@link match}), and what the
 * journal knows about an inquiry. Methods throw when the journal fails.
 */
export class Matcher {
  readonly assumptions: Assumptions;
  /** What the terminal with this identity has shown. */
  readonly learned: MatcherParts["learned"];
  readonly #parts: MatcherParts;

  constructor(parts: MatcherParts) {
    this.assumptions = parts.assumptions;
    this.learned = parts.learned;
    this.#parts = parts;
  }

  get isShared(): boolean {
    return !this.assumptions.has("sole-user");
  }

  /**
   * Returns the attempts that a record can belong to. `reportedAtMs`: when the terminal reported it
   * after its command had ended; without this time, the record was read now.
   */
  whose(record: TransactionReport, identity: TerminalIdentity, reportedAtMs?: number): Answer {
    const { assumptions, clock, terminal, journal } = this.#parts;
    const { paymentLimitMs: limitMs } = terminal.capabilities;
    const isLate = reportedAtMs !== undefined;
    const atMs = reportedAtMs ?? clock.now();
    return match({ record, isLate, atMs, identity, limitMs }, journal, assumptions);
  }

  whoseUnmatched({ report, identity, atMs }: UnmatchedRow): Answer {
    return this.whose(report, identity, atMs);
  }

  /**
   * Returns whose a report within the payment of `running` is, as a text for people. undefined:
   * nobody else's, so the report counts as the payment's own (own-report).
   */
  knownInPayment(record: TransactionReport, running: Attempt): string | undefined {
    const { baseline, transactionId } = running;
    const last = baseline?.last;
    if (last?.kind === "transaction" && compareReports(last.report, record) === "same") {
      return "the terminal's last transaction from before the payment";
    }
    const identity = baseline?.identity;
    if (!identity) return undefined;
    const atMs = this.#parts.clock.now();
    const found = { record, isLate: false, identity, atMs, limitMs: 0 };
    const known = knownAs(found, this.#parts.journal, transactionId);
    if (known?.answer === "known") return known.proof.facts.join("; ");
    return known && `it is that of order ${known.candidate.attempt.request.orderId}`;
  }

  /**
   * Returns the orders that can have made the sale which the terminal has stored since it was last
   * read; undefined when there is no such sale, the sale is known, or this cannot be determined.
   */
  newSale(now: Stored): Answer | undefined {
    if (now.last.kind !== "transaction") return undefined;
    const { report } = now.last;
    if (!report.good || report.originalTrace !== null) return undefined;
    const isNew = this.#isNew(now);
    if (isNew === "agrees") return undefined;
    const answer = this.whose(report, now.identity);
    if (answer.answer === "known") return undefined;
    // A record that can be old counts only if a candidate, or a near one, is not charged.
    if (isNew !== "new" && !saysSomething(answer)) return undefined;
    return answer.answer === "none" && this.#wasStoredBefore(now, report) ? undefined : answer;
  }

  /** Whether the terminal has stored or reported the same unmatched transaction a second time. */
  isAgain({ report, atMs }: UnmatchedRow, now: Pick<UnmatchedRow, "report" | "identity">): boolean {
    const known = { record: report, atMs, transactionId: null };
    return compareKnown(known, { ...now, record: now.report }, this.#parts.journal) === "same";
  }

  #wasStoredBefore({ identity }: Stored, record: TransactionReport): boolean {
    const { journal } = this.#parts;
    const known = journal.records.sharingNumber(record, 0);
    return known.some(
      (one) =>
        one.source === "baseline" && compareKnown(one, { record, identity }, journal) === "same",
    );
  }

  /** Whether the record is known, or has a candidate after the journal's last loss of data. */
  explains(record: TransactionReport, identity: TerminalIdentity): boolean {
    const answer = this.whose(record, identity);
    const { records } = this.#parts.journal;
    return (
      answer.answer === "known" ||
      candidatesIn(answer).some(
        ({ attempt }) => records.nextCommand(attempt.transactionId) !== lostSince,
      )
    );
  }

  /**
   * Whether the terminal has stored a transaction since it was last read. "agrees": its last
   * transaction is the same, with its time. "unsure": it cannot be determined.
   */
  #isNew({ last, identity }: Stored): "new" | "agrees" | "unsure" {
    for (const { baseline, state } of this.#parts.journal.records.sent()) {
      if (!baseline || !sameTerminal(baseline.identity, identity)) continue;
      const sale = saleOf(state);
      // A charge that an operator settled has no record here, so any record counts as new.
      if (sale?.by === "operator") return "new";
      const known: LastTransaction = sale
        ? { kind: "transaction", report: isReversed(state) ? state.report : sale.report }
        : baseline.last;
      if (known.kind === "not-told") continue;
      const is = compareStored(known, last);
      if (is === "different") return "new";
      const isSame = is === "same" && known.kind === "transaction" && last.kind === "transaction";
      return isSame && haveMoments(known.report, last.report) ? "agrees" : "unsure";
    }
    return "unsure";
  }

  /** Learns from a probe whether this terminal stores a reversal as its last transaction. */
  learn({ last, identity }: Stored): void {
    if (last.kind !== "transaction" || !last.report.good) return;
    const { report } = last;
    if (report.originalTrace !== null) {
      this.learned(identity).saw("stores-reversals");
      return;
    }
    const newest = this.#parts.journal.records.sent()[Symbol.iterator]().next().value;
    // The terminal shows the sale, although its reversal was the newest command.
    const reversed = newest && isReversed(newest.state) ? newest.state.sale.report : undefined;
    if (reversed && compareReports(reversed, report) === "same") {
      this.learned(identity).contradicted("stores-reversals");
    }
  }

  /** Returns, for people, the assumptions made and what the terminal has shown. */
  takenForGranted({ link, identity }: Pick<TerminalState, "link" | "identity">) {
    const { capabilities } = this.#parts.terminal;
    const isKnown = link === "connected" || capabilities.noIdentity === true;
    const learned = isKnown ? this.learned(identity) : undefined;
    return takenForGranted(capabilities, this.assumptions, learned);
  }

  /** Returns the inquiry about an attempt, with its late result and the answers of its probes. */
  inquiry(
    attempt: Attempt,
    state: InDoubtState | ReversalInDoubtState,
    lostSinceMs: number,
  ): Inquiry {
    const { paymentLimitMs: limitMs, printsCount = false } = this.#parts.terminal.capabilities;
    const begun = inquiryOfAttempt(attempt, state, { lostSinceMs, limitMs, printsCount });
    const heard = { ...begun.heard, ...this.#answeredBefore(attempt) };
    const inquiry = { ...begun, heard, wasStored: this.#wasProbedStored(attempt, begun) };
    const late = inquiry.heard.good ? undefined : this.#reportedLate(attempt, inquiry);
    return late ? { ...inquiry, heard: { ...inquiry.heard, good: late, refused: true } } : inquiry;
  }

  /** Returns what the journal knows about an attempt in doubt and about the answer to a probe. */
  ofAttempt(attempt: Attempt, probe: Probe | null): Known {
    const { records, terminalLog } = this.#parts.journal;
    const { transactionId, startedAtMs } = attempt;
    const next = records.nextCommand(transactionId);
    return {
      ...(probe?.recalled ? this.#whoseRecalled(attempt, probe) : this.#whoseFound(attempt, probe)),
      unmatchedIs: null,
      stoodBefore: false,
      next: next ? { ...next, ...this.#whoseFound(attempt, { ...next, last: next.found }) } : null,
      soldSince: next !== undefined,
      closedSince: terminalLog.wasClosedSince(startedAtMs, transactionId),
      storesReversals: this.learned(identityOf(attempt)).has("stores-reversals"),
      holds: this.assumptions,
    };
  }

  ofUnmatched(row: UnmatchedRow, probe: Probe): Known {
    const { terminalLog } = this.#parts.journal;
    const { id } = row;
    const isStoredSince = this.newSale(probe) !== undefined;
    const soldSince = isStoredSince || id === null || terminalLog.soldSinceUnmatched(id);
    const closedSince = id === null || terminalLog.closedSinceUnmatched(id);
    const answer = this.whoseUnmatched(row);
    const unmatchedIs = answer.answer === "known" && answer.isCertain ? answer.orderId : null;
    const stood = candidatesIn(answer).map(({ attempt }) => attempt.baseline?.last);
    const stoodBefore = stood.length > 0 && stood.every((last) => isVeryRecord(last, probe.last));
    const holds = this.assumptions;
    return { ...nothingFound, unmatchedIs, soldSince, closedSince, stoodBefore, holds };
  }

  #wasProbedStored({ transactionId }: Attempt, { before }: Inquiry): boolean {
    if (before.kind !== "none") return false;
    const events = this.#parts.journal.attempts.events(transactionId);
    return probesIn(events).some(({ last }) => last.kind === "transaction");
  }

  /** Returns what the terminal has answered by id about the attempt's newest command so far. */
  #answeredBefore({ transactionId }: Attempt) {
    if (!this.#parts.terminal.capabilities.recalls) return {};
    const events = this.#parts.journal.attempts.events(transactionId);
    const since = events.findLastIndex(({ kind }) => kind === REVERSAL_BEGINS);
    const answers = probesIn(events.slice(since + 1)).map(({ recalled }) => recalled);
    return {
      answeredBefore: answers.flatMap((one) => (one?.kind === "answered" ? [one.report] : [])),
      untoldBefore: answers.some((one) => one?.kind === "not-told"),
    };
  }

  /**
   * Returns a result that the terminal reported after the attempt had ended, if no other attempt at
   * this terminal is unfinished: we refused the result, but it still belongs to the attempt.
   */
  #reportedLate(attempt: Attempt, { identity }: Inquiry): TransactionReport | undefined {
    const { attempts, terminalLog } = this.#parts.journal;
    const { transactionId } = attempt;
    const others = attempts
      .unfinished()
      .filter((other) => sameTerminal(identityOf(other), identity));
    if (others.length !== 1) return undefined;
    const late = terminalLog.unmatchedSince(transactionId).filter((unmatched) => {
      const answer = this.whoseUnmatched(unmatched);
      return answer.answer === "one" && answer.candidate.attempt.transactionId === transactionId;
    });
    return late.length === 1 ? late[0]?.report : undefined;
  }

  /** A record that the terminal gave for the attempt's id may all the same be a known one. */
  #whoseRecalled(attempt: Attempt, { recalled }: Probe): Attribution {
    if (recalled?.kind !== "answered") return ofItsOwn;
    const otherCandidate = this.knownInPayment(recalled.report, attempt) ?? null;
    return { ...ofItsOwn, otherCandidate };
  }

  #whoseFound({ request, transactionId }: Attempt, probe: Stored | null): Attribution {
    if (probe?.last.kind !== "transaction") return ofItsOwn;
    const answer = this.whose(probe.last.report, probe.identity);
    switch (answer.answer) {
      case "known": {
        const isOwn = answer.transactionId === transactionId;
        return { ...ofItsOwn, foundIs: isOwn ? null : answer.orderId };
      }
      case "one": {
        const { orderId } = answer.candidate.attempt.request;
        return { ...ofItsOwn, foundIs: orderId === request.orderId ? null : orderId };
      }
      case "many": {
        const orders = answer.candidates.map((one) => one.attempt.request.orderId);
        const other = orders.find((orderId) => orderId !== request.orderId);
        const otherCandidate = other === undefined ? otherCandidates[answer.why] : `order ${other}`;
        const isCandidate = orders.includes(request.orderId);
        return { foundIs: null, otherCandidate: otherCandidate ?? null, isCandidate };
      }
      case "none":
        return { ...ofItsOwn, isCandidate: false };
    }
  }
}

const ofItsOwn = { foundIs: null, otherCandidate: null, isCandidate: true };
export const nothingFound = {
  ...ofItsOwn,
  unmatchedIs: null,
  next: null,
  storesReversals: false,
  stoodBefore: false,
};

/** Returns the probes that events hold, in their order. */
export function probesIn(events: readonly AttemptStep[]): Probe[] {
  return events.flatMap(({ detail }) => {
    const { observation } = detail as { readonly observation?: Probe | null };
    return observation ? [observation] : [];
  });
}

function isVeryRecord(a: LastTransaction | undefined, b: LastTransaction): boolean {
  if (a?.kind !== "transaction" || b.kind !== "transaction") return false;
  return haveMoments(a.report, b.report) && compareReports(a.report, b.report) === "same";
}

/** Who else can have made a record, by the reason why it is not certain. */
const otherCandidates: Partial<Record<WhyNotOne, string>> = {
  outsider: "another seller at this terminal",
  "lost order": "an order that was lost with the journal",
  retold: "an earlier order whose record came again",
  "never probed": "a sale from before the payment",
};

/** Returns the terminal that the command in doubt was sent to. */
export function identityOf({ state, baseline }: Attempt): TerminalIdentity {
  return "baseline" in state ? state.baseline.identity : (baseline?.identity ?? noIdentity);
}

function saysSomething(answer: Answer): boolean {
  if (answer.answer === "none") return concernsNotCharged(answer);
  if (answer.answer === "many" && answer.why === "untimed") return false;
  // The record says nothing new about an order whose charge is known already.
  return candidatesIn(answer).some(({ attempt }) => !isCharged(attempt.state));
}
