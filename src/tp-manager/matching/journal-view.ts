import type { Attempt } from "../attempts/payment.ts";
import type { AttemptRows } from "../journal/attempt-rows.ts";
import type { RecordRows } from "../journal/record-rows.ts";

/** The journal as the matcher reads it; all of it is indexed. */
export interface JournalView
  extends Pick<AttemptRows, "events" | "read" | "orderOf" | "unfinished">,
    Pick<RecordRows, "sharingName" | "sharingNumber" | "closedSince" | "sent" | "nextCommand"> {
  /** An end of day may have run since the attempt was begun. */
  wasClosedAfter(attempt: Attempt): boolean;
}
