import { isInDoubt } from "../../../src/tp-manager/attempts/phase-table.ts";
import type { OneWayScope, OneWayWorld } from "./one-way-world.ts";

interface Breach {
  readonly law: string;
  readonly what: string;
}

/**
 * The oracle: knows the bank and what the kiosk was answered, and none of the product's rules.
 * `rests`: nothing goes on by itself.
 */
export function breachOf(world: OneWayWorld, scope: OneWayScope, rests: boolean): Breach | null {
  const { bank, answers, run, questions } = world;
  for (const order of Object.keys(scope.orders)) {
    const charges = bank.filter((entry) => entry.order === order).length;
    if (charges > 1) {
      return { law: "no card is charged twice for one order", what: `${order}: ${charges} times` };
    }
    const isOpen = run !== null && world.attempts[run.attempt]?.order === order;
    if (answers[order] === "not charged" && charges > 0 && !isOpen) {
      return { law: "no charge is reported as not paid", what: `${order} is charged` };
    }
    const wrong = breachOfState(world, scope, order);
    if (wrong) return wrong;
  }
  if (!rests || questions.length === 0) return null;
  return { law: "a next sale is possible again", what: "a question stays open" };
}

function breachOfState(world: OneWayWorld, scope: OneWayScope, order: string): Breach | null {
  const { attempts, bank, run, acknowledged: acked, confused } = world;
  const index = attempts.findLastIndex((each) => each.order === order);
  const state = attempts[index]?.state;
  if (!state || run?.attempt === index) return null;
  const amountMinor = scope.orders[order];
  const isPaid = bank.some((entry) => entry.order === order && entry.amountMinor === amountMinor);
  if (state.phase === "charged" && !isPaid && !confused.includes(index)) {
    return { law: "an order answered as charged is charged", what: `${order} is not charged` };
  }
  const isMixedUp = confused.some((each) => attempts[each]?.order === order);
  // Without a name only the amount distinguishes a result that came too early or too late.
  const isKnown = scope.echoes && acked.includes(index) && !isMixedUp;
  if (!isInDoubt(state) || !isKnown) return null;
  return {
    law: "what the terminal has reported does not stay unknown",
    what: `${order} stays unknown although its result is stored`,
  };
}
