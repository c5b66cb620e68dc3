import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Probation } from "../../shared/process/probation.ts";
import type { WriteProof } from "../../shared/store/write-proof.ts";
import type { Clock } from "../../shared/time.ts";
import type { Announce } from "../attempts/event-table.ts";
import type { JournalGap } from "../journal/gap-rows.ts";
import type { Journal } from "../journal/journal.ts";
import type { Stored } from "../matching/comparison.ts";
import type { Matcher } from "../matching/matcher.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { Inquiries } from "./inquiries.ts";

export interface ArbiterSettings {
  /** How long a payment may run before the terminal is asked to cancel it. */
  readonly paymentTimeoutMs: number;
  /** How long the terminal may take to answer in the preparation of a financial command. */
  readonly prepareMs: number;
  /** How long a payment that runs when the connector stops may go on before it is cancelled. */
  readonly stopPatienceMs: number;
  /** The time between two probes that together prove what the terminal has stored. */
  readonly confirmAfterMs: number;
  /** How long `POST /reset` waits before it answers that the terminal is still restarting. */
  readonly resetLimitMs: number;
  /** The longest time that an end of day may take. */
  readonly telecollectionLimitMs: number;
  /** The setting TERMINAL_SHARED: the terminal's totals also include the sales of another till. */
  readonly terminalShared: boolean;
}

type Rows = "attempts" | "terminalLog" | "records" | "reconciliations" | "learned";

export interface ArbiterParts extends Pick<Journal, Rows> {
  readonly terminal: Terminal;
  readonly settings: ArbiterSettings;
  readonly matcher: Matcher;
  readonly clock: Clock;
  readonly log: AlarmLog;
  readonly announce?: Announce | undefined;
  /** Called when an attempt became charged or reversed, so that the hand-off begins. */
  readonly settled: () => void;
  readonly guard: ArbiterGuard;
  /**
   * Whether a new version is on probation (docs/updates.md 4.3) and therefore does not use the
   * terminal. Without this member there is no probation.
   */
  readonly probation?: Pick<Probation, "isOn" | "over" | "received"> | undefined;
  /** Proves by test writes that written records survive a restart; undefined: no proof is made. */
  readonly proof?: WriteProof | undefined;
  /** A text that changes with the protocol and its settings (see {@link LearnedFrom.setup}). */
  readonly setup: string;
}

/** What the classes of this folder share: their parts, their settings and the open questions. */
export interface ArbiterTools extends ArbiterParts, ArbiterSettings {
  readonly inquiries: Inquiries;
}

/**
 * What the arbiter needs to know about a journal gap: a journal that was lost or restored from a
 * copy does not know all sales (docs/rules/17-loss.md).
 */
interface ArbiterGuard {
  /** Resolves when the supervisor's orders are in the journal; undefined: no import is needed. */
  whole(signal: AbortSignal): Promise<void> | undefined;
  /** Stores an unmatched sale. Returns whether the sale proves that the journal lost data. */
  noteSale(now: Stored): boolean;
  /** Stores the terminal's last transaction, unless the journal already knows this transaction. */
  keepLast(now: Stored): void;
  /** The open journal gap; undefined when the journal is whole. */
  readonly open: JournalGap | undefined;
}
