import { type Attempt, isNotCharged, saleOf } from "../attempts/payment.ts";
import { chargedOf } from "../attempts/phase-table.ts";
import type { Assumption } from "./assumptions.ts";

/**
 * Where a record came from: "payment": while our command runs; "late": after our command, or from a
 * one-way terminal; "probe": recovery read the storage; "baseline": read before the next command.
 */
export type Source = "payment" | "late" | "probe" | "baseline";

/** The facts and the assumptions that a verdict rests on. Kept with it, never computed again. */
export interface Proof {
  /** For people. */
  readonly facts: readonly string[];
  readonly assumes: readonly Assumption[];
}

/** The version of the rules that every new verdict is written with. */
export const RULES_VERSION = 1;

/** An attempt that can have produced a record: by its sale, or by the reversal of its sale. */
export interface Candidate {
  readonly attempt: Attempt;
  readonly as: "sale" | "reversal";
}

/** Reasons for which a record is not one attempt's for certain. */
const whyNotOne = {
  retold: "it cannot be distinguished from an earlier record",
  "several orders": "it can be that of several orders",
  outsider: "others are paid at this terminal too",
  "lost order": "an order that was lost with the journal agrees with it too",
  "never probed": "what the terminal had stored before is not known",
  untimed: "it carries no time",
  later: "other commands were sent since",
  closed: "an end of day may have run since",
  settled: "a person had settled it as not charged",
  "in doubt": "an order whose own result has not come can have it as well",
  "foreign reference": "it carries another reference than this terminal gives back for ours",
  unclear: "the terminal does not show whether it keeps it",
  "not granted": "its proof rests on what is not taken for granted here",
  repeated: "it is the last result once more, and carries no reference",
  "names nothing": "it carries no reference of ours",
} as const;
export type WhyNotOne = keyof typeof whyNotOne;

/** Whose transaction a record is. */
export type Answer =
  /** The journal has this record already. null: it was nobody's then. */
  | {
      readonly answer: "known";
      readonly orderId: string | null;
      readonly transactionId: string | null;
      /** false: the two cannot be distinguished, and no attempt of ours is a candidate. */
      readonly isCertain: boolean;
      readonly proof: Proof;
    }
  /** No other candidate is left. */
  | { readonly answer: "one"; readonly candidate: Candidate; readonly proof: Proof }
  /** Several are left, or one that nothing proves; at least one of them is an attempt of ours. */
  | {
      readonly answer: "many";
      /** The newest first. */
      readonly candidates: readonly Candidate[];
      readonly why: WhyNotOne;
      /** For people. */
      readonly because: string;
    }
  /** No candidate. `near`: attempts that agree but for one fact, for an alarm's text only. */
  | { readonly answer: "none"; readonly near: readonly Near[] };

export interface Near {
  readonly attempt: Attempt;
  /** The one fact that does not agree, for people. */
  readonly but: string;
}

/** The answer that names candidates and proves none of them. */
export function many(
  candidates: readonly Candidate[],
  why: WhyNotOne,
  because: string = whyNotOne[why],
): Answer {
  return { answer: "many", candidates, why, because };
}

/** The answer without its proof: the one candidate is not proven. */
export function unproven(answer: Answer, why: WhyNotOne, because?: string): Answer {
  return answer.answer === "one" ? many([answer.candidate], why, because) : answer;
}

/** The attempts that can have produced the record; none for a known one. */
export function candidatesIn(answer: Answer): readonly Candidate[] {
  if (answer.answer === "one") return [answer.candidate];
  return answer.answer === "many" ? answer.candidates : [];
}

/** The near attempts: those answered as not charged first, those with their own sale last. */
export function nearIn(answer: Answer): readonly Near[] {
  if (answer.answer !== "none") return [];
  const rank = ({ attempt: { state } }: Near): number =>
    isNotCharged(state) ? 0 : saleOf(state) ? 2 : 1;
  return answer.near.toSorted((a, b) => rank(a) - rank(b));
}

/** The proof as an operator reads it in an order's timeline. */
export function textOfProof({ facts, assumes }: Proof): string {
  const granted = assumes.length === 0 ? "" : `; taken for granted: ${assumes.join(", ")}`;
  return `${facts.join("; ")}${granted}`;
}

/**
 * A change of an attempt that was answered as not charged, by a record that the terminal keeps
 * (docs/matching.md, "What follows"). Recovery settles an attempt in doubt, a charge stands, and a
 * known record changes nothing.
 */
export type Effect =
  | { readonly effect: "charge"; readonly attempt: Attempt; readonly proof: Proof }
  /** The order is unknown until a person settles it. */
  | { readonly effect: "doubt"; readonly attempt: Attempt; readonly because: string };

export function effectsOf(answer: Answer): Effect[] {
  if (answer.answer === "one") {
    const { attempt } = answer.candidate;
    return isNotCharged(attempt.state) ? [{ effect: "charge", attempt, proof: answer.proof }] : [];
  }
  if (answer.answer !== "many") return [];
  const { because } = answer;
  const attempts = answer.candidates.map(({ attempt }) => attempt);
  const byOrder = Map.groupBy(attempts, ({ request }) => request.orderId);
  return [...byOrder.values()].flatMap((fitting): Effect[] => {
    // A charged attempt of the order can have made the record: it need be no second charge. One in
    // doubt may end as not charged, and then nothing else would put the order in doubt.
    if (fitting.some((attempt) => chargedOf(attempt) === "yes")) return [];
    const newest = fitting.find(({ state }) => isNotCharged(state));
    return newest ? [{ effect: "doubt", attempt: newest, because }] : [];
  });
}

/** The orders that were answered as not charged and are candidates for the record. */
export function notChargedOrdersIn(answer: Answer): string[] {
  return candidatesIn(answer)
    .filter(({ attempt }) => isNotCharged(attempt.state))
    .map(({ attempt }) => attempt.request.orderId);
}

/** The attempts that are candidates, and those that nearly are. */
export function namedIn(answer: Answer): Attempt[] {
  return [...candidatesIn(answer), ...nearIn(answer)].map(({ attempt }) => attempt);
}

/** Whether an order that was answered as not charged is a candidate, or nearly one. */
export function concernsNotCharged(answer: Answer): boolean {
  return namedIn(answer).some(({ state }) => isNotCharged(state));
}
