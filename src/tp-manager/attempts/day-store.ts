import type { TelecollectionEnd } from "../terminal/terminal.ts";
import type { Reconciliation } from "./reconciliation.ts";
import type { TelecollectionAsker } from "./terminal-log.ts";

/** How long something was so within an hour, and how many transactions waited. */
export interface HourRow {
  /** Epoch milliseconds of the hour's begin on the kiosk's clock. */
  readonly atMs: number;
  /** A payment would have been taken, or ran. */
  readonly readyMs: number;
  /** With a link, and a payment would have been refused. */
  readonly refusingMs: number;
  readonly noLinkMs: number;
  /** Transactions for the gateway at most; null: the supervisor did not tell. */
  readonly waitingMax: number | null;
}

/** An end of day that may have closed something, and its comparison where there is one. */
export interface ClosingOfDay {
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  readonly askedBy: TelecollectionAsker;
  /** null: its end was not heard. */
  readonly end: TelecollectionEnd | null;
  readonly reconciliation: Reconciliation | null;
}

/** The journal's facts about a day, beside its attempts. */
export interface DayStore {
  /** Adds to what the hour has, and drops hours that began before `keepMs`. */
  addHour(hour: HourRow, keepMs: number): void;
  /** Hours that began in the range, in their order. */
  hours(fromMs: number, untilMs: number): HourRow[];
  /** Ends of day that were begun in the range, in their order. */
  closings(fromMs: number, untilMs: number): ClosingOfDay[];
}
