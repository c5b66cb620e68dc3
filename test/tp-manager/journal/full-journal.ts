import { join } from "node:path";
import { onTestFinished } from "vitest";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

const charged = `'{"phase":"charged","report":{"amountMinor":999}}'`;
const failed = `'{"phase":"not-charged","outcome":{"status":"failed"}}'`;
const archived = `'{"end":{"phase":"charged","chargedMinor":999,"returnedMinor":0}}'`;
const attempt = `INSERT INTO attempt (transaction_id, order_id, number, amount_minor, currency,
  generated_id, request, started_at_ms, ended_at_ms, after_telecollection, answer_delivered, phase,
  state, baseline, receipt_number, trace_number, open_return)`;

/** The operator has acknowledged the unmatched transactions after this number. */
const KNOWN_AFTER = 20;

/** The id of the charged order `i` (of the failed one: with "f") in a {@link fullJournal}. */
export const idOf = (i: number, kind = "o"): string => kind + String(i).padStart(7, "0");
const id = (kind: string): string => `printf('${kind}%07d', i)`;

/**
 * A journal with `n` rows in each table, as they make a search long: orders of which the first half
 * was charged and the second failed, and of everything that is searched for a handful at the far
 * end. Only charged orders have events and hand-offs.
 */
export function fullJournal(n: number): Journal {
  const journal = new Journal(join(temporaryFolder(), "journal.db"));
  onTestFinished(() => journal.close());
  const { database, statements } = journal;
  const half = n / 2;
  const fill = (into: string, values: string, last = n): void => {
    const numbers = `SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < ${last}`;
    database.exec(`${into} WITH RECURSIVE row (i) AS (${numbers}) SELECT ${values} FROM row`);
  };
  database.exec("PRAGMA cache_size = -200000");
  statements.transaction(() => {
    fill(
      attempt,
      `${id("o")}, ${id("o")}, 1, 999, 'EUR', 1, '{}', i, i, 10, 1,
       CASE i WHEN ${half} THEN 'sent' WHEN ${half - 1} THEN 'in-doubt' ELSE 'charged' END,
       ${charged}, '{}', printf('%04d', i % 10000), printf('%06d', i),
       CASE i WHEN 1 THEN '{"operationId":"1"}' END`,
      half,
    );
    fill(
      attempt,
      `${id("f")}, ${id("f")}, 1, 999, 'EUR', 1, '{}', ${half} + i, ${half} + i, 10, 0,
       'not-charged', ${failed}, NULL, NULL, NULL, NULL`,
      half,
    );
    fill(
      "INSERT INTO attempt_event (transaction_id, at_ms, kind, detail)",
      `${id("o")}, i, 'charged', '{}'`,
      half,
    );
    fill(
      `INSERT INTO record (at_ms, transaction_id, seen_as, good, receipt_number, trace_number,
        local_date, local_time)`,
      `i, ${id("o")}, 'step', 1, printf('%04d', i % 10000), printf('%06d', i), '0101',
       printf('%06d', i)`,
    );
    fill(
      "INSERT INTO hand_off (transaction_id, body, acknowledged, delivery)",
      `${id("o")}, '{}', i > 3, CASE WHEN i BETWEEN 4 AND 6 THEN 'pending' ELSE 'sent' END`,
      half,
    );
    fill(
      `INSERT INTO archived_order (transaction_id, order_id, number, amount_minor, currency,
         generated_id, delivery, started_at_ms, ended_at_ms, kept)`,
      `${id("a")}, ${id("a")}, 1, 999, 'EUR', 0, 'sent', i, i, ${archived}`,
    );
    fill(
      "INSERT INTO telecollection (started_at_ms, asked_by, result)",
      `i, CASE WHEN i < 3 THEN 'terminal' ELSE 'operator' END,
       CASE WHEN i < ${half} THEN '{"end":"completed"}' ELSE '{"end":"refused"}' END`,
    );
    fill(
      "INSERT INTO act (at_ms, login, name, reason, call)",
      "i, 'operator', 'Anna', 'it hangs', 'POST /reset'",
    );
    fill(
      "INSERT INTO hour (at_ms, ready_ms, refusing_ms, no_link_ms, waiting_max)",
      "i, 3600000, 0, 0, i % 7",
    );
    fill("INSERT INTO accepted_terminal (identity, accepted_at_ms)", "'{}', i");
    fill(
      "INSERT INTO event (at_ms, name, data)",
      `i, 'alarm', json_object('alarm', 'test', 'transactionId', ${id("o")})`,
    );
    fill("INSERT INTO alarm_taken (origin, last_id, taken)", `${id("d")}, i, i`);
    fill(
      `INSERT INTO unexpected_report
         (at_ms, report, identity, finding, before_attempt, before_telecollection, seen_ms)`,
      `i, iif(i % 500 = 250 AND i < 1000, '{"reference":"K000000000"}', '{}'), '{}',
       CASE i WHEN 1 THEN 'open' WHEN 2 THEN 'not-good' ELSE 'held' END,
       ${half + 1}, ${half}, iif(i > ${KNOWN_AFTER}, i, NULL)`,
    );
    fill("INSERT INTO seen (kind, item, at_ms, note)", "'stray', i, i, ''");
  });
  database.exec("PRAGMA cache_size = -2000");
  return journal;
}
