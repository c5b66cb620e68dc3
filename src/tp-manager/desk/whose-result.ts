import type { AttemptStore } from "../attempts/attempt-store.ts";
import { canHaveLeft } from "../attempts/never-sent.ts";
import { newestAttempts } from "../attempts/newest-attempts.ts";
import { type Attempt, type AttemptStep, isCharged, isNotCharged } from "../attempts/payment.ts";
import { isInDoubt } from "../attempts/phase-table.ts";
import { isReference, referenceOf } from "../attempts/reference-policy.ts";
import type { TerminalLog } from "../attempts/terminal-log.ts";
import type { TerminalFacts, TransactionReport } from "../terminal/terminal.ts";

/**
 * Whose result a terminal tells that cannot be asked: the order that it names, or that alone can
 * have it (docs/design.md 3.25). Nothing is written here.
 */

interface Journal {
  readonly attempts: AttemptStore;
  readonly terminalLog: Pick<TerminalLog, "strays">;
  readonly terminal: Pick<TerminalFacts, "capabilities">;
}

/** A result with a reference of ours is of one of these, or of no order that is still here. */
export const ATTEMPTS_LOOKED_AT = 500;

/** Whether a result carries a reference of ours. */
export const names = ({ reference }: TransactionReport): boolean =>
  reference != null && isReference(reference);

/** The attempt whose reference a result carries. */
export function namedBy(
  { reference }: TransactionReport,
  attempts: AttemptStore,
): Attempt | undefined {
  const known = [...attempts.unfinished(), ...newestAttempts(attempts, ATTEMPTS_LOOKED_AT)];
  return known.find(({ transactionId }) => referenceOf(transactionId) === reference);
}

/** By the reference; without one of ours the order in doubt that alone can have that result. */
export function attemptOf(report: TransactionReport, journal: Journal): Attempt | undefined {
  const { attempts } = journal;
  if (names(report)) return namedBy(report, attempts);
  const known = [...newestAttempts(attempts, ATTEMPTS_LOOKED_AT)];
  const fitting = attempts.unfinished().filter((open) => fits(open, report));
  const [only] = fitting.filter(({ state }) => isInDoubt(state));
  if (!only || fitting.length > 1) return undefined;
  // A later payment of that amount may tell its own result again.
  const newestFitting = known.find((one) => fits(one, report) && canHaveLeft(attempts, one));
  if (newestFitting?.transactionId !== only.transactionId) return undefined;
  return wasToldBefore(report, only, known, journal) ? undefined : only;
}

/**
 * Whether the last result that came before the payment in doubt, or the last that was no order's,
 * was this very one: a terminal that tells its last result again, behind a restart say, says
 * nothing of that payment.
 */
function wasToldBefore(
  report: TransactionReport,
  doubt: Attempt,
  newest: readonly Attempt[],
  { attempts, terminal, terminalLog }: Journal,
): boolean {
  if (!terminal.capabilities.sharesLine) return false;
  const at = newest.findIndex(({ transactionId }) => transactionId === doubt.transactionId);
  const [stray] = terminalLog.strays(1);
  for (const { transactionId, startedAtMs } of newest.slice(at + 1)) {
    const told = toldIn(attempts.events(transactionId));
    if (!told) continue;
    const isStrayNewer = stray !== undefined && stray.atMs >= startedAtMs;
    return isSameWord(told, report) || (isStrayNewer && isSameWord(stray.report, report));
  }
  return stray !== undefined && isSameWord(stray.report, report);
}

/**
 * An approval that names nobody, behind an order that was told as not charged: the terminal may
 * have approved what it had turned away. Results come in their order, so it is none of before the
 * last payment that was told its own.
 */
export function contradicted(
  report: TransactionReport,
  attempts: AttemptStore,
): Attempt | undefined {
  const sent = newestAttempts(attempts, ATTEMPTS_LOOKED_AT).filter((one) =>
    canHaveLeft(attempts, one),
  );
  for (const attempt of sent) {
    const { state, request, transactionId } = attempt;
    const told = toldIn(attempts.events(transactionId));
    if (isCharged(state) || (told && isSameWord(told, report))) return undefined;
    const amountMinor = report.amountMinor ?? request.amountMinor;
    if (isNotCharged(state) && fits(attempt, { ...report, amountMinor })) return attempt;
    if (told) return undefined;
  }
  return undefined;
}

function fits({ request }: Attempt, { amountMinor, currencyNumeric }: TransactionReport): boolean {
  const { numeric } = request.currency;
  return request.amountMinor === amountMinor && (currencyNumeric ?? numeric) === numeric;
}

/** The last result that an attempt was told; undefined without one. */
function toldIn(events: readonly AttemptStep[]): TransactionReport | undefined {
  const told = events.map(({ detail }) => (detail as { report?: TransactionReport }).report);
  return told.findLast((report) => report?.resultCode != null);
}

/** As far as a reply without a number of its own tells; a reference of ours names its attempt. */
export function isSameWord(told: TransactionReport, report: TransactionReport): boolean {
  const { good, resultCode, maskedPan, authorisationNumber, reference = null } = report;
  const isAmount = [told.amountMinor, null].includes(report.amountMinor);
  return (
    isAmount &&
    good === told.good &&
    resultCode === told.resultCode &&
    maskedPan === told.maskedPan &&
    authorisationNumber === told.authorisationNumber &&
    reference === (told.reference ?? null)
  );
}
