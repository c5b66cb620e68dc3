import type { NoteStep } from "./attempt-event.ts";
import type { Attempt, OpenReturn } from "./payment.ts";

/** The word of the gateway's notifications about the money of one of our transactions. */
export interface NotedReturn {
  readonly transactionId: string;
  /** In all, by whomever it was asked for; 0: something, but nothing for certain. */
  readonly returnedMinor: number;
}

/** The money of an order after a return of our own. */
interface ReturnedSum {
  /** In all, as far as the supervisor knows. */
  readonly sumMinor: number;
  /** Adds to what had gone back when the return was reserved; 0: of the sum alone it is known. */
  readonly addedMinor: number;
}

/** An attempt after a return was noted. */
export interface NotedAttempt {
  readonly attempt: Attempt;
  /** false: it was noted before. */
  readonly isNew: boolean;
}

/** Money that goes back by way of the gateway. */
export interface ReturnStore {
  /**
   * Reserves a return at the gateway: only for a charged attempt without another return under way,
   * and never of more than is left. false: it is not reserved. An attempt with one, or of which a
   * part was returned, can no longer become "reversing".
   */
  reserveReturn(transactionId: string, open: OpenReturn, chargedMinor: number): boolean;
  /** The gateway's word: what has gone back of the order; null: nothing happened. */
  endReturn(
    transactionId: string,
    open: OpenReturn,
    returned: ReturnedSum | null,
    event: NoteStep,
  ): void;
  /**
   * The journal, which lacks nothing since the attempt was begun, knows of no return that was
   * reserved with a caller's key. false of an attempt in the archive.
   */
  neverAsked(transactionId: string, idempotencyKey: string): boolean;
  /** Attempts with a reserved return whose end is not known, oldest first. */
  openReturns(): Attempt[];
  /** Orders whose money went back both ways, when the alarm about it did not get to the disk. */
  untoldTwice(): Attempt[];
  /** How far the gateway's notifications of returned money are known here; 0: none. */
  returnsSeen(): number;
  /**
   * Notes the notified returns, each on disk when this returns. A return noted again changes
   * nothing; sums never shrink. Gives back the attempts that are meant.
   */
  noteReturns(returns: readonly NotedReturn[], atMs: number): NotedAttempt[];
  /** The notifications up to `last` are noted, and what follows from them is told. */
  seeReturns(last: number): void;
}
