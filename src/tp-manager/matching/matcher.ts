import type { UnmatchedRow } from "../attempts/findings.ts";
import { lostSince } from "../attempts/next-command.ts";
import { type Attempt, isCharged, isReversed, saleOf } from "../attempts/payment.ts";
import type { AttemptRows } from "../journal/attempt-rows.ts";
import type { RecordRows } from "../journal/record-rows.ts";
import type { TerminalRows } from "../journal/terminal-rows.ts";
import type {
  Baseline,
  LastTransaction,
  TerminalFacts,
  TerminalIdentity,
  TerminalState,
  TransactionReport,
} from "../terminal/terminal.ts";
import { type Answer, candidatesIn, type Source } from "./answer.ts";
import type { Assumptions } from "./assumptions.ts";
import { compareReports, compareStored, sameTerminal, tellMoments } from "./comparison.ts";
import { concernsTold } from "./effects.ts";
import type { JournalView } from "./journal-view.ts";
import type { Learned } from "./learned.ts";
import { compareKnown, knownAs, match } from "./match.ts";
import { type TakenForGranted, takenForGranted } from "./taken-for-granted.ts";

interface MatcherParts {
  readonly attempts: Pick<AttemptRows, "events" | "read" | "orderOf" | "unfinished">;
  readonly records: Omit<RecordRows, "sharingTrace">;
  readonly terminalLog: Pick<TerminalRows, "wasClosedSince">;
  readonly terminal: Pick<TerminalFacts, "capabilities">;
  readonly clock: { now(): number };
  readonly assumptions: Assumptions;
  readonly learned: (identity: TerminalIdentity) => Learned;
}

/** {@link match} for the terminal of this installation. Methods throw when the journal fails. */
export class Matcher {
  readonly #parts: MatcherParts;
  readonly #view: JournalView;

