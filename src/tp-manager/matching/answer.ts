import { type Attempt, isNotCharged, saleOf } from "../attempts/payment.ts";
import { chargedOf } from "../attempts/phase-table.ts";
import whyNotOne from "./answer-en.json" with { type: "json" };
import type { Assumption } from "./assumptions.ts";

/** The facts and assumptions on which a verdict rests; stored with it, never computed again. */
export interface Proof {
  readonly facts: readonly string[];
  readonly assumes: readonly Assumption[];
}

/** The version of the matching rules; each new verdict is stored with it. */
export const RULES_VERSION = 1;

/** An attempt that can have produced a record: by its sale, or by the reversal of its sale. */
export interface Candidate {
  readonly attempt: Attempt;
  readonly as: "sale" | "reversal";
}

/** Why it is not certain which attempt made a record; the texts are in answer-en.json. */
export type WhyNotOne = keyof typeof whyNotOne;

/** The matcher's answer: which attempts a record of the terminal can belong to. */
export type Answer =
  /** The journal already has the record. `orderId`: null if the record belongs to no order. */
  | {
      readonly answer: "known";
      readonly orderId: string | null;
      readonly transactionId: string | null;
      /** false: the record only resembles a known one, and no attempt of ours can have made it. */
      readonly isCertain: boolean;
      readonly proof: Proof;
    }
  /** Exactly one attempt can have produced the record, and that is proven. */
  | { readonly answer: "one"; readonly candidate: Candidate; readonly proof: Proof }
  /** The record has several candidates, or one without proof; at least one is our own attempt. */
  | {
      readonly answer: "many";
      readonly candidates: readonly Candidate[];
      readonly why: WhyNotOne;
      readonly because: string;
    }
  /** No attempt can have made the record. `near`: attempts that agree with it but for one fact. */
  | { readonly answer: "none"; readonly near: readonly Near[] };

export interface Near {
  readonly attempt: Attempt;
  /** The one fact in which the attempt and the record do not agree, as a text for people. */
  readonly but: string;
}

/** Returns the answer "many": each candidate can have made the record, none is proven. */
export function many(
  candidates: readonly Candidate[],
  why: WhyNotOne,
  because: string = whyNotOne[why],
): Answer {
  return { answer: "many", candidates, why, because };
}

/** Returns the answer "one" as "many", because of `why`; any other answer unchanged. */
export function unproven(answer: Answer, why: WhyNotOne, because?: string): Answer {
  return answer.answer === "one" ? many([answer.candidate], why, because) : answer;
}

/** Returns the attempts that can have produced the record; none if the journal has the record. */
export function candidatesIn(answer: Answer): readonly Candidate[] {
  if (answer.answer === "one") return [answer.candidate];
  return answer.answer === "many" ? answer.candidates : [];
}

/** Returns the attempts that agree with the record but for one fact; charged ones come last. */
export function nearIn(answer: Answer): readonly Near[] {
  if (answer.answer !== "none") return [];
  const rank = ({ attempt: { state } }: Near): number =>
    isNotCharged(state) ? 0 : saleOf(state) ? 2 : 1;
  return answer.near.toSorted((a, b) => rank(a) - rank(b));
}

/** Returns a proof as a text for people, who read it in the timeline of an order. */
export function textOfProof({ facts, assumes }: Proof): string {
  const granted = assumes.length === 0 ? "" : `; taken for granted: ${assumes.join(", ")}`;
  return `${facts.join("; ")}${granted}`;
}

/** How a stored record changes an attempt that was answered as not charged (docs/matching.md). */
type Effect =
  | { readonly effect: "charge"; readonly attempt: Attempt; readonly proof: Proof }
  /** The order becomes unknown until an operator settles it. */
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
    // If a charged attempt of the order can have made the record, there need not be a second
    // charge. An attempt in doubt does not count, because it may still end as not charged.
    if (fitting.some((attempt) => chargedOf(attempt) === "yes")) return [];
    const newest = fitting.find(({ state }) => isNotCharged(state));
    return newest ? [{ effect: "doubt", attempt: newest, because }] : [];
  });
}

/** Returns the ids of orders that were answered as not charged and can have made the record. */
export function notChargedOrdersIn(answer: Answer): string[] {
  return candidatesIn(answer)
    .filter(({ attempt }) => isNotCharged(attempt.state))
    .map(({ attempt }) => attempt.request.orderId);
}

/** Returns the candidates for the record, and the attempts that agree with it but for one fact. */
export function namedIn(answer: Answer): Attempt[] {
  return [...candidatesIn(answer), ...nearIn(answer)].map(({ attempt }) => attempt);
}

/** Whether an order answered as not charged agrees with the record in all facts or all but one. */
export function concernsNotCharged(answer: Answer): boolean {
  return namedIn(answer).some(({ state }) => isNotCharged(state));
}
