import type { Logger } from "../../shared/logger.ts";
import { type Clock, sleep } from "../../shared/time.ts";
import type { Look } from "../attempts/look.ts";
import { type Terminal, TerminalUnavailable } from "../terminal/terminal.ts";

export interface LookParts {
  readonly terminal: Pick<Terminal, "lastTransaction" | "state">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Resolves when no payment runs on the terminal. */
  readonly terminalFree: () => Promise<void>;
}

export const RETRY_MIN_MS = 500;
export const RETRY_MAX_MS = 15_000;

/**
 * One complete look at the idle terminal, trying for as long as it cannot be asked. Rejects with
 * the reason of `signal`. `about` goes into the log.
 */
export type LookAtTerminal = (about: object, signal: AbortSignal) => Promise<Look>;

/** The question behind a {@link LookAtTerminal}. */
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
