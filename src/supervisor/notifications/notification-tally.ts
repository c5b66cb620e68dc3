import type { DatabaseSync } from "node:sqlite";
import type { SupervisorAnswer } from "../../shared/ipc/contract.ts";
import { Tables } from "../../shared/store/tables.ts";
import type { Clock } from "../../shared/time.ts";

type Figures = NonNullable<SupervisorAnswer<"status">["notifications"]>;

/** The verdicts on requests to the notification port. */
const verdicts = [
  /** Genuine, about our order and new. */
  "accepted",
  /** Genuine, about our order and known already. */
  "repeated",
  /** Genuine and not about our order. */
  "mismatch",
  "wrong-digest",
  "wrong-signature",
  /** Signed right, and in a form that is not understood: most likely the gateway's. */
  "unreadable",
  /** Genuine, but one too many or perhaps about a lost order; the gateway sends it again. */
  "put-off",
  /** Not a notification in its documented form. */
  "malformed",
] as const;
type NotificationVerdict = (typeof verdicts)[number];

/** A message that is not taken for the gateway's. */
export interface Refusal {
  readonly genuine: false;
  readonly counted: NotificationVerdict;
  readonly why: string;
  /** The gateway most likely sent it all the same: an operator is needed. */
  readonly alarming: boolean;
}

export function refusal(counted: NotificationVerdict, why: string, alarming = false): Refusal {
  return { genuine: false, counted, why, alarming };
}

/** Verdicts on notifications that the gateway may have sent: refusing them is a condition. */
const hindering: readonly NotificationVerdict[] = [
  "mismatch",
  "wrong-digest",
  "wrong-signature",
  "unreadable",
];

/** The time without a refused notification after which the condition can be over. */
const QUIET_MS = 10 * 60_000;

type Refused = NonNullable<Figures["refused"]> & {
  lastMs: number;
  /** When a genuine notification came after the last that was refused. */
  acceptedMs: number | null;
};

/**
 * Counts notifications by verdict and knows whether refused ones are a condition. Anyone may send
 * to the port, so nothing is written for a single one: {@link save} writes what has changed.
 */
export class NotificationTally extends Tables {
  readonly #clock: Clock;
  readonly #verdicts: Record<NotificationVerdict, number>;
  #refused: Refused | null;
  #changed = false;

  constructor(database: DatabaseSync, clock: Clock) {
    super(database);
    this.#clock = clock;
    const none = verdicts.map((verdict) => [verdict, 0]);
    this.#verdicts = Object.fromEntries(none) as Record<NotificationVerdict, number>;
    const sql = `SELECT count, since_ms AS sinceMs, last_ms AS lastMs, accepted_ms AS acceptedMs,
        reason FROM refused_notifications`;
    this.#refused = this.get<Refused>(sql) ?? null;
  }

  /** Counts one. `why`: a text of this program, never the sender's, for the operator. */
  count(verdict: NotificationVerdict, why: string): void {
    const nowMs = this.#clock.now();
    this.#verdicts[verdict] += 1;
    if (hindering.includes(verdict)) {
      const { count, sinceMs } = this.#refused ?? { count: 0, sinceMs: nowMs };
      const news = { lastMs: nowMs, acceptedMs: null, reason: why };
      this.#refused = { count: count + 1, sinceMs, ...news };
    } else if (this.#refused && (verdict === "accepted" || verdict === "repeated")) {
      this.#refused.acceptedMs ??= nowMs;
    } else return;
    this.#changed = true;
  }

  get figures(): Figures {
    this.#endWhenQuiet();
    const verdicts = { ...this.#verdicts };
    if (!this.#refused) return { verdicts, refused: null };
    const { count, sinceMs, reason } = this.#refused;
    return { verdicts, refused: { count, sinceMs, reason } };
  }

  /** Writes what has changed since the last call; it is on disk when this returns. */
  save(): void {
    this.#endWhenQuiet();
    if (!this.#changed) return;
    const refused = this.#refused;
    if (refused === null) this.run("DELETE FROM refused_notifications");
    else {
      const { count, sinceMs, lastMs, acceptedMs, reason } = refused;
      const sql = "INSERT OR REPLACE INTO refused_notifications VALUES (1, ?, ?, ?, ?, ?)";
      this.run(sql, count, sinceMs, lastMs, acceptedMs, reason);
    }
    this.#changed = false;
  }

  #endWhenQuiet(): void {
    const refused = this.#refused;
    if (!refused) return;
    const nowMs = this.#clock.now();
    // Otherwise the quiet time would last long after a clock that went back.
    refused.lastMs = Math.min(refused.lastMs, nowMs);
    if (refused.acceptedMs === null || nowMs - refused.lastMs < QUIET_MS) return;
    this.#refused = null;
    this.#changed = true;
  }
}
