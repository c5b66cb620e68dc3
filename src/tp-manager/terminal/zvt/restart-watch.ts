import type { Clock } from "../../../shared/time.ts";

/** docs/zvt.md 10.4: the first question comes so soon; each without an answer doubles the next. */
const ASK_FIRST_MS = 250;
const ASK_MAX_MS = 2_000;
/** While the terminal still answers: a short absence must not be missed between two questions. */
const ASK_UP_MS = 500;

/** The terminal's answer to a question that may only take so long. */
export type RestartAnswer = "none" | "busy" | "idle";

/**
 * `back`: it did not answer for a while, and is idle now. `stayed`: it has answered all the time
 * that a terminal needs to go down. `unknown`: neither in time.
 */
type RestartEnd = "back" | "stayed" | "unknown";

interface RestartWatchParts {
  readonly clock: Clock;
  /** How long a terminal that still answers may take to go down. */
  readonly goesDownWithinMs: number;
  /** After that the usual attempts to connect go on, with their growing pauses. */
  readonly giveUpMs: number;
  readonly ask: (limitMs: number) => Promise<RestartAnswer>;
  readonly pause: (ms: number) => Promise<void>;
  readonly closing: AbortSignal;
}

/**
 * Asks a restarting terminal until it is back (docs/zvt.md 10.4). An answer counts as that of the
 * restarted terminal only when the terminal was away before. A missing answer shows that only of a
 * terminal that otherwise answers in less time than that question had: others are slow.
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
