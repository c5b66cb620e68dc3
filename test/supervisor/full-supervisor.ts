import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import { openDatabase, transaction } from "../../src/shared/store/sqlite.ts";
import { supervisorMigrations } from "../../src/supervisor/supervisor-schema.ts";
import { newStore } from "../support/files/new-store.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { fullTransaction } from "./sample-transaction.ts";

/** More than the alarms and losses that are ever kept or searched. */
const FEW = 20;
/** Orders at the newest end that the retention has left whole. */
const WHOLE = 30;

/** The order `i` of a {@link fullSupervisor}, and the ids of what belongs to it. */
export const orderOf = (i: number): string => `o${digits(i, 7)}`;
export const transactionOf = (i: number): string => `00000000-0000-4000-8000-${digits(i, 12)}`;
export const publicIdOf = (i: number): string => `p${digits(i, 7)}`;
export const operationIdOf = (i: number): string => `r${digits(i, 7)}`;

/** Orders of a {@link fullSupervisor} of `n` that are in another state than sent. */
export const special = (n: number) => ({
  due: n,
  toLookUp: n - 1,
  parked: n - 2,
  dropped: n - 3,
  reversed: n - 4,
  doubled: n - 5,
  sending: n - 6,
  lookingUp: n - 7,
});

const digits = (i: number, length: number): string => String(i).padStart(length, "0");
const transactionId = "printf('00000000-0000-4000-8000-%012d', i)";

/** How nearly all orders of a {@link fullSupervisor} stand, as values of columns of the outbox. */
const standings = {
  "sent long ago": { state: "sent", nextTryAtMs: "i", lookUp: 0, sentAtMs: "NULL" },
  "to be sent now": { state: "pending", nextTryAtMs: "i", lookUp: 0, sentAtMs: "NULL" },
  "to be sent later": { state: "pending", nextTryAtMs: "i + 1e12", lookUp: 0, sentAtMs: "NULL" },
  "to be looked up now": { state: "pending", nextTryAtMs: "i", lookUp: 1, sentAtMs: "i" },
  "to be looked up later": { state: "pending", nextTryAtMs: "i + 1e12", lookUp: 1, sentAtMs: "i" },
} as const;
type Standing = keyof typeof standings;

export const everyStanding = Object.keys(standings) as Standing[];

/**
 * A database of the supervisor with `n` rows in each table that grows with the orders: nearly all
 * of them were sent and trimmed long ago, or wait, and of everything else that is searched for
 * there is a handful at the newest end.
 */
export function fullSupervisor(n: number, standing: Standing = "sent long ago"): DatabaseSync {
  const { state, nextTryAtMs, lookUp, sentAtMs } = standings[standing];
  const isSent = state === "sent" ? 1 : 0;
  const path = newStore(join(temporaryFolder(), "supervisor.db"), supervisorMigrations);
  const database = openDatabase(path, supervisorMigrations);
  onTestFinished(() => database.close());
  database.exec("PRAGMA synchronous = OFF"); // the same work, without waits for the disk
  const fill = (into: string, values: string, last = n): void => {
    const numbers = `SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < ${last}`;
    database.exec(`${into} WITH RECURSIVE row (i) AS (${numbers}) SELECT ${values} FROM row`);
  };
  const { due, toLookUp, parked, dropped, reversed, doubled, sending, lookingUp } = special(n);
  const [before, after] = JSON.stringify(
    fullTransaction({ transactionId: "%1", orderId: "%2" }),
  ).split(/"%1","orderId":"%2"/);
  transaction(database, () => {
    fill(
      "INSERT INTO transactions",
      `${transactionId}, printf('o%07d', i), i, '${before}"' || ${transactionId} ||
        printf('","orderId":"o%07d"', i) || '${after}'`,
    );
    fill(
      `INSERT INTO outbox (transaction_id, state, queued_at_ms, next_try_at_ms, delayed_at_ms,
         claimed_at_ms, tries, failures, ambiguous, redirect_url, settled_at_ms, dropped,
         reversed, trimmed, look_next, sent_at_ms, orders_possible)`,
      `${transactionId},
       CASE WHEN i IN (${due}, ${toLookUp}, ${sending}, ${lookingUp}) THEN 'pending'
         WHEN i = ${parked} THEN 'parked' WHEN i IN (${dropped}, ${reversed}) THEN 'closed'
         ELSE '${state}' END,
       i, iif(i < ${lookingUp}, CAST(${nextTryAtMs} AS INTEGER), i), i,
       iif(i IN (${sending}, ${lookingUp}), i, NULL), 2 + (i = ${sending}), i = ${sending},
       i = ${doubled},
       iif(${isSent} AND i > ${n - WHOLE} AND i < ${lookingUp}, 'page', NULL),
       iif(i IN (${parked}, ${dropped}, ${reversed}) OR
         (${isSent} AND i NOT IN (${due}, ${toLookUp}, ${sending}, ${lookingUp})), i, NULL),
       i = ${dropped}, i = ${reversed}, ${isSent} AND i <= ${n - WHOLE},
       iif(i < ${lookingUp}, ${lookUp}, i IN (${toLookUp}, ${lookingUp})),
       iif(i < ${lookingUp}, ${sentAtMs}, iif(i IN (${toLookUp}, ${lookingUp}), i, NULL)),
       iif(i = ${doubled}, 2, 0)`,
    );
    for (const number of [1, 2]) {
      fill(
        "INSERT INTO attempts",
        `${transactionId}, ${number}, i, i, iif(${number} = 2, 'sent', 'unreachable'), NULL, NULL,
         '', 0, '[]'`,
      );
    }
    fill(
      "INSERT INTO outbox_ends (transaction_id, at_ms, state, reason)",
      `${transactionId}, i, 'parked', 'why'`,
    );
    fill(
      "INSERT INTO operator_actions (transaction_id, at_ms, action, note)",
      `${transactionId}, i, 'requeue', ''`,
    );
    fill(
      "INSERT INTO gateway_ids",
      `printf('p%07d', i), ${transactionId}, 'notification', i`,
      n - FEW / 2,
    );
    fill(
      `INSERT INTO gateway_operations (operation_id, kind, transaction_public_id, amount_minor,
         currency, exponent, state, asked_at_ms, ended_at_ms, idempotency_key)`,
      `printf('r%07d', i), 'refund', printf('p%07d', i), 1, 'EUR', 2,
       CASE i WHEN ${n} THEN 'sending' WHEN ${n - 1} THEN 'unknown' ELSE 'done' END, i, i,
       printf('k%07d', i)`,
    );
    fill("INSERT INTO gateway_operations_forbidden", "printf('f%07d', i), i");
    fill(
      `INSERT INTO notifications (fingerprint, kind, verdict, transaction_id,
         transaction_public_id, operation, status, received_at_ms, parsed, raw)`,
      `printf('n%07d', i), 'operation', 'accepted', ${transactionId}, printf('p%07d', i),
       iif(i > ${n - 3}, 'refund', 'capture'), 'ok', i, '{}', iif(i > ${n - WHOLE}, 'raw', '')`,
    );
    fill("INSERT INTO copies_settled", `${transactionId}, i, ''`, n - WHOLE);
    fill("INSERT INTO alarms (at_ms, alarm, message)", "i, 'queue-old', 'old'", FEW);
    fill("INSERT INTO store_loss (at_ms, because, ended_at_ms)", "i, '', i", FEW);
  });
  return database;
}
