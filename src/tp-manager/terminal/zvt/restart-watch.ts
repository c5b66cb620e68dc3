import type { Clock } from "../../../shared/time.ts";

/** How long the first enquiry waits for an answer; the wait doubles after each without one. */
const ASK_FIRST_MS = 250;
const ASK_MAX_MS = 2_000;
/** The pause after an answered enquiry: too short for a restart to go unnoticed. */
const ASK_UP_MS = 500;

/** The answer to an enquiry; "none": none came in time. */
export type RestartAnswer = "none" | "busy" | "idle";

/**
 * "back": the terminal went down, and is idle again. "stayed": it answered for as long as it may
 * take to go down. "unknown": neither in time.
 */
type RestartEnd = "back" | "stayed" | "unknown";

interface RestartWatchParts {
  readonly clock: Clock;
  /** How long a terminal that still answers may take to go down. */
  readonly goesDownWithinMs: number;
  /** The time after which the watch ends; connecting goes on as usual. */
  readonly giveUpMs: number;
  readonly ask: (limitMs: number) => Promise<RestartAnswer>;
  readonly pause: (ms: number) => Promise<void>;
  readonly closing: AbortSignal;
}

/**
 * Asks a restarting terminal until it has gone down and answers again (docs/zvt.md 10.4). A slow
 * terminal can also miss an answer, so the terminal was down only if it later answers faster than
 * an enquiry had waited in vain.
 */
export async function watchRestart(parts: RestartWatchParts): Promise<RestartEnd> {
  const { clock, goesDownWithinMs, giveUpMs, ask, pause, closing } = parts;
  const beganMs = clock.monotonicMs();
  const left = (ms: number): number => beganMs + ms - clock.monotonicMs();
  let askMs = ASK_FIRST_MS;
  let answer: RestartAnswer | undefined;
  let missedMs = 0;
  let wasAway = false;
  await pause(Math.min(ASK_FIRST_MS, goesDownWithinMs));
  while (!closing.aborted) {
    const leftMs = left(wasAway || answer === "none" ? giveUpMs : goesDownWithinMs);
    if (leftMs <= 0) return answer === "idle" ? "stayed" : "unknown";
    const askedMs = clock.monotonicMs();
    answer = await ask(askMs);
    if (answer === "none") missedMs = askMs;
    else wasAway ||= clock.monotonicMs() - askedMs < missedMs;
    if (answer === "idle" && wasAway) return "back";
    await pause(Math.min(answer === "none" ? askMs : ASK_UP_MS, leftMs));
    if (answer === "none") askMs = Math.min(askMs * 2, ASK_MAX_MS);
  }
  return "unknown";
}
