import type { AttemptStore } from "../attempts/attempt-store.ts";
import type { Attempt } from "../attempts/payment.ts";
import type { NamedRecord } from "./comparison.ts";

/** A record that a terminal told before. */
export interface KnownRecord {
  readonly record: NamedRecord;
  /** null: told when nothing ran, or stored before a command of ours. */
  readonly transactionId: string | null;
  /**
   * "step": in an attempt. "unmatched": of no attempt for certain. "of-no-order": found, and no
   * order here can have made it. "baseline": stored before a command of ours.
   */
  readonly seenAs: "step" | "unmatched" | "of-no-order" | "baseline";
  /** Epoch milliseconds. */
  readonly atMs: number;
}

/** Every record that was ever told, and every attempt that was ever sent. */
export interface RecordStore {
  /**
   * Records that share a name with this one, the oldest first; of a record that tells no moment
   * only those told since `sinceMs`. The archive is included.
   */
  sharingName(record: NamedRecord, sinceMs: number): KnownRecord[];
  /** As {@link sharingName}, without those of the same second that name another trace. */
  sharingNumber(record: NamedRecord, sinceMs: number): KnownRecord[];
  /** The attempts that were told a record with this trace, the oldest first. */
  sharingTrace(trace: string): string[];
  /** An end of day may have run since, by the clock. */
  closedSince(atMs: number): boolean;
  /** Attempts with a write-ahead record, the newest first, read as far as they are asked for. */
  sent(): Iterable<Attempt>;
}

/** The journal as the matcher reads it; all of it is indexed. */
export interface JournalView
  extends Omit<RecordStore, "sharingTrace">,
    Pick<AttemptStore, "events" | "read" | "orderOf" | "nextCommand" | "unfinished"> {
  /** An end of day may have run since the attempt was begun. */
  wasClosedAfter(attempt: Attempt): boolean;
}
