import type { AttemptStore } from "./attempt-store.ts";
import type { Attempt } from "./payment.ts";

/** Most questions about the newest attempts end at the first of them. */
const FIRST_PAGE = 1;
const PAGE = 50;

/** The newest attempts, the newest first, read as far as they are asked for; at most `most`. */
export function* newestAttempts(
  attempts: Pick<AttemptStore, "newest">,
  most = Number.POSITIVE_INFINITY,
): Generator<Attempt, void> {
  let before: number | null = null;
  for (let read = 0; read < most; ) {
    const limit = Math.min(read === 0 ? FIRST_PAGE : PAGE, most - read);
    const page = attempts.newest(limit, before);
    for (const { attempt } of page) yield attempt;
    if (page.length < limit) return;
    read += limit;
    before = page.at(-1)?.position ?? null;
  }
}
