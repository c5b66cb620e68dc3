import type { AttemptStore } from "./attempt-store.ts";
import type { Attempt } from "./payment.ts";

/** Most questions about the newest attempts end at the first of them. */
const FIRST_PAGE = 1;

const NEXT_PAGE = 100;

/** The newest attempts, the newest first, at most `most`; read as far as they are asked. */
export function* newestAttempts(
  attempts: Pick<AttemptStore, "newest">,
  most = Number.POSITIVE_INFINITY,
): Generator<Attempt, void> {
  let before: number | null = null;
  let limit = FIRST_PAGE;
  for (let left = most; left > 0; left -= limit, limit = Math.min(NEXT_PAGE, left)) {
    const page = attempts.newest(limit, before);
    for (const { attempt } of page) yield attempt;
    if (page.length < limit) return;
    before = page.at(-1)?.position ?? null;
  }
}
