import type { UnmatchedRow } from "../attempts/findings.ts";
import { lostSince } from "../attempts/next-command.ts";
import { type Attempt, isCharged, isReversed, saleOf } from "../attempts/payment.ts";
import type {
  Baseline,
  LastTransaction,
  TerminalFacts,
  TerminalIdentity,
  TerminalState,
  TransactionReport,
} from "../terminal/terminal.ts";
import { type Answer, candidatesIn, concernsNotCharged, type Source } from "./answer.ts";
import {
  type Assumptions,
  type Learned,
  type TakenForGranted,
  takenForGranted,
} from "./assumptions.ts";
import { compareReports, compareStored, haveMoments, sameTerminal } from "./comparison.ts";
import { compareKnown, type JournalView, knownAs, match } from "./match.ts";

interface MatcherParts extends JournalView {
  readonly terminal: Pick<TerminalFacts, "capabilities">;
  readonly clock: { now(): number };
  readonly assumptions: Assumptions;
  readonly learned: (identity: TerminalIdentity) => Learned;
}

/** {@link match} for the terminal of this installation. Methods throw when the journal fails. */
export class Matcher {
  readonly #parts: MatcherParts;

  constructor(parts: MatcherParts) {
    this.#parts = parts;
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
    return match({ record, source, atMs, identity, limitMs }, this.#parts, assumptions);
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
    const atMs = this.#parts.clock.now();
    const found = { record, source: "payment", identity, atMs, limitMs: 0 } as const;
    const known = knownAs(found, this.#parts, transactionId);
    if (known?.answer === "known") return known.proof.facts.join("; ");
    return known && `it is that of order ${known.candidate.attempt.request.orderId}`;
  }

  /**
   * Whose a good sale is that the terminal has stored since it was last read; undefined: it has
   * stored none, or a known one, or nobody knows.
   */
  newSale(now: Baseline): Answer | undefined {
    if (now.last.kind !== "transaction") return undefined;
    const { report } = now.last;
    if (!report.good || report.originalTrace !== null) return undefined;
    const isNew = this.#isNew(now);
    if (isNew === "agrees") return undefined;
    const answer = this.whose(report, "baseline", now.identity);
    if (answer.answer === "known") return undefined;
    // Of a terminal that was never read, only a record with a candidate, or nearly one, counts.
    if (isNew !== "new" && !saysSomething(answer)) return undefined;
    return answer.answer === "none" && this.#wasStoredBefore(now, report) ? undefined : answer;
  }

  /** Whether the terminal shows a transaction again that it had reported when nothing ran. */
  isAgain({ report, atMs }: UnmatchedRow, now: Pick<UnmatchedRow, "report" | "identity">): boolean {
    const known = { record: report, atMs, transactionId: null };
    return compareKnown(known, { ...now, record: now.report }, this.#parts) === "same";
  }

  /** Before a command of ours it was stored already. */
  #wasStoredBefore({ identity }: Baseline, record: TransactionReport): boolean {
    const known = this.#parts.records.sharingNumber(record, 0);
    return known.some(
      (one) =>
        one.source === "baseline" &&
        compareKnown(one, { record, identity }, this.#parts) === "same",
    );
  }

  /** Whether an attempt that was begun after any loss of the journal can have made the record. */
  explains(record: TransactionReport, identity: TerminalIdentity): boolean {
    const answer = this.whose(record, "baseline", identity);
    const { records } = this.#parts;
    return (
      answer.answer === "known" ||
      candidatesIn(answer).some(
        ({ attempt }) => records.nextCommand(attempt.transactionId) !== lostSince,
      )
    );
  }

  /**
   * Whether the terminal has stored something since it was last read. "agrees": it shows what it
   * showed then, moment and all. "unsure": nobody knows.
   */
  #isNew({ last, identity }: Baseline): "new" | "agrees" | "unsure" {
    for (const { baseline, state } of this.#parts.records.sent()) {
      if (!baseline || !sameTerminal(baseline.identity, identity)) continue;
      const sale = saleOf(state);
      // Of a charge that an operator settled the terminal's record is not known here.
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

  /** Keeps what a probe shows of the terminal's habits. */
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

  /** For people. Nobody knows which terminal it is while the link to one with a name is down. */
  takenForGranted({ link, identity }: Pick<TerminalState, "link" | "identity">): TakenForGranted {
    const { assumptions, learned, terminal } = this.#parts;
    const { capabilities } = terminal;
    const isKnown = link === "connected" || capabilities.noIdentity === true;
    return takenForGranted(capabilities, assumptions, isKnown ? learned(identity) : undefined);
  }
}

function saysSomething(answer: Answer): boolean {
  if (answer.answer === "none") return concernsNotCharged(answer);
  if (answer.answer === "many" && answer.why === "untimed") return false;
  // A charge whose result had no names may have stored it: nothing depends on that.
  return candidatesIn(answer).some(({ attempt }) => !isCharged(attempt.state));
}
