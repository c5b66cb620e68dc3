import { type Attempt, isNotCharged, saleOf } from "../attempts/payment.ts";
import type { Assumption } from "./assumptions.ts";

/** Where a record came from. */
export type Source =
  /** While our command runs. */
  | "payment"
  /** After it, or from a terminal that only tells and cannot be asked. */
  | "late"
  /** The storage was read to clear up a doubt. */
  | "probe"
  /** The storage was read before the next command. */
  | "baseline";

/** The facts and the assumptions that a verdict rests on. Kept with it, never computed again. */
export interface Proof {
  /** In words for people. */
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
  retold: "it cannot be told from a record of before",
  "several orders": "it can be that of several orders",
  outsider: "others are paid at this terminal too",
  "lost order": "an order that was lost with the journal fits too",
  "never seen": "what the terminal had stored before is not known",
  untimed: "it tells no time",
  later: "other commands were sent since",
  closed: "an end of day may have run since",
  settled: "a person had settled it as not charged",
  "in doubt": "an order whose own result has not come can have it as well",
  "foreign reference": "it carries another word than this terminal gives back for ours",
  unclear: "the terminal does not show whether it keeps it",
  "not granted": "its proof rests on what is not taken for granted here",
  "told again": "it is the last result once more, and names nothing",
  "names nothing": "it carries no reference of ours",
} as const;
export type WhyNotOne = keyof typeof whyNotOne;

export const whyInWords = (why: WhyNotOne): string => whyNotOne[why];

/** Whose transaction a record is. */
export type Answer =
  /** This record was seen before. null: it was nobody's then. */
  | {
      readonly answer: "known";
      readonly orderId: string | null;
      readonly transactionId: string | null;
      /** false: it only cannot be told from that one, and no attempt of ours fits. */
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
      /** In words. */
      readonly because: string;
    }
  /** No candidate. `near`: attempts that fit but for one fact, for an alarm's words only. */
  | { readonly answer: "none"; readonly near: readonly Near[] };

/** The attempts that can have produced the record; of a known one nothing is to be found out. */
export function candidatesIn(answer: Answer): readonly Candidate[] {
  if (answer.answer === "one") return [answer.candidate];
  return answer.answer === "many" ? answer.candidates : [];
}

/** Nothing proves one of the candidates. */
export function unproven(answer: Answer, why: WhyNotOne, because = whyInWords(why)): Answer {
  if (answer.answer !== "one") return answer;
  return { answer: "many", candidates: [answer.candidate], why, because };
}

export interface Near {
  readonly attempt: Attempt;
  /** The one fact that does not fit, in words. */
  readonly but: string;
}

/** First those told as not charged, then those in doubt, last those with a sale of their own. */
export function nearIn(answer: Answer): readonly Near[] {
  if (answer.answer !== "none") return [];
  const rank = ({ attempt: { state } }: Near): number =>
    isNotCharged(state) ? 0 : saleOf(state) ? 2 : 1;
  return answer.near.toSorted((a, b) => rank(a) - rank(b));
}

/** The proof as an operator reads it in an order's timeline. */
export function proofInWords({ facts, assumes }: Proof): string {
  const granted = assumes.length === 0 ? "" : `; taken for granted: ${assumes.join(", ")}`;
  return `${facts.join("; ")}${granted}`;
}
