import type { DatabaseSync } from "node:sqlite";
import type { ResponseOf, supervisorMessages } from "../../shared/ipc/contract.ts";
import type { Clock } from "../../shared/time.ts";

type Figures = NonNullable<ResponseOf<typeof supervisorMessages, "status">["notifications"]>;

/** A verdict on one request to the notification port. */
const verdicts = [
  /** Genuine, ours and new. */
  "accepted",
  /** Genuine, ours and known already. */
  "repeated",
  /** Genuine and not about our order. */
  "mismatch",
  "wrong-digest",
  "wrong-signature",
  /** Signed right, but in a form that is not understood: most likely the gateway's. */
  "unreadable",
  /** Genuine, and too many at once or perhaps of a lost order; the gateway sends them again. */
  "put-off",
  /** No notification in its documented form. */
  "malformed",
] as const;
export type NotificationVerdict = (typeof verdicts)[number];

/** Verdicts on notifications that the gateway may have sent: refusing them is a condition. */
const hindering: readonly NotificationVerdict[] = [
  "mismatch",
  "wrong-digest",
  "wrong-signature",
  "unreadable",
];

/** The condition is over when none was refused for so long and a good one came meanwhile. */
export const QUIET_MS = 10 * 60_000;

interface Refused {
  count: number;
  readonly sinceMs: number;
  lastMs: number;
  /** A good one came after the last that was refused. */
  acceptedMs: number | null;
  reason: string;
}

/**
 * Counts notifications by verdict and knows whether refused ones are a condition. Anyone may send
 * to the port, so nothing is written for a single one: {@link save} writes what has changed.
 */
export class NotificationTally {
  readonly #database: DatabaseSync;
  readonly #clock: Clock;
  readonly #verdicts: Record<NotificationVerdict, number>;
  #refused: Refused | null;
  #changed = false;

  constructor(database: DatabaseSync, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    const none = verdicts.map((verdict) => [verdict, 0]);
    this.#verdicts = Object.fromEntries(none) as Record<NotificationVerdict, number>;
    this.#refused = this.#stored();
  }

  /** `why` is a text of ours, never the sender's: the operator reads it. */
  count(verdict: NotificationVerdict, why: string): void {
    const nowMs = this.#clock.now();
    this.#verdicts[verdict] += 1;
    if (hindering.includes(verdict)) {
      const count = (this.#refused?.count ?? 0) + 1;
      const sinceMs = this.#refused?.sinceMs ?? nowMs;
      this.#refused = { count, sinceMs, lastMs: nowMs, acceptedMs: null, reason: why };
    } else if (this.#refused && (verdict === "accepted" || verdict === "repeated")) {
      this.#refused.acceptedMs ??= nowMs;
    } else return;
    this.#changed = true;
  }

  /** For `status`. */
  get figures(): Figures {
    this.#endWhenQuiet();
    const refused = this.#refused;
    return {
      verdicts: { ...this.#verdicts },
      refused: refused && {
        count: refused.count,
        sinceMs: refused.sinceMs,
        reason: refused.reason,
      },
    };
  }

  /** On disk when it returns. Costs nothing when nothing has changed. */
  save(): void {
    this.#endWhenQuiet();
    if (!this.#changed) return;
    const refused = this.#refused;
    if (refused === null) this.#database.prepare("DELETE FROM refused_notifications").run();
    else {
      const { count, sinceMs, lastMs, acceptedMs, reason } = refused;
      this.#database
        .prepare("INSERT OR REPLACE INTO refused_notifications VALUES (1, ?, ?, ?, ?, ?)")
        .run(count, sinceMs, lastMs, acceptedMs, reason);
    }
    this.#changed = false;
  }

  #endWhenQuiet(): void {
    const refused = this.#refused;
    if (!refused) return;
    const nowMs = this.#clock.now();
    // After a clock that went back the quiet time would not end for long.
    refused.lastMs = Math.min(refused.lastMs, nowMs);
    if (refused.acceptedMs === null || nowMs - refused.lastMs < QUIET_MS) return;
    this.#refused = null;
    this.#changed = true;
  }

  #stored(): Refused | null {
    const sql = `SELECT count, since_ms AS sinceMs, last_ms AS lastMs, accepted_ms AS acceptedMs,
        reason
      FROM refused_notifications`;
    return (this.#database.prepare(sql).get() as Refused | undefined) ?? null;
  }
}
