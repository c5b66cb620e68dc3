import type { DatabaseSync } from "node:sqlite";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { prepared } from "../../shared/store/sqlite.ts";
import type { Doubt } from "./doubt-policy.ts";
import type { ItemHistory } from "./retry-policy.ts";

/** The item's state after a try. */
export interface ItemUpdate {
  readonly state: DeliveryState;
  /** null: keeps its place. */
  readonly nextTryAtMs: number | null;
  readonly history: ItemHistory;
  readonly doubt: Doubt;
  readonly redirectUrl: string | null;
  readonly reason: string | null;
}

/** By place and number: a queue runs this for each item, and names cost as much as the change. */
const endedTry = `
  UPDATE outbox SET claimed_at_ms = NULL, state = ?1, failures = ?2,
    next_try_at_ms = ifnull(?3, next_try_at_ms),
    delayed_at_ms = iif(?3 IS NULL, delayed_at_ms, ?4),
    no_result_since_ms = ?5, no_result_tries = ?6, ambiguous = max(ambiguous, ?7),
    redirect_url = ifnull(?8, redirect_url), reason = ?9,
    settled_at_ms = iif(?1 = 'pending', NULL, ?4), look_next = ?10, sent_at_ms = ?11,
    resends = ?12, orders_possible = ?13, absent_since_ms = ?14, untold = ?15
  WHERE sequence = ?16 AND claimed_at_ms IS NOT NULL`;

/**
 * Ends the claim of the item at that place, with the state that its try has led to; part of a
 * transaction. Returns how many claims have ended.
 */
export function endTry(
  database: DatabaseSync,
  sequence: number,
  { endedAtMs, ambiguous }: { readonly endedAtMs: number; readonly ambiguous: boolean },
  { state, nextTryAtMs, history, doubt, redirectUrl, reason }: ItemUpdate,
): number {
  const { changes } = prepared(database, endedTry).run(
    state,
    history.failures,
    nextTryAtMs,
    endedAtMs,
    history.noResultSinceMs,
    history.noResultTries,
    ambiguous ? 1 : 0,
    redirectUrl,
    reason,
    doubt.look ? 1 : 0,
    doubt.sentAtMs,
    doubt.resends,
    doubt.orders,
    doubt.absentSinceMs,
    doubt.untold,
    sequence,
  );
  return Number(changes);
}
