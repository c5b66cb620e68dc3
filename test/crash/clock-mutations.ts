import { type Mutation, oneEdit } from "./mutation.ts";

/** What must not be told by a clock that can be set. */
export const clockMutations: readonly Mutation[] = [
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
