import { type Attempt, isNotCharged } from "../attempts/payment.ts";
import { chargedOf } from "../attempts/phase-table.ts";
import { type Answer, candidatesIn, nearIn, type Proof } from "./answer.ts";

/**
 * One row for each answer of the matcher and each state of an order that was told as not charged:
 * the effect of a record that the terminal keeps. An attempt in doubt is settled by recovery, a
 * charge stands, and a known record changes nothing.
 */
export type Effect =
  /** The order is charged, and was told otherwise. */
  | { readonly effect: "charge"; readonly attempt: Attempt; readonly proof: Proof }
  /** The order is unknown until a person settles it. */
  | { readonly effect: "doubt"; readonly attempt: Attempt; readonly because: string }
  /** Another attempt of the order was not in vain: people look whether it was charged twice. */
  | { readonly effect: "tell-twice"; readonly attempt: Attempt };

interface Orders {
  latest(orderId: string): Attempt | undefined;
  ofOrder(orderId: string): Attempt[];
}

export function effectsOf(answer: Answer, orders: Orders): Effect[] {
  if (answer.answer === "one") {
    const { attempt } = answer.candidate;
    if (!isNotCharged(attempt.state)) return [];
    if (isInVain(attempt, orders)) return [{ effect: "charge", attempt, proof: answer.proof }];
    return [{ effect: "tell-twice", attempt }];
  }
  if (answer.answer !== "many") return [];
  const { because } = answer;
  const told = answer.candidates.filter(({ attempt }) => isNotCharged(attempt.state));
  const byOrder = Map.groupBy(told, ({ attempt }) => attempt.request.orderId);
  return [...byOrder.values()].flatMap((fitting): Effect[] => {
    const [newest] = fitting.map(({ attempt }) => attempt);
    if (!newest) return [];
    if (isInVain(newest, orders)) return [{ effect: "doubt", attempt: newest, because }];
    const first = Math.min(...fitting.map(({ attempt }) => attempt.number));
    const ids = new Set(answer.candidates.map(({ attempt }) => attempt.transactionId));
    // One that can have made the record itself is no second charge.
    const again = orders
      .ofOrder(newest.request.orderId)
      .some(({ number, transactionId }) => number > first && !ids.has(transactionId));
    return again ? [{ effect: "tell-twice", attempt: newest }] : [];
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

/** No attempt of the order has charged it or may have, or its money went back. */
function isInVain({ request }: Attempt, orders: Orders): boolean {
  const latest = orders.latest(request.orderId);
  return latest !== undefined && chargedOf(latest) === "no";
}
