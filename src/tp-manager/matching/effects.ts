import { type Attempt, isNotCharged } from "../attempts/payment.ts";
import { chargedOf } from "../attempts/phase-table.ts";
import { type Answer, candidatesIn, nearIn, type Proof } from "./answer.ts";

/**
 * A record that the terminal keeps changes attempts that were told as not charged, as the matcher
 * answers (docs/matching.md, "What follows"). An attempt in doubt is settled by recovery, a charge
 * stands, and a known record changes nothing.
 */
export type Effect =
  /** The order is charged, and was told otherwise. */
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
    // Of an attempt that is charged the record need be no second charge. One in doubt may end as
    // not charged, and nobody would look again.
    if (fitting.some((attempt) => chargedOf(attempt) === "yes")) return [];
    const newest = fitting.find(({ state }) => isNotCharged(state));
    return newest ? [{ effect: "doubt", attempt: newest, because }] : [];
  });
}

/** The orders that were told as not charged and that can have made the record. */
export function toldOtherwise(answer: Answer): string[] {
  return candidatesIn(answer)
    .filter(({ attempt }) => isNotCharged(attempt.state))
    .map(({ attempt }) => attempt.request.orderId);
}

/** An order that was told as not charged can have made the record, or nearly. */
export function concernsTold(answer: Answer): boolean {
  const named = [...candidatesIn(answer), ...nearIn(answer)];
  return named.some(({ attempt }) => isNotCharged(attempt.state));
}
