import { type Mutation, oneEdit } from "./mutation.ts";

/** What must not be told by a clock that can be set. */
export const clockMutations: readonly Mutation[] = [
  oneEdit(
    "the start of the process from what is of the last day",
    ["3.7", "before its start is of the last 24 hours"],
    ["test/supervisor/operations/operation-keys.test.ts"],
    [
      "src/supervisor/operations/asked-before.ts",
      "?? this.#startedAtMs;",
      "?? this.#startedAtMs - DAY_MS;",
    ],
  ),
  oneEdit(
    "the hours that a doubt lasts at least",
    ["3.17", "A clock that is set shortens nothing"],
    ["test/tp-manager/supervisor/store-doubt-end.test.ts"],
    [
      "src/tp-manager/journal/doubt-rows.ts",
      `|| Number(row["ran_ms"]) < DOUBT_MIN_MS)`,
      `|| Number(row["ran_ms"]) < DOUBT_MIN_MS - DOUBT_MIN_MS)`,
    ],
  ),
];
