import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { Baseline, TransactionReport } from "../terminal/terminal.ts";
import type { NoteStep } from "./attempt-event.ts";
import type { NextFound } from "./next-command.ts";
import type { Attempt, AttemptPhase, AttemptState, AttemptStep, NotCharged } from "./payment.ts";
import type { PaymentStatus } from "./phase-table.ts";
import { isNeverSent } from "./steps.ts";

export interface ListPage {
  readonly sinceMs: number;
  /** Only what began before. */
  readonly untilMs?: number;
  readonly status: PaymentStatus | null;
  readonly limit: number;
  /** The {@link ListedAttempt.position} of the last one seen. */
  readonly before: number | null;
}

export interface ListedAttempt {
  readonly attempt: Attempt;
  readonly delivery: DeliveryState | null;
  readonly position: number;
}

type Begun = Pick<Attempt, "transactionId" | "request" | "startedAtMs">;

/**
 * The attempts to charge an order. As in every store of this folder a change is on disk when the
 * method returns, and the method throws when the change could not be written. Methods are
 * synchronous on purpose: between a decision and its record nothing else can run.
 */
export interface AttemptStore {
  /**
   * The attempt that speaks for an order: the newest one, except that an earlier one which came to
   * light as charged, or as in doubt, outweighs later ones that charged nothing
   * (docs/rules/19-late.md). undefined: the order was never asked for.
   */
  latest(orderId: string): Attempt | undefined;
  /** Every attempt of an order, oldest first. */
  ofOrder(orderId: string): Attempt[];
  read(transactionId: string): Attempt | undefined;
  /** The order of an attempt, in the archive too. */
  orderOf(transactionId: string): string | undefined;
  events(transactionId: string): AttemptStep[];

  /** The write-ahead record: an attempt in phase "sent". */
  begin(attempt: Begun & { readonly baseline: Baseline }): Attempt;
  /** An attempt that ended before anything financial could leave. */
  recordFailure(attempt: Begun & { readonly outcome: NotCharged }): Attempt;
  /**
   * A new state with the event that led to it; in the same transaction `handOff` when the attempt
   * has become charged, or its withdrawal when it was reversed. `ticket` is kept when given.
   */
  update(
    transactionId: string,
    change: {
      /** The phase that the attempt must be in now; any other is a fault of this program. */
      readonly from: AttemptPhase;
      readonly state: AttemptState;
      readonly event: AttemptStep;
      /** Steps before it that were not written yet; `state` comes of them as well. */
      readonly earlier?: readonly AttemptStep[];
      readonly ticket?: string;
      readonly handOff?: Transaction;
      readonly withdraw?: boolean;
    },
  ): Attempt;
  /**
   * Attempts, newest first; `before` continues behind an earlier page. Without a filter in the
   * order in which they were begun; with one by their times, which a clock that was set changes.
   */
  list(page: ListPage): ListedAttempt[];
  /** Attempts in the order in which they were begun, the newest first; `before` as in a page. */
  newest(limit: number, before: number | null): Array<Omit<ListedAttempt, "delivery">>;
  /** The ids of all attempts, the newest first, read as far as they are asked for. */
  ids(): Iterable<string>;
  /** Attempts of the orders in the archive, by their times; the archive has its own positions. */
  listArchived(page: ListPage): ListedAttempt[];
  addEvent(transactionId: string, note: NoteStep): void;

  countInDoubt(): number;
  /** Attempts that a process cannot leave behind unasked, in the order they were begun. */
  unfinished(): Attempt[];
  /** The first sale or reversal that was begun at a terminal after the attempt's last command. */
  nextCommand(transactionId: string): NextFound | undefined;

  /** Since an attempt was begun (docs/rules/16-fresh.md); undefined: too many to look through. */
  since(transactionId: string): Omit<SinceSale, "unmatched"> | undefined;
}

/** The journal's record of what happened on terminals since a sale, its own results included. */
export interface SinceSale {
  /** Attempts begun after the sale whose command may have left, oldest first. */
  readonly later: readonly Attempt[];
  /** Attempts of before the sale whose reversal was begun after it. */
  readonly earlier: readonly Attempt[];
  /** Results that were reported since, in their order, with the attempt that got each. */
  readonly reports: readonly ReportedResult[];
  /** An unmatched transaction was kept since. */
  readonly unmatched: boolean;
  /** A reversal of the sale has left before; left out: none has. */
  readonly wasTried?: boolean;
  /** Others are paid at this terminal too; left out: nobody. */
  readonly isShared?: boolean;
}

export interface ReportedResult {
  readonly transactionId: string;
  readonly report: TransactionReport;
}

/** Whether the terminal can have a command of this attempt. Throws when the journal fails. */
export function canHaveLeft(
  attempts: Pick<AttemptStore, "events">,
  { transactionId, baseline }: Attempt,
): boolean {
  return baseline !== null && !isNeverSent(attempts.events(transactionId));
}

/** Most questions about the newest attempts end at the first of them. */
const FIRST_PAGE = 1;
const PAGE = 50;

/** The newest attempts, the newest first, read as far as they are asked for. */
export function* newestAttempts(attempts: Pick<AttemptStore, "newest">): Generator<Attempt, void> {
  let before: number | null = null;
  for (let limit = FIRST_PAGE; ; limit = PAGE) {
    const page = attempts.newest(limit, before);
    for (const { attempt } of page) yield attempt;
    if (page.length < limit) return;
    before = page.at(-1)?.position ?? null;
  }
}
