import type { Logger } from "../../shared/process/logger.ts";
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
  /** The time after which the terminal is asked to cancel a payment. */
  readonly paymentTimeoutMs: number;
  /** How long the terminal may take to answer before anything financial. */
  readonly prepareMs: number;
  /** How long a running payment may go on at a stop before it is cancelled. */
  readonly stopPatienceMs: number;
  /** Time between two probes that prove what the terminal keeps. */
  readonly confirmAfterMs: number;
  /** How long a restart may take before the caller is answered that it goes on. */
  readonly resetLimitMs: number;
  /** How long an end of day may take. */
  readonly telecollectionLimitMs: number;
  /** TERMINAL_SHARED: others are paid at the terminal too, so its totals are not ours. */
  readonly terminalShared: boolean;
}

type Rows = "attempts" | "terminalLog" | "records" | "reconciliations" | "learned";

export interface ArbiterParts extends Pick<Journal, Rows> {
  readonly terminal: Terminal;
  readonly settings: ArbiterSettings;
  readonly matcher: Matcher;
  readonly clock: Clock;
  readonly log: Logger;
  /** For `GET /events`. */
  readonly announce?: Announce | undefined;
  /** Called when an attempt has become charged or reversed: a hand-off is due. */
  readonly settled: () => void;
  readonly guard: ArbiterGuard;
  /** A new version on probation (docs/updates.md 4.3) leaves the terminal alone. Missing: none. */
  readonly probation?: Pick<Probation, "isOn" | "over" | "received"> | undefined;
  /** Whether the next start would find what is written; missing: not checked. */
  readonly proof?: WriteProof | undefined;
  /** See {@link LearnedFrom.setup}. */
  readonly setup: string;
}

/** For the arbiter's own classes. */
export interface ArbiterTools extends ArbiterParts, ArbiterSettings {
  readonly inquiries: Inquiries;
}

/** A journal that was lost or restored does not know all sales (docs/rules/17-loss.md). */
interface ArbiterGuard {
  /** Resolves when the journal knows every order that is known anywhere; undefined: it does. */
  whole(signal: AbortSignal): Promise<void> | undefined;
  /** Keeps a sale that no order here has. true: the sale shows that the journal lost data. */
  noteSale(now: Stored): boolean;
  /** Keeps the terminal's last transaction, unless it is known. */
  keepLast(now: Stored): void;
  /** The journal's gap; undefined: none. */
  readonly open: JournalGap | undefined;
}
