import { isDeepStrictEqual } from "node:util";
import { foldedState } from "../support/house/stored-events.ts";
import type { End } from "./end.ts";

/** Of attempts in the archive the events are gone. */
export function notTheFold({ world, orders }: End): string[] {
  const attempts = world.tpManager?.journal.attempts;
  if (!attempts) return [];
  return orders
    .flatMap((order) => attempts.ofOrder(order))
    .filter(({ transactionId }) => attempts.read(transactionId) !== undefined)
    .filter((attempt) => !isDeepStrictEqual(foldedState(attempts, attempt), plain(attempt.state)))
    .map(({ transactionId, state }) => `${transactionId} is ${state.phase}, its events are not`);
}

const plain = (state: object): unknown => JSON.parse(JSON.stringify(state));
