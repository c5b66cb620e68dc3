import type { Logger } from "../../shared/logger.ts";
import { type Clock, sleep } from "../../shared/time.ts";
import type { Look } from "../attempts/recovery-policy.ts";
import { type Terminal, TerminalUnavailable } from "../terminal/terminal.ts";

interface LookParts {
  readonly terminal: Pick<Terminal, "lastTransaction" | "state">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Resolves when nothing has the terminal that a question would disturb. */
  readonly terminalFree: () => Promise<void>;
}

export const RETRY_MIN_MS = 500;
export const RETRY_MAX_MS = 15_000;

/** Looks at the terminal as {@link lookAtTerminal} does, and knows when the terminal is free. */
export type LookAtTerminal = (about: object, signal: AbortSignal) => Promise<Look>;

/**
 * One complete look at the idle terminal, tried again for as long as the terminal cannot be asked.
 * Rejects with the reason of `signal`. `about` goes into the log.
 */
export async function lookAtTerminal(
  { terminal, clock, log, terminalFree }: LookParts,
  about: object,
  signal: AbortSignal,
): Promise<Look> {
  for (let retryMs = RETRY_MIN_MS; ; retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)) {
    await terminalFree();
    try {
      const last = await terminal.lastTransaction(signal);
      return { identity: terminal.state.identity, last, atMs: clock.monotonicMs() };
    } catch (error) {
      if (!(error instanceof TerminalUnavailable)) throw error;
      log.debug({ ...about, reason: error.message }, "recovery waits for the terminal");
    }
    await sleep(clock, "recovery retry", retryMs, signal);
  }
}
