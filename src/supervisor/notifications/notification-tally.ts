import type { DatabaseSync } from "node:sqlite";
import type { SupervisorAnswer } from "../../shared/ipc/contract.ts";
import { Tables } from "../../shared/store/sqlite.ts";
import type { Clock } from "../../shared/time.ts";

type Figures = NonNullable<SupervisorAnswer<"status">["notifications"]>;

/**
 * The verdicts on messages to the notification port. "accepted", "repeated": genuine and about our
 * order, new or stored before. "mismatch": genuine, but not about our order. "unreadable": signed
 * by the gateway, but in an unknown form. "put-off": genuine, but over the limit or perhaps about a
 * lost order; the gateway sends it again. "malformed": not in the documented form.
 */
const verdicts = [
  "accepted",
  "repeated",
  "mismatch",
  "wrong-digest",
  "wrong-signature",
  "unreadable",
  "put-off",
  "malformed",
] as const;
type NotificationVerdict = (typeof verdicts)[number];

/** `alarming`: most likely the gateway sent the refused message, so that an operator is needed. */
export function refusal(counted: NotificationVerdict, why: string, alarming = false) {
  return { genuine: false as const, counted, why, alarming };
}
export type Refusal = ReturnType<typeof refusal>;

/** Verdicts on refused messages that the gateway may have sent, which begin a condition. */
const hindering: readonly NotificationVerdict[] = [
  "mismatch",
  "wrong-digest",
  "wrong-signature",
  "unreadable",
];

/** How long after the last refused message the condition about refused notifications can end. */
const QUIET_MS = 10 * 60_000;

type Refused = NonNullable<Figures["refused"]> & {
  lastMs: number;
  /** When a genuine notification followed the last refused notification; null: none followed. */
  acceptedMs: number | null;
};

/**
 * Counts notifications by verdict, and decides whether refused ones are a condition. Any sender can
 * reach the port, so a message writes nothing to the disk; {@link save} writes the changes.
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

  /** Counts one message. `why`: this program's text for the operator, never the sender's text. */
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

  /** Writes the counts that have changed, which are on disk when this function returns. */
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
    // After the clock was set back, a later time of the last refusal would prolong the condition.
    refused.lastMs = Math.min(refused.lastMs, nowMs);
    if (refused.acceptedMs === null || nowMs - refused.lastMs < QUIET_MS) return;
    this.#refused = null;
    this.#changed = true;
  }
}
