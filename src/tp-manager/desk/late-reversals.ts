import type { AttemptStore } from "../attempts/attempt-store.ts";
import { AttemptWriter, type WriterParts } from "../attempts/attempt-writer.ts";
import { sameTerminal } from "../attempts/comparison-policy.ts";
import { lostSince } from "../attempts/evidence-policy.ts";
import { freshnessOf } from "../attempts/freshness-policy.ts";
import { newestAttempts } from "../attempts/newest-attempts.ts";
import { type Attempt, isCharged } from "../attempts/payment.ts";
import { givesBack } from "../attempts/reversal-machine.ts";
import type { TerminalLog } from "../attempts/terminal-log.ts";
import type { Baseline } from "../terminal/terminal.ts";

/** A reversal that was refused is carried out late within minutes, if at all. */
const ATTEMPTS_LOOKED_AT = 20;

interface LateParts extends WriterParts {
  readonly attempts: Pick<
    AttemptStore,
    "newest" | "orderOfReport" | "since" | "nextCommand" | "update" | "addEvent"
  >;
  readonly terminalLog: Pick<TerminalLog, "telecollectionSince" | "straySince">;
  /** Called when a sale was given back, so that this is handed over. */
  readonly settled: (attempt: Attempt) => void;
}

/**
 * The terminal has stored a reversal that no command here waits for: it carried one out after it
 * had refused it, or somebody gave the money back at its keys. The sale that it names is told as
 * Reversed from now on (docs/design.md 3.16), because told as charged its money would go back once
 * more at the gateway. To be called when two looks have shown that the terminal keeps the reversal.
 * Returns its order; undefined: there is none for certain. Throws when the journal fails.
 */
export function findReversed(now: Baseline, parts: LateParts): string | undefined {
  const attempt = saleGivenBack(now, parts);
  if (!attempt || now.last.kind !== "transaction") return undefined;
  const { report } = now.last;
  const writer = new AttemptWriter(attempt, parts);
  const because = "the terminal has stored the reversal of this sale";
  const reversed = writer.advance({ input: "found-reversed", report, because });
  tellReversedBefore(writer, because);
  parts.settled(reversed);
  return attempt.request.orderId;
}

/** The sale that {@link findReversed} would tell as Reversed. Throws when the journal fails. */
export function saleGivenBack(now: Baseline, parts: LateParts): Attempt | undefined {
  const { attempts } = parts;
  if (now.last.kind !== "transaction") return undefined;
  const { report } = now.last;
  if (!report.good || report.originalTrace === null) return undefined;
  if (attempts.orderOfReport(report, "") !== undefined) return undefined;
  for (const attempt of newestAttempts(attempts, ATTEMPTS_LOOKED_AT)) {
    if (isGivenBack(attempt, now, parts)) return attempt;
  }
  return undefined;
}

/** Under the same condition under which a reversal of ours may leave. */
function isGivenBack(
  { state, baseline, startedAtMs, transactionId }: Attempt,
  now: Baseline,
  { attempts, terminalLog }: LateParts,
): boolean {
  if (!isCharged(state) || !baseline || !sameTerminal(baseline.identity, now.identity))
    return false;
  if (now.last.kind !== "transaction" || !givesBack(state.report, now.last.report)) return false;
  if (terminalLog.telecollectionSince(startedAtMs, transactionId)) return false;
  // In a time that the journal has lost its traces may have begun again.
  if (attempts.nextCommand(transactionId) === lostSince) return false;
  const since = attempts.since(transactionId);
  const stray = terminalLog.straySince(transactionId);
  const sold = { transactionId, report: state.report };
  return (
    since !== undefined && freshnessOf(sold, now, { ...since, stray }).freshness === "reversed"
  );
}

/** The customer has the money; who gave it back is for a person to find out. */
export function tellReversedBefore(writer: AttemptWriter, how: string): void {
  const alarm = { alarm: "reversed-elsewhere" };
  writer.log("error", alarm, `${how}; told as Reversed, see who gave the money back`);
}
