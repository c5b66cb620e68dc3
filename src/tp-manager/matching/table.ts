import type { TransactionReport } from "../terminal/terminal.ts";
import type { Assumption } from "./assumptions.ts";
import { byIdTable } from "./by-id.ts";
import type {
  EvidenceRow,
  ReversalVerdict,
  SaleVerdict,
  UnmatchedVerdict,
  Waiting,
} from "./evidence-row.ts";
import {
  type EarlierProbe,
  EMPTY_PROBES_MS,
  type Facts,
  factsOf,
  type Inquiry,
  type Known,
  type Probe,
} from "./facts.ts";

/**
 * The decision table: what the facts of a probe prove about a payment in doubt, a reversal in doubt
 * and an unmatched transaction. Pure. docs/matching.md shows its rows.
 *
 * The verdict is that of the first row that holds and has an entry in the inquiry's column.
 * "unsure" proves neither a charge nor its absence, and suppresses no alarm.
 */

interface Grounds {
  readonly because: string;
  /** The assumptions on which the verdict rests; missing: it needs no assumption. */
  readonly assumes?: readonly Assumption[];
}

/** The verdict that ends the probing about a payment, a reversal or an unmatched transaction. */
export type Conclusion = Grounds &
  (
    | { readonly verdict: "charged"; readonly report: TransactionReport }
    /**
     * `takenBack`: the terminal has stored that it reversed what it had reported. `report`: the
     * failure that it answered to the very command.
     */
    | {
        readonly verdict: "not-charged";
        readonly takenBack?: true;
        readonly report?: TransactionReport;
      }
    /** A reversal in doubt was carried out. */
    | { readonly verdict: "reversed"; readonly report: TransactionReport }
    /** A reversal in doubt was not carried out, so the sale stands. */
    | { readonly verdict: "not-reversed" }
    /** A reversal in doubt was passed on, so the terminal can say no more about it. */
    | { readonly verdict: "requested" }
    /** These probes prove nothing, so the attempt stays in doubt. */
    | { readonly verdict: "unsettled" }
    | { readonly verdict: UnmatchedVerdict }
  );

export type Verdict =
  | Conclusion
  /** Not decided yet: the terminal is probed again after `waitMs`, until `leftMs` have passed. */
  | (Grounds & { readonly verdict: "probe-again" } & ReturnType<typeof pauseOf>)
  /** Another terminal answered, so the answer does not count (docs/rules/15-not-yet.md). */
  | (Grounds & { readonly verdict: "no-answer" });