  constructor(parts: MatcherParts) {
    this.#parts = parts;
    const { attempts, records, terminalLog } = parts;
    this.#view = {
      sharingName: (record, sinceMs) => records.sharingName(record, sinceMs),
      sharingNumber: (record, sinceMs) => records.sharingNumber(record, sinceMs),
      closedSince: (atMs) => records.closedSince(atMs),
      sent: () => records.sent(),
      events: (transactionId) => attempts.events(transactionId),
      read: (transactionId) => attempts.read(transactionId),
      orderOf: (transactionId) => attempts.orderOf(transactionId),
      nextCommand: (transactionId) => records.nextCommand(transactionId),
      unfinished: () => attempts.unfinished(),
      wasClosedAfter: ({ startedAtMs, transactionId }) =>
        terminalLog.wasClosedSince(startedAtMs, transactionId),
    };
  }

  get assumptions(): Assumptions {
    return this.#parts.assumptions;
  }

  get isShared(): boolean {
    return !this.#parts.assumptions.has("sole-user");
  }

  /** Whose transaction a record is. `atMs`: when it arrived; left out: now. */
  whose(
    record: TransactionReport,
    source: Source,
    identity: TerminalIdentity,
    atMs = this.#parts.clock.now(),
  ): Answer {
    const { assumptions, terminal } = this.#parts;
    const { paymentLimitMs: limitMs } = terminal.capabilities;
    return match({ record, source, atMs, identity, limitMs }, this.#view, assumptions);
  }

  /**
   * The order, or the fact, that a report within the payment of `running` is known to be about; a
   * report that nothing is known of is the payment's own (own-report).
   */
  knownInPayment(record: TransactionReport, running: Attempt): string | undefined {
    const { baseline, transactionId } = running;
    const last = baseline?.last;
    if (last?.kind === "transaction" && compareReports(last.report, record) === "same") {
      return "the terminal's last transaction from before the payment";
    }
    const identity = baseline?.identity;
    if (!identity) return undefined;
    const found = { record, source: "payment", identity, atMs: this.#now, limitMs: 0 } as const;
    const known = knownAs(found, this.#view, transactionId);
    return known && proofWords(known);
  }

  /**
   * Whose a good sale is that the terminal has stored since it was last seen; undefined: it has
   * stored none, or one that is known, or nobody can tell.
   */
  newSale(now: Baseline): Answer | undefined {
    if (now.last.kind !== "transaction") return undefined;
    const { report } = now.last;
    if (!report.good || report.originalTrace !== null) return undefined;
    const isNew = this.#isNew(now);
    if (isNew === "agrees") return undefined;
    const answer = this.whose(report, "baseline", now.identity);
    if (answer.answer === "known") return undefined;
    // Of a terminal that was never seen only a record that fits an order, or nearly, says anything.
    if (isNew !== "new" && !saysSomething(answer)) return undefined;
    return answer.answer === "none" && this.#wasStoredBefore(now, report) ? undefined : answer;
  }

  /** Whether the terminal shows a transaction again that was told when nothing ran. */
  isAgain({ report, atMs }: UnmatchedRow, now: Pick<UnmatchedRow, "report" | "identity">): boolean {
    const told = { record: report, atMs, transactionId: null };
    return compareKnown(told, { ...now, record: now.report }, this.#view) === "same";
  }

  /** Before a command of ours it was stored already. */
  #wasStoredBefore({ identity }: Baseline, record: TransactionReport): boolean {
    const told = this.#parts.records.sharingNumber(record, 0);
    return told.some(
      (one) =>
        one.source === "baseline" && compareKnown(one, { record, identity }, this.#view) === "same",
    );
  }

  /** Whether an attempt of this journal, of after a loss, has made the record, or can have. */
  explains(record: TransactionReport, identity: TerminalIdentity): boolean {
    const answer = this.whose(record, "baseline", identity);
    if (answer.answer === "known" || answer.answer === "none") return answer.answer === "known";
    const candidates = answer.answer === "one" ? [answer.candidate] : answer.candidates;
    const { records } = this.#parts;
    return candidates.some(
      ({ attempt }) => records.nextCommand(attempt.transactionId) !== lostSince,
    );
  }

  /**
   * Whether the terminal has stored something since the last time that it was seen. "agrees": it
   * shows what was seen then, moment and all. "unsure": nobody can tell.
   */
  #isNew({ last, identity }: Baseline): "new" | "agrees" | "unsure" {
    for (const { baseline, state } of this.#parts.records.sent()) {
      if (!baseline || !sameTerminal(baseline.identity, identity)) continue;
      const sale = saleOf(state);
      // Of a charge that an operator settled the terminal's record is not known here.
      if (sale?.by === "operator") return "new";
      const seen: LastTransaction = sale
        ? { kind: "transaction", report: isReversed(state) ? state.report : sale.report }
        : baseline.last;
      if (seen.kind === "not-told") continue;
      const is = compareStored(seen, last);
      if (is === "different") return "new";
      const isSame = is === "same" && seen.kind === "transaction" && last.kind === "transaction";
      return isSame && tellMoments(seen.report, last.report) ? "agrees" : "unsure";
    }
    return "unsure";
  }

  get #now(): number {
    return this.#parts.clock.now();
  }

  /** Keeps what a look shows of the terminal's habits. */
  learn({ last, identity }: Pick<Baseline, "last" | "identity">): void {
    if (last.kind !== "transaction" || !last.report.good) return;
    const { report } = last;
    const learned = this.#parts.learned(identity);
    if (report.originalTrace !== null) {
      learned.saw("stores-reversals");
      return;
    }
    const newest = this.#parts.records.sent()[Symbol.iterator]().next().value;
    // The terminal shows a sale although the newest command has reversed it.
    const reversed = newest && isReversed(newest.state) ? newest.state.sale.report : undefined;
    if (reversed && compareReports(reversed, report) === "same") {
      learned.contradicted("stores-reversals");
    }
  }

  /** Whether this terminal shows a completed reversal as its last transaction. */
  storesReversals(identity: TerminalIdentity): boolean {
    return this.#parts.learned(identity).has("stores-reversals");
  }

  /** For people. Without a link nobody knows which terminal it is, where it tells who it is. */
  takenForGranted({ link, identity }: Pick<TerminalState, "link" | "identity">): TakenForGranted {
    const { assumptions, learned, terminal } = this.#parts;
    const { capabilities } = terminal;
    const isKnown = link === "connected" || capabilities.noIdentity === true;
    return takenForGranted(capabilities, assumptions, isKnown ? learned(identity) : undefined);
  }
}

function saysSomething(answer: Answer): boolean {
  if (answer.answer === "none") return concernsTold(answer);
  if (answer.answer === "many" && answer.why === "untimed") return false;
  // A charge whose result had no names may have stored it: nothing depends on that.
  return candidatesIn(answer).some(({ attempt }) => !isCharged(attempt.state));
}

function proofWords(answer: Extract<Answer, { answer: "known" | "one" }>): string {
  if (answer.answer === "known") return answer.proof.facts.join("; ");
  return `it is that of order ${answer.candidate.attempt.request.orderId}`;
}
