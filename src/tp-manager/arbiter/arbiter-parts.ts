import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Probation } from "../../shared/program/probation.ts";
import type { WriteProof } from "../../shared/store/write-proof.ts";
import type { Clock } from "../../shared/time.ts";
import type { Stored } from "../attempts/comparison.ts";
import type { Announce } from "../attempts/event-table.ts";
import type { JournalGap } from "../journal/gap-rows.ts";
import type { Journal } from "../journal/journal.ts";
import type { Matcher } from "../matching/matcher.ts";
import type { Terminal } from "../terminal/terminal.ts";

export interface ArbiterSettings {
  /** How long a payment may run before the terminal is asked to cancel it. */
  readonly paymentTimeoutMs: number;
  /** The time limit for the terminal's answers in the preparation of a financial command. */
  readonly prepareMs: number;
  /** How long a running payment may go on after a stop is requested, before it is cancelled. */
  readonly stopPatienceMs: number;
  /** The pause between two probes of the terminal's storage; equal results together are a proof. */
  readonly confirmAfterMs: number;
  readonly resetLimitMs: number;
  readonly telecollectionLimitMs: number;
  /** The setting TERMINAL_SHARED: the terminal's totals also include the sales of another till. */
  readonly terminalShared: boolean;
}

/** What the arbiter is made from; its own objects share it. */
export interface ArbiterParts {
  readonly journal: Journal;
  readonly terminal: Terminal;
  readonly settings: ArbiterSettings;
  readonly matcher: Matcher;
  readonly clock: Clock;
  readonly log: AlarmLog;
  readonly announce?: Announce | undefined;
  /** Called when an attempt became charged or reversed, to begin the hand-off to the supervisor. */
  readonly settled: () => void;
  readonly guard: ArbiterGuard;
  /** A new version's probation, without using the terminal (docs/updates.md 4.3); missing: none. */
  readonly probation?: Probation | undefined;
  /** Proves by test writes that written records survive a restart; undefined: no proof is made. */
  readonly proof: WriteProof | undefined;
}

/**
 * What the arbiter needs to know about a journal gap: a journal that was lost or restored from a
 * copy may lack sales (docs/rules/34-journal-gap.md). StoreGuard describes the members.
 * An interface, because the arbiter must not know the link to the supervisor.
 */
interface ArbiterGuard {
  whole(signal: AbortSignal): Promise<void> | undefined;
  noteSale(now: Stored): boolean;
  keepLast(now: Stored): void;
  readonly open: JournalGap | undefined;
  readonly unanswered: JournalGap | undefined;
}