export const evidenceTable: readonly EvidenceRow[] = [
  {
    holds: ({ unmatchedIs }) => unmatchedIs !== null,
    because: "the transaction is the sale of order {unmatchedIs}",
    unmatched: "known",
  },
  {
    holds: ({ sameTerminal }) => !sameTerminal,
    because: "another terminal is connected",
    sale: "no-answer",
    reversal: "no-answer",
    unmatched: "no-answer",
  },
  {
    // A stored sale, of this or another order, stands unless it was reversed.
    holds: ({ held, takesBack }) => held && takesBack !== "ours",
    because: "the terminal held a sale that can be that of this order and of another one",
    sale: "unsettled",
  },
  {
    holds: (facts) => facts.end === "only-bad" && !mayHoldOurs(facts),
    because: "the terminal ended the payment itself, and shows no sale that could be this one",
    sale: "not-charged",
    assumes: ["abort-final"],
  },
  {
    holds: ({ kind }) => kind === "not-told",
    because: "the terminal did not say what it has stored: {why}",
    sale: "unsettled",
    reversal: "unsettled",
    unmatched: "unclear",
  },
  {
    // Without a baseline, only a record that was reported to us is known to be new.
    holds: ({ noBaseline, asReported }) => noBaseline && asReported !== "same",
    because: "what the terminal had stored before the payment is not known",
    sale: "unsettled",
  },
  {
    holds: ({ asBefore, numberUnused }) => asBefore === "same" && numberUnused === true,
    because: "the next sale got the receipt number that this one would have used up",
    sale: "not-charged",
    assumes: ["counting-receipts", "fresh-storage"],
  },
  {
    holds: ({ asBefore, numberUnused }) => asBefore === "same" && numberUnused === false,
    because: "nothing new is stored, but the next sale shows that a receipt number was used up",
    sale: "unsettled",
  },
  {
    holds: ({ asBefore, approvalAcked }) => asBefore === "same" && approvalAcked,
    because: "the terminal has our ACK of a good result, but shows nothing new",
    sale: "unsettled",
    reversal: "unsettled",
  },
  {
    holds: ({ asBefore, end, confirmed }) => asBefore === "same" && end !== "unheard" && confirmed,
    because: "the terminal reported that the command failed, and twice showed nothing new",
    sale: "not-charged",
    reversal: "not-reversed",
    assumes: ["abort-final", "fresh-storage"],
  },
  {
    holds: ({ asBefore, end }) => asBefore === "same" && end !== "unheard",
    because:
      "the terminal reported that the command failed and shows nothing new; " +
      "it has to show this twice",
    sale: "confirm",
    reversal: "confirm",
  },
  {
    // The terminal may store the sale late, so the storage proves nothing until the time limit.
    holds: ({ asBefore, silenceLeftMs }) => asBefore === "same" && silenceLeftMs > 0,
    because: "nothing new is stored, but the time limit of the lost command is not over",
    sale: "silence",
    reversal: "silence",
  },
  {
    holds: ({ asBefore, ackMayHaveArrived }) => asBefore === "same" && ackMayHaveArrived,
    because:
      "the terminal shows nothing new, but may have got our ACK of a good result " +
      "in the moment in which the connector stopped",
    sale: "unsettled",
    reversal: "unsettled",
  },
  {
    // A terminal may store a sale but not show it, so an unclear report outweighs equal storage.
    holds: ({ asBefore, unclear }) => asBefore === "same" && unclear,
    because: "the terminal shows nothing new, but had reported a result that says nothing clear",
    sale: "unsettled",
  },
  {
    holds: ({ asBefore, storesReversals }) => asBefore === "same" && !storesReversals,
    because: "the terminal shows the sale, and never showed a reversal as its last transaction",
    reversal: "unsettled",
  },
  {
    holds: ({ asBefore }) => asBefore === "same",
    because:
      "the terminal is idle and its last transaction is still the one from before " +
      "this payment or reversal",
    sale: "not-charged",
    reversal: "not-reversed",
    assumes: ["fresh-storage"],
  },
  {
    holds: ({ kind, good, probedBefore }) => kind === "none" && good !== null && !probedBefore,
    because: "the terminal's storage is empty; it could still store what it had reported",
    sale: "confirm",
  },
  {
    holds: ({ kind }) => kind === "none",
    because: "the terminal's storage is empty, and may have been emptied since",
    sale: "unsettled",
    reversal: "unsettled",
  },
  {
    holds: ({ kind, probedBefore }) => kind === "none" && probedBefore,
    because: "the terminal's storage is empty, and may have been emptied since",
    unmatched: "unclear",
  },
  {
    holds: ({ kind }) => kind === "none",
    because: "the terminal's storage is empty; the terminal could still store the transaction",
    unmatched: "confirm",
  },
  {
    holds: ({ foundIs }) => foundIs !== null,
    because: "the terminal's last transaction is that of order {foundIs}",
    sale: "unsettled",
    reversal: "unsettled",
  },
  {
    holds: ({ takesBack, hasSecond }) => takesBack === "ours" && !hasSecond,
    because: "the terminal has reversed what it had reported",
    sale: "not-charged-reversed",
    unmatched: "taken-back",
    assumes: ["storage-real"],
  },
  {
    holds: ({ takesBack, ackArrived }) => takesBack === "the-second" && ackArrived,
    because: "the terminal has reversed the second sale, and has our ACK of the first",
    sale: "charged-as-reported",
    assumes: ["own-report", "storage-real"],
  },
  {
    holds: (facts) => facts.takesBack === "ours" && (facts.confirmed || isProven(facts)),
    because: "the terminal has stored the reversal",
    reversal: "reversed",
    assumes: ["storage-real"],
  },
  {
    holds: ({ takesBack }) => takesBack === "ours",
    because: "the reversal is stored; it could still be taken back",
    reversal: "confirm",
  },
  {
    holds: () => true,
    because: "the terminal's last transaction is not the reversal of this sale",
    reversal: "unsettled",
  },
  {
    holds: ({ takesBack }) => takesBack !== null,
    because: "the terminal's last transaction is a reversal",
    sale: "unsettled",
  },
  {
    // What became of the report that we accepted is unknown, whatever the terminal has stored.
    holds: ({ asReported, refused }) => asReported === "different" && !refused,
    because: "the terminal's last transaction is another one than it had reported",
    sale: "unsettled",
  },
  {
    // The terminal got the ACK of its report of a part of the goods, but the whole sale is stored.
    holds: (facts) => facts.approvalAcked && isMoreThanReported(facts),
    because:
      "the terminal shows a larger amount of the sale than it had reported and got our ACK for",
    sale: "unsettled",
  },
  {
    holds: ({ asBefore, noBaseline }) => asBefore === "unsure" && !noBaseline,
    because: "the terminal's last transaction may be the one from before the payment",
    sale: "unsettled",
  },
  {
    holds: ({ mayBeLater }) => mayBeLater,
    because: "the terminal's last transaction can be that of a later payment",
    sale: "unsettled",
  },
  {
    holds: ({ found }) => found?.good === false,
    because: "the terminal's last transaction is not a good one",
    sale: "unsettled",
  },
  {
    holds: ({ unfit }) => unfit !== null,
    because: "what is stored is not what was asked for: {unfit}",
    sale: "unsettled",
  },
  {
    holds: ({ timely }) => timely !== true,
    because: "the terminal's last transaction is not from the time of the payment",
    sale: "unsettled",
  },
  {
    holds: ({ otherCandidate }) => otherCandidate !== null,
    because: "the terminal's last transaction can be that of {otherCandidate} as well",
    sale: "unsettled",
  },
  {
    holds: ({ isCandidate }) => !isCandidate,
    because: "the terminal's last transaction is not that of this order",
    sale: "unsettled",
  },
  {
    holds: (facts) => facts.confirmed || isProven(facts),
    because: "the terminal has stored a new transaction that matches the payment",
    sale: "charged",
    assumes: ["storage-real"],
  },
  {
    holds: () => true,
    because: "a matching transaction is stored; an automatic reversal could still be running",
    sale: "confirm",
  },
  {
    holds: ({ asReported, confirmed }) => asReported === "same" && confirmed,
    because: "the terminal has stored the transaction as a sale",
    unmatched: "held",
    assumes: ["storage-real"],
  },
  {
    holds: ({ asReported }) => asReported === "same",
    because: "an automatic reversal could still be running",
    unmatched: "confirm",
  },
  {
    holds: ({ asReported }) => asReported === "unsure",
    because: "the terminal's last transaction may be this one or another one",
    unmatched: "unclear",
  },
  {
    holds: ({ closedSince }) => closedSince,
    because: "an end of day may have closed the transaction",
    unmatched: "unclear",
  },
  {
    holds: ({ soldSince, takesBack, stoodBefore }) =>
      soldSince || (takesBack !== null && !stoodBefore),
    because: "another transaction was stored since, so this one need not be the last one",
    unmatched: "unclear",
  },
  {
    holds: ({ probedBefore }) => probedBefore,
    because: "the terminal has not stored the transaction",
    unmatched: "gone",
    assumes: ["fresh-storage"],
  },
  {
    holds: () => true,
    because: "the terminal has not stored the transaction, and could still do so",
    unmatched: "confirm",
  },
];

