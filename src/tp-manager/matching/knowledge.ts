import type { UnmatchedRow } from "../attempts/findings.ts";
import type { Attempt, InDoubtState, ReversalInDoubtState } from "../attempts/payment.ts";
import type {
  LastTransaction,
  TerminalFacts,
  TerminalIdentity,
  TransactionReport,
} from "../terminal/terminal.ts";
import { candidatesIn, type WhyNotOne } from "./answer.ts";
import { compareReports, haveMoments, sameTerminal } from "./comparison.ts";
import type { Inquiry, Known, Probe } from "./facts.ts";
import { inquiryOfAttempt } from "./inquiry.ts";
import type { JournalView } from "./match.ts";
import type { Matcher } from "./matcher.ts";

interface KnowledgeParts extends JournalView {
  readonly terminal: Pick<TerminalFacts, "capabilities">;
  readonly matcher: Matcher;
}

/** The journal's knowledge about an inquiry, for facts.ts. Methods throw when the journal fails. */
export class Knowledge {
  readonly #parts: KnowledgeParts;

  constructor(parts: KnowledgeParts) {
    this.#parts = parts;
  }

  /** The inquiry with a result that came after the end, and with what earlier probes have shown. */
  inquiry(
    attempt: Attempt,
    state: InDoubtState | ReversalInDoubtState,
    lostSinceMs: number,
  ): Inquiry {
    const { paymentLimitMs: limitMs, printsCount = false } = this.#parts.terminal.capabilities;
    const begun = inquiryOfAttempt(attempt, state, { lostSinceMs, limitMs, printsCount });
    const inquiry = { ...begun, wasStored: this.#wasProbedStored(attempt, begun) };
    const late = inquiry.heard.good ? undefined : this.#reportedLate(attempt, inquiry);
    return late ? { ...inquiry, heard: { ...inquiry.heard, good: late, refused: true } } : inquiry;
  }

  /** `probe`: null: only what was found since counts. */
  ofAttempt(attempt: Attempt, probe: Probe | null): Known {
    const { records, terminalLog, matcher } = this.#parts;
    const { transactionId, startedAtMs } = attempt;
    const next = records.nextCommand(transactionId);
    return {
      ...this.#whose(attempt, probe),
      unmatchedIs: null,
      stoodBefore: false,
      next: next ? { ...next, ...this.#whose(attempt, { ...next, last: next.found }) } : null,
      soldSince: next !== undefined,
      closedSince: terminalLog.wasClosedSince(startedAtMs, transactionId),
      storesReversals: matcher.storesReversals(identityOf(attempt)),
      holds: matcher.assumptions,
    };
  }

  ofUnmatched({ id, report, identity, atMs }: UnmatchedRow, probe: Probe): Known {
    const { terminalLog, matcher } = this.#parts;
    const isStoredSince = matcher.newSale({ ...probe, clockOffsetMs: null }) !== undefined;
    const soldSince = isStoredSince || id === null || terminalLog.soldSinceUnmatched(id);
    const closedSince = id === null || terminalLog.closedSinceUnmatched(id);
    const answer = matcher.whose(report, "late", identity, atMs);
    const unmatchedIs = answer.answer === "known" && answer.isCertain ? answer.orderId : null;
    const stood = candidatesIn(answer).map(({ attempt }) => attempt.baseline?.last);
    const stoodBefore = stood.length > 0 && stood.every((last) => isVeryRecord(last, probe.last));
    const since = { soldSince, closedSince, stoodBefore };
    return { ...nothingFound, unmatchedIs, ...since, holds: matcher.assumptions };
  }

  /** The storage was empty before, and a probe has shown a transaction since. */
  #wasProbedStored({ transactionId }: Attempt, { before }: Inquiry): boolean {
    if (before.kind !== "none") return false;
    return this.#parts.attempts.events(transactionId).some(({ detail }) => {
      const { observation } = detail as { observation?: Probe | null };
      return observation?.last.kind === "transaction";
    });
  }

  /**
   * A result that came after the end of the only attempt in doubt at its terminal. It was refused,
   * and is that attempt's all the same.
   */
  #reportedLate(attempt: Attempt, { identity }: Inquiry): TransactionReport | undefined {
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
    probe: Pick<Probe, "identity" | "last"> | null,
  ): Pick<Known, "foundIs" | "otherCandidate" | "isCandidate"> {
    if (probe?.last.kind !== "transaction") return ofItsOwn;
    const answer = this.#parts.matcher.whose(probe.last.report, "probe", probe.identity);
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
/** Of an unmatched transaction only its own order is looked up. */
export const nothingFound = {
  ...ofItsOwn,
  unmatchedIs: null,
  next: null,
  storesReversals: false,
  stoodBefore: false,
};

/** One record, reported with its moment both times. */
function isVeryRecord(a: LastTransaction | undefined, b: LastTransaction): boolean {
  if (a?.kind !== "transaction" || b.kind !== "transaction") return false;
  return haveMoments(a.report, b.report) && compareReports(a.report, b.report) === "same";
}

/** Who else can have made a record that one order alone is a candidate for. */
const otherCandidates: Partial<Record<WhyNotOne, string>> = {
  outsider: "another seller at this terminal",
  "lost order": "an order that was lost with the journal",
  retold: "an earlier order whose record came again",
  "never probed": "a sale from before the payment",
};

/** The terminal that the command in doubt was sent to. */
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
