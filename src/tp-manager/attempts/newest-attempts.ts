import type { AttemptStore } from "./attempt-store.ts";
import type { Attempt } from "./payment.ts";

/** Most questions about the newest attempts end at the first of them. */
const FIRST_PAGE = 1;

/** The newest attempts, the newest first, at most `most` (> 1); read as far as they are asked. */
export function* newestAttempts(
  attempts: Pick<AttemptStore, "newest">,
  most: number,
): Generator<Attempt, void> {
  let before: number | null = null;
  for (const limit of [FIRST_PAGE, most - FIRST_PAGE]) {
    const page = attempts.newest(limit, before);
    for (const { attempt } of page) yield attempt;
    if (page.length < limit) return;
    before = page.at(-1)?.position ?? null;
  }
}