/**
 * Judges one probe or, if the probe proves nothing, what the next command found stored. A terminal
 * that is asked by id shows no storage, so what it answered is not judged by a later command.
 */
export function judge(
  inquiry: Inquiry,
  probe: Probe,
  known: Known,
  earlier: EarlierProbe | null,
  confirmAfterMs: number,
): Verdict {
  const verdict = decide(inquiry, factsOf(inquiry, probe, known, earlier, confirmAfterMs));
  if (verdict.verdict !== "unsettled" || probe.recalled) return verdict;
  return judgeByNext(inquiry, known) ?? verdict;
}

/**
 * Returns the verdict by what the next command found stored, which is as good as a probe if the
 * terminal finished that command. undefined: it proves nothing.
 */
export function judgeByNext(inquiry: Inquiry, known: Known): Conclusion | undefined {
  const { next } = known;
  if (!next?.served || inquiry.about === "unmatched") return undefined;
  // Without "abort-final", a command may go on after the terminal reported its failure.
  if (!known.holds.has("abort-final")) return undefined;
  const probe = {
    identity: next.identity,
    last: next.found,
    atMs: inquiry.lostSinceMs + inquiry.limitMs,
  };
  const { foundIs, otherCandidate, isCandidate } = next;
  const found = { ...known, foundIs, otherCandidate, isCandidate };
  const verdict = decide(
    inquiry,
    factsOf(inquiry, probe, found, { ...probe, sinceMs: probe.atMs }, 0),
  );
  const isProof =
    verdict.verdict !== "probe-again" &&
    verdict.verdict !== "no-answer" &&
    verdict.verdict !== "unsettled";
  return isProof
    ? { ...verdict, because: `as the next command found it: ${verdict.because}` }
    : undefined;
}

