import type { UnmatchedRow } from "../attempts/findings.ts";
import type { Attempt, InDoubtState, ReversalInDoubtState } from "../attempts/payment.ts";
import type { AttemptRows } from "../journal/attempt-rows.ts";
import type { RecordRows } from "../journal/record-rows.ts";
import type { TerminalRows } from "../journal/terminal-rows.ts";
import type {
  LastTransaction,
  TerminalFacts,
  TerminalIdentity,
  TransactionReport,
} from "../terminal/terminal.ts";
import { candidatesIn, type WhyNotOne } from "./answer.ts";
import { compareReports, sameTerminal, tellMoments } from "./comparison.ts";
import { doubtOfAttempt } from "./doubt.ts";
import type { Doubt, Known, Look } from "./facts.ts";
import type { Matcher } from "./matcher.ts";

interface KnowledgeParts {
  readonly attempts: Pick<AttemptRows, "events" | "unfinished">;
  readonly records: Pick<RecordRows, "nextCommand">;
  readonly terminalLog: Pick<
    TerminalRows,
    "wasClosedSince" | "unmatchedSince" | "soldSinceUnmatched" | "closedSinceUnmatched"
  >;
  readonly terminal: Pick<TerminalFacts, "capabilities">;
  readonly matcher: Pick<Matcher, "whose" | "newSale" | "storesReversals" | "assumptions">;
}

/** The knowledge of the journal about a doubt, for facts.ts. Methods throw when it fails. */
export class Knowledge {
  readonly #parts: KnowledgeParts;

  constructor(parts: KnowledgeParts) {
    this.#parts = parts;
  }

  /** With a result that came after the end, and all that looks have shown. */
  doubt(attempt: Attempt, state: InDoubtState | ReversalInDoubtState, lostSinceMs: number): Doubt {
    const { paymentLimitMs: limitMs, printsCount = false } = this.#parts.terminal.capabilities;
    const told = doubtOfAttempt(attempt, state, { lostSinceMs, limitMs, printsCount });
    const doubt = { ...told, wasStored: this.#wasSeenStored(attempt, told) };
    const late = doubt.heard.good ? undefined : this.#reportedLate(attempt, doubt);
    return late ? { ...doubt, heard: { ...doubt.heard, good: late, refused: true } } : doubt;
  }

  /** `look`: null: only what was found since counts. */
  ofAttempt(attempt: Attempt, look: Look | null): Known {
    const { records, terminalLog, matcher } = this.#parts;
    const { transactionId, startedAtMs } = attempt;
    const next = records.nextCommand(transactionId);
    return {
      ...this.#whose(attempt, look),
      unmatchedIs: null,
      stoodBefore: false,
      next: next ? { ...next, ...this.#whose(attempt, { ...next, last: next.found }) } : null,
      soldSince: next !== undefined,
      closedSince: terminalLog.wasClosedSince(startedAtMs, transactionId),
      storesReversals: matcher.storesReversals(identityOf(attempt)),
      holds: matcher.assumptions,
    };
  }

  ofUnmatched({ id, report, identity, atMs }: UnmatchedRow, look: Look): Known {
    const { terminalLog, matcher } = this.#parts;
    const isStoredSince = matcher.newSale({ ...look, clockOffsetMs: null }) !== undefined;
    const soldSince = isStoredSince || id === null || terminalLog.soldSinceUnmatched(id);
    const closedSince = id === null || terminalLog.closedSinceUnmatched(id);
    const answer = matcher.whose(report, "late", identity, atMs);
    const unmatchedIs = answer.answer === "known" && answer.isCertain ? answer.orderId : null;
    const stood = candidatesIn(answer).map(({ attempt }) => attempt.baseline?.last);
    const stoodBefore = stood.length > 0 && stood.every((last) => isVeryRecord(last, look.last));
    const since = { soldSince, closedSince, stoodBefore };
    return { ...nothingFound, unmatchedIs, ...since, holds: matcher.assumptions };
  }

  /** A look at a terminal that had stored nothing before has shown a transaction since. */
  #wasSeenStored({ transactionId }: Attempt, { before }: Doubt): boolean {
    if (before.kind !== "none") return false;
    return this.#parts.attempts.events(transactionId).some(({ detail }) => {
      const { observation } = detail as { observation?: Look | null };
      return observation?.last.kind === "transaction";
    });
  }

  /**
   * A result that came after the end of the only attempt in doubt at its terminal: it was refused,
   * and it is that attempt's all the same.
   */
  #reportedLate(attempt: Attempt, { identity }: Doubt): TransactionReport | undefined {
    const { attempts, terminalLog, matcher } = this.#parts;
    const { transactionId } = attempt;
    const others = attempts
      .unfinished()
      .filter((other) => sameTerminal(identityOf(other), identity));
    if (others.length !== 1) return undefined;
    const late = terminalLog.unmatchedSince(transactionId).filter((unmatched) => {
      const answer = matcher.whose(unmatched.report, "late", unmatched.identity, unmatched.atMs);
      return answer.answer === "one" && answer.candidate.attempt.transactionId === transactionId;
    });
    return late.length === 1 ? late[0]?.report : undefined;
  }

  /** Whose the found transaction is, as far as the attempt is concerned. */
  #whose(
    { request, transactionId }: Attempt,
    look: Pick<Look, "identity" | "last"> | null,
  ): Pick<Known, "foundIs" | "rival" | "isCandidate"> {
    if (look?.last.kind !== "transaction") return ofItsOwn;
    const answer = this.#parts.matcher.whose(look.last.report, "probe", look.identity);
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
        const rival = other === undefined ? rivals[answer.why] : `order ${other}`;
        const isCandidate = orders.includes(request.orderId);
        return { foundIs: null, rival: rival ?? null, isCandidate };
      }
      case "none":
        return { ...ofItsOwn, isCandidate: false };
    }
  }
}

const ofItsOwn = { foundIs: null, rival: null, isCandidate: true };
/** Of an unmatched transaction, of which only its own order is looked for. */
export const nothingFound = {
  ...ofItsOwn,
  unmatchedIs: null,
  next: null,
  storesReversals: false,
  stoodBefore: false,
};

/** One record that both tell with its moment. */
function isVeryRecord(a: LastTransaction | undefined, b: LastTransaction): boolean {
  if (a?.kind !== "transaction" || b.kind !== "transaction") return false;
  return tellMoments(a.report, b.report) && compareReports(a.report, b.report) === "same";
}

/** Who else can have made a record that fits one order alone. */
const rivals: Partial<Record<WhyNotOne, string>> = {
  outsider: "somebody else who is paid at this terminal",
  "lost order": "an order that was lost with the journal",
  retold: "an order of before, told anew",
  "never seen": "a sale from before the payment",
};

/** The terminal that the doubtful command was sent to. */
export function identityOf({ state, baseline }: Attempt): TerminalIdentity {
  return "baseline" in state ? state.baseline.identity : (baseline?.identity ?? anyTerminal);
}

/** Empty members say nothing. */
export const anyTerminal: TerminalIdentity = {
  serialNumber: "",
  deviceId: "",
  terminalId: "",
  version: "",
};
