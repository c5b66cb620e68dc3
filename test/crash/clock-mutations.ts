import { type Mutation, oneEdit } from "./mutation.ts";

/** What a clock that can be set must not decide. */
export const clockMutations: readonly Mutation[] = [
  oneEdit(
    "the probes of a silent connection to the terminal",
    ["6.3", "The operating system probes a silent TCP connection, so that a pulled cable ends it"],
    ["test/tp-manager/terminal/transport/transport.test.ts"],
    [
      "src/tp-manager/terminal/transport/tcp-transport.ts",
      "{ keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS }",
      "{ keepAlive: false, keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS }",
    ],
  ),
  oneEdit(
    "the rule that a clock decides nothing about an order from after a database loss",
    ["29-supervisor-loss", "Any other one may have been in the lost database"],
    ["test/supervisor/intake/intake.test.ts"],
    ["src/supervisor/outbox/item-rows.ts", "iif(?4, 0, ifnull(", "iif(?4 AND 0, 0, ifnull("],
  ),
  oneEdit(
    "the memory of a hand-over that was tried",
    ["29-supervisor-loss", "and had not tried to hand it off"],
    ["test/tp-manager/supervisor/refused-row.test.ts"],
    [
      "src/tp-manager/supervisor/hand-off.ts",
      "this.#fresh.delete(transactionId)",
      "this.#fresh.has(transactionId)",
    ],
  ),
  oneEdit(
    "the rule that a journal knows the return keys only of orders that it did not import",
    ["26-return-keys", "after a loss"],
    ["test/tp-manager/supervisor/journal-gap-end.test.ts"],
    ["src/tp-manager/journal/return-rows.ts", "(event.kind = 'taken-over'", "(false"],
  ),
  oneEdit(
    "the start of the process from what is of the last day",
    ["26-return-keys", "before its start is of the last 24 hours"],
    ["test/supervisor/operations/operation-keys.test.ts"],
    ["src/supervisor/operations/asked-before.ts", "?? startedAtMs)", "?? startedAtMs - DAY_MS)"],
  ),
  oneEdit(
    "the order of a notification and an operation",
    ["8.7", "is known by the order in which both were written"],
    ["test/supervisor/operations/refunds-elsewhere.test.ts"],
    [
      "src/supervisor/operations/operation-store.ts",
      `typeof last === "number" ? id <= last`,
      `typeof last === "string" ? id <= last`,
    ],
  ),
  oneEdit(
    "the hours that a journal gap lasts at least",
    ["34-journal-gap", "A clock that is set shortens nothing"],
    ["test/tp-manager/supervisor/journal-gap-end.test.ts"],
    [
      "src/tp-manager/journal/gap-rows.ts",
      `|| Number(row["ran_ms"]) < GAP_MIN_MS)`,
      `|| Number(row["ran_ms"]) < GAP_MIN_MS - GAP_MIN_MS)`,
    ],
  ),
];