function decide({ about }: Inquiry, facts: Facts): Verdict {
  for (const row of facts.recalled === null ? evidenceTable : byIdTable) {
    const verdict = row[about];
    if (verdict === undefined || !row.holds(facts)) continue;
    const because = row.because.replaceAll(/\{(\w+)\}/g, (_, name) =>
      String(facts[name as keyof Facts]),
    );
    const { assumes = [] } = row;
    const isProof = assumes.every((each) => facts.holds.has(each));
    if (!isProof) return unproven(about, `${because}, which alone proves nothing`);
    return { ...verdictOf(verdict, because, facts), assumes };
  }
  throw new RangeError("the last row of each column always holds");
}

const unproven = (about: Inquiry["about"], because: string): Verdict => ({
  verdict: about === "unmatched" ? "unclear" : "unsettled",
  because,
});

function verdictOf(
  verdict: SaleVerdict | ReversalVerdict | UnmatchedVerdict | Waiting,
  because: string,
  facts: Facts,
): Verdict {
  const { found, good } = facts;
  switch (verdict) {
    case "confirm":
      return { verdict: "probe-again", ...pauseOf(facts, facts.pauseLeftMs), because };
    case "silence":
      return { verdict: "probe-again", ...pauseOf(facts, facts.silenceLeftMs), because };
    case "charged":
    case "reversed":
      return found ? { verdict, report: found, because } : { verdict: "unsettled", because };
    case "not-charged":
      return { verdict, because, ...(facts.recalled && found ? { report: found } : {}) };
    case "not-charged-reversed":
      return { verdict: "not-charged", takenBack: true, because };
    case "charged-as-reported":
      return good
        ? { verdict: "charged", report: good, because }
        : { verdict: "unsettled", because };
    default:
      return { verdict, because };
  }
}

/** Returns the pause (ms) before the next probe; what may appear soon is probed often. */
function pauseOf({ kind, asBefore, recalled }: Facts, leftMs: number) {
  const isEmpty = kind === "none" && asBefore === "same";
  const isOften = isEmpty || recalled !== null;
  return { leftMs, waitMs: isOften ? Math.min(leftMs, EMPTY_PROBES_MS) : leftMs };
}

/** Whether the terminal has stored, or may have stored, a sale that could be the requested one. */
function mayHoldOurs(facts: Facts): boolean {
  const { found, asBefore, takesBack, foundIs, mayBeLater, unfit, timely, isCandidate } = facts;
  if (!found?.good || asBefore === "same" || takesBack !== null || !isCandidate) return false;
  return foundIs === null && !mayBeLater && unfit === null && timely !== false;
}

function isMoreThanReported({ asReported, found, good }: Facts): boolean {
  if (asReported === "different" || found?.amountMinor == null || !good) return false;
  return good.amountMinor !== null && found.amountMinor > good.amountMinor;
}

/** Whether the terminal has stored what it reported and got our ACK, and reported no failure. */
function isProven({ ackArrived, asReported, end }: Facts): boolean {
  return ackArrived && asReported === "same" && end === "unheard";
}
