import type { TerminalArbiter } from "../arbiter/terminal-arbiter.ts";
import { storage } from "../attempts/failures.ts";
import type { SettledUnmatched } from "../attempts/findings.ts";
import { type Attempt, isApproved, isPaying } from "../attempts/payment.ts";
import type { Reconciliation, Suspect } from "../attempts/reconciliation/reconciliation.ts";
import type { ListedAttempt, ListPage } from "../journal/attempt-columns.ts";
import type { AttemptRows } from "../journal/attempt-rows.ts";
import type { ReconciliationRows } from "../journal/reconciliation-rows.ts";
import type { TerminalRows } from "../journal/terminal-rows.ts";

/** A comparison, and the attempts that it names as they are now. */
export interface ComparedDay extends Reconciliation {
  /** By transaction id; those of the archive are missing. */
  readonly now: ReadonlyMap<string, Attempt>;
}

interface ListingParts {
  readonly attempts: AttemptRows;
  readonly terminalLog: TerminalRows;
  readonly reconciliations: ReconciliationRows;
  readonly arbiter: TerminalArbiter;
}

/**
 * Pages of the journal for people: neither the terminal nor the gateway is asked for them. Each
 * method throws STORAGE_FAILED for a journal that cannot be read.
 */
export class Listings {
  readonly #parts: ListingParts;

  constructor(parts: ListingParts) {
    this.#parts = parts;
  }

  /** The journal, newest first. */
  list(page: ListPage): ListedAttempt[] {
    const listed = storage(() => this.#parts.attempts.list(page), "unknown");
    return listed.map((one) => ({ ...one, attempt: asAnswered(one.attempt, this.#parts) }));
  }

  listArchived(page: ListPage): ListedAttempt[] {
    return storage(() => this.#parts.attempts.listArchived(page), "unknown");
  }

  /** Unmatched transactions, newest first. */
  unmatchedTransactions(limit: number): SettledUnmatched[] {
    return storage(() => this.#parts.terminalLog.unmatched(limit), "unknown");
  }

  /** Comparisons of ends of day with the journal, newest first. */
  reconciliations(limit: number, before: number | null): ComparedDay[] {
    const listed = storage(() => this.#parts.reconciliations.list(limit, before), "unknown");
    return listed.map((one) => this.comparedDay(one));
  }

  comparedDay(compared: Reconciliation): ComparedDay {
    const { attempts } = this.#parts;
    const ids = suspectsOf(compared.body).map(({ transactionId }) => transactionId);
    const known = storage(() => ids.flatMap((id) => attempts.read(id) ?? []), "unknown");
    const now = new Map(known.map((attempt) => [attempt.transactionId, attempt]));
    return { ...compared, now };
  }
}

function suspectsOf(body: Reconciliation["body"]): readonly Suspect[] {
  if (body.kind === "receipt-jump") return body.suspects;
  return body.terminal.result === "not-comparable" ? [] : body.terminal.suspects;
}

/**
 * Returns an attempt as it may be answered: approved only while the terminal really holds the sale,
 * because a kiosk gives out its goods on that answer (docs/design.md 5.11). The record on disk may
 * still say approved: the end could not be written, or an earlier process did not receive it.
 */
export function asAnswered(
  read: Attempt,
  { attempts, arbiter }: { readonly attempts: AttemptRows; readonly arbiter: TerminalArbiter },
): Attempt {
  if (!isApproved(read.state) || arbiter.running.awaitsGoods(read.request.orderId)) return read;
  const attempt = storage(() => attempts.read(read.transactionId), "unknown") ?? read;
  const { state } = attempt;
  if (!isPaying(state) || !isApproved(state)) return attempt;
  return { ...attempt, state: { ...state, goods: null } };
}
