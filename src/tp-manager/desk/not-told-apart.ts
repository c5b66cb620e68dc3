import type { AttemptStore } from "../attempts/attempt-store.ts";
import { mayBeKeptBack, namesNothing, notToldApart } from "../attempts/kept-back-policy.ts";
import { newestAttempts } from "../attempts/newest-attempts.ts";
import type { Attempt } from "../attempts/payment.ts";
import type { TerminalLog } from "../attempts/terminal-log.ts";
import type { TerminalFacts } from "../terminal/terminal.ts";

interface ToldApartParts {
  readonly attempts: Pick<AttemptStore, "unfinished" | "newest">;
  readonly terminalLog: Pick<TerminalLog, "strays">;
  readonly terminal: Pick<TerminalFacts, "capabilities">;
}

/** An order in doubt is looked for behind at most so many others. */
const ATTEMPTS_LOOKED_AT = 500;
const STRAYS_LOOKED_AT = 20;

/**
 * The attempts in doubt whose amount is not sold now, the newest first (docs/design.md 3.25).
 * Throws when the journal cannot be read.
 */
export function refusedBeside(parts: ToldApartParts): readonly Attempt[] {
  const { attempts, terminalLog, terminal } = parts;
  const { sharesLine, namesNoPayment } = terminal.capabilities;
  if (!sharesLine || attempts.unfinished().length === 0) return [];
  const newest = () => newestAttempts(attempts, ATTEMPTS_LOOKED_AT);
  const keptBack = mayBeKeptBack(newest());
  if (keptBack.length === 0) return [];
  const isNameless =
    namesNoPayment === true || namesNothing(newest(), terminalLog.strays(STRAYS_LOOKED_AT));
  return notToldApart(keptBack, isNameless);
}
