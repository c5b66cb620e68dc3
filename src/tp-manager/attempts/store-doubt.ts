import type { KnownOrder } from "../../shared/ipc/contract.ts";
import type { TransactionReport } from "../terminal/terminal.ts";

/** The journal may lack payments: it was lost, or is an older or another one. */
export interface StoreDoubt {
  /** The last loss that it is about. */
  readonly sinceMs: number;
  /** For people. */
  readonly because: string;
  /** The supervisor's database may lack them too, without knowing. */
  readonly both: boolean;
  /** Every order that the supervisor knows is in the journal. */
  readonly isTakenOver: boolean;
  /** Sales that the terminal has stored and that no order here has. */
  readonly ofNoOrder: readonly TransactionReport[];
}

/**
 * The program runs so long at least before a doubt ends: a kiosk repeats orders of the same day.
 * Other time than that of its own running is not sure, because a clock can be set.
 */
export const DOUBT_MIN_MS = 24 * 3_600_000;

/**
 * The journal's doubt about itself (docs/rules/17-loss.md). The doubt ends when an end of day was
 * begun after it, the program has run {@link DOUBT_MIN_MS} since its last loss and the supervisor's
 * orders are taken over, or by an operator's word.
 */
export interface DoubtStore {
  /** The doubt that is open; undefined: the journal is whole. */
  open(): StoreDoubt | undefined;
  /** Whether an attempt was here before the open one began, whatever the clock says. */
  concerns(transactionId: string): boolean;
  /** Begins one, or adds to the one that is open. */
  begin(because: string, both: boolean, atMs: number): void;
  /** The program has run so long since it was last told; nothing where no doubt is open. */
  ran(ms: number): void;
  /** Where the taking over of the supervisor's orders goes on. */
  takenTo(): number;
  /** Takes orders over, those that are here already too; `to`: how far; `done`: these were all. */
  takeOver(orders: readonly KnownOrder[], page: TakenPage | null, atMs: number): void;
  /**
   * Whether the journal knows a transaction of the terminal: that of an attempt, one that was
   * stored before an attempt, an unmatched one, or one that was told as of no order here.
   */
  knowsReport(report: TransactionReport): boolean;
  /**
   * Whether the terminal has taken back a sale that it made after the newest charge or reversal of
   * this journal that is one by its own word. An attempt since can have made that sale only where
   * it asked for that amount.
   */
  tookBackLater(report: TransactionReport): boolean;
  /** A reversal counts as known from then on, and holds nothing up. */
  addOfNoOrder(report: TransactionReport): void;
  /** false: none was open. "end-of-day": nobody asks for an order of before any more. */
  end(by: "end-of-day" | "operator", atMs: number): boolean;
}

export interface TakenPage {
  readonly to: number;
  readonly done: boolean;
}
