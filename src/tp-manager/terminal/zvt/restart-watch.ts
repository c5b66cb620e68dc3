import type { Clock } from "../../../shared/time.ts";

/** How long the first enquiry waits for its answer; each time without answer doubles the wait. */
const ASK_FIRST_MS = 250;
const ASK_MAX_MS = 2_000;
/** The pause after an answered enquiry: so short that the terminal cannot restart unnoticed. */
const ASK_UP_MS = 500;

/** What the terminal answered to an enquiry in time; "none": it did not answer. */
export type RestartAnswer = "none" | "busy" | "idle";

/**
 * "back": the terminal did not answer for a while, and is idle now. "stayed": it has answered all
 * the time that a terminal needs to go down. "unknown": neither happened in time.
 */
type RestartEnd = "back" | "stayed" | "unknown";

interface RestartWatchParts {
  readonly clock: Clock;
  /** How long a terminal that still answers may take to go down. */
  readonly goesDownWithinMs: number;
  /** The time after which the watch ends, and the usual attempts to connect go on. */
  readonly giveUpMs: number;
  readonly ask: (limitMs: number) => Promise<RestartAnswer>;
  readonly pause: (ms: number) => Promise<void>;
  readonly closing: AbortSignal;
}

/**
 * Asks a restarting terminal until the terminal has gone down and answers again (docs/zvt.md 10.4).
 * A missing answer proves that the terminal was down only if the terminal otherwise answers faster
 * than the enquiry waited; else the terminal may be slow.
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
