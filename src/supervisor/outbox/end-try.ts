import type { DatabaseSync } from "node:sqlite";
import { invariant } from "../../shared/invariant.ts";
import { prepared } from "../../shared/sqlite.ts";
import type { EndedTry } from "./outbox-store.ts";

/** By place and by number: a queue runs this for each item, and names cost as much as the change. */
const endedTry = `
  UPDATE outbox SET claimed_at_ms = NULL, state = ?1, failures = ?2,
    next_try_at_ms = ifnull(?3, next_try_at_ms), delayed_at_ms = iif(?3 IS NULL, delayed_at_ms, ?4),
    no_result_since_ms = ?5, no_result_tries = ?6, ambiguous = max(ambiguous, ?7),
    redirect_url = ifnull(?8, redirect_url), reason = ?9,
    settled_at_ms = iif(?1 = 'pending', NULL, ?4), look_next = ?10, sent_at_ms = ?11,
    resends = ?12, orders_possible = ?13, absent_since_ms = ?14, untold = ?15
  WHERE sequence = ?16 AND claimed_at_ms IS NOT NULL`;

/** Ends the claim of an item with the state that its try has led to; part of a transaction. */
export function endTry(database: DatabaseSync, { item, attempt, update }: EndedTry): void {
  const { history, doubt } = update;
  const { changes } = prepared(database, endedTry).run(
    update.state,
    history.failures,
    update.nextTryAtMs,
    attempt.endedAtMs,
    history.noResultSinceMs,
    history.noResultTries,
    attempt.ambiguous ? 1 : 0,
    update.redirectUrl,
    update.reason,
    doubt.look ? 1 : 0,
    doubt.sentAtMs,
    doubt.resends,
    doubt.orders,
    doubt.absentSinceMs,
    doubt.untold,
    item.sequence,
  );
  invariant(changes === 1, `the try of ${item.transactionId} was still claimed`);
}
