import type { ResponseOf, supervisorMessages, tpManagerMessages } from "../ipc/contract.ts";
import texts from "./texts-en.json" with { type: "json" };

type SupervisorStatus = ResponseOf<typeof supervisorMessages, "status">;
/** The members of tp-manager's status that tell of troubles. */
export type TpManagerConditions = Pick<
  ResponseOf<typeof tpManagerMessages, "status">,
  | "handOver"
  | "refusedHandOffs"
  | "standingAtGateway"
  | "unreadCharges"
  | "unmatched"
  | "strays"
  | "differences"
  | "obstacles"
  | "refusedAmounts"
>;

/** All that is asked to find troubles. A program of the previous version tells less. */
export interface ConditionFacts {
  /** null: the supervisor does not answer; undefined: another line of the face tells of that. */
  readonly supervisor: SupervisorStatus | null | undefined;
  /** undefined: tp-manager was not asked, or does not tell. */
  readonly tpManager: TpManagerConditions | undefined;
}

interface Found {
  readonly says: string;
  /** null: not known. */
  readonly sinceMs: number | null;
  /** How many transactions, operations or notifications are concerned; null: not countable. */
  readonly count: number | null;
  /** Orders that it is about, at most {@link NAMED_MAX}. */
  readonly orderIds?: readonly string[];
}

type CheckName =
  | "supervisor"
  | "hand-over"
  | "payments"
  | "queue"
  | "gateway"
  | "notifications"
  | "updates"
  | "certificates"
  | typeof KEEPS_PAYMENTS;

interface TroubleRow {
  /** Who sees the trouble begin and end, and so raises its alarm. */
  readonly by: "supervisor" | "tp-manager";
  /** The alarm that lasts as long as the trouble. */
  readonly alarm: string;
  /** The alarm's previous name. */
  readonly formerly: string | undefined;
  readonly raised: "on-the-spot" | "watch";
  /** The line of the doctor. */
  readonly check: CheckName;
  /** The doctor fails: nothing goes on before somebody acts. */
  readonly critical: boolean;
  readonly when: string;
  readonly todo: string;
  readonly find: (facts: ConditionFacts) => Found | null;
}

/** An unmatched transaction (docs/matching.md). */
const UNMATCHED = "unmatched-transaction";

/** The queue is in trouble when its oldest item has waited for longer. */
export const QUEUE_OLD_MS = 10 * 60_000;

/**
 * The line of a trouble that keeps payments from being taken. Every face tells that already, with
 * the words of the arbiter (`obstaclesOf`), so such a trouble gives it an alarm only.
 */
export const KEEPS_PAYMENTS = "terminal";

type Row = Omit<TroubleRow, "by" | "when" | "todo">;

const row =
  (raised: Row["raised"]) =>
  (
    severity: "critical" | "warns",
    check: CheckName,
    alarm: string,
    find: Row["find"],
    formerly?: string,
  ): Row => ({ raised, critical: severity === "critical", check, alarm, find, formerly });
/** The watch of the program raises the alarm, once. */
const watched = row("watch");
/** Each transaction or operation raises the alarm where it happens. */
const onTheSpot = row("on-the-spot");

/** `code`: of the answer that a payment would get. */
const keepsPayments = (alarm: string, code: string): Row =>
  watched("critical", KEEPS_PAYMENTS, alarm, ({ tpManager: { obstacles = [] } = {} }) => {
    const one = obstacles.find((found) => found.code === code);
    return one ? found(one.says) : null;
  });

/** The rows of the program that sees these troubles begin and end. */
const seenBy = <Name extends keyof typeof texts.troubles>(
  by: TroubleRow["by"],
  rows: Readonly<Record<Name, Row>>,
) =>
  Object.fromEntries(
    Object.entries<Row>(rows).map(([name, row]) => [
      name,
      { by, ...row, ...texts.troubles[name as Name] },
    ]),
  ) as Readonly<Record<Name, TroubleRow>>;

/**
 * The one table of what can be wrong for longer, at the terminal and between a charged card and the
 * gateway: `/health`, `/metrics`, `launch.sh status`, the doctor, the alarms and docs/operator.md
 * derive from it. `when` and `todo` of each row are in texts-en.json.
 */
export const conditionTable = {
  ...seenBy("tp-manager", {
    "terminal-disconnected": keepsPayments("terminal-disconnected", "TERMINAL_DISCONNECTED"),
    "terminal-out-of-order": keepsPayments("terminal-out-of-order", "TERMINAL_OUT_OF_ORDER"),
    "terminal-changed": keepsPayments("terminal-changed", "TERMINAL_CHANGED"),
    "journal-unwritable": keepsPayments("journal-unwritable", "STORAGE_FAILED"),
    "supervisor-silent": watched("critical", "supervisor", "supervisor-silent", ({ supervisor }) =>
      supervisor === null
        ? found("the supervisor does not answer: transactions wait in the journal")
        : null,
    ),
    "hand-over-failing": watched(
      "critical",
      "hand-over",
      "hand-over-failing",
      ({ tpManager: { handOver } = {} }) =>
        handOver
          ? found(
              `${amount(handOver.pending, "transaction")} not handed over: ${handOver.reason}`,
              handOver.sinceMs,
              handOver.pending,
            )
          : null,
    ),
    "hand-over-refused": onTheSpot(
      "warns",
      "hand-over",
      "hand-off-refused",
      ({ tpManager: { refusedHandOffs: count = 0 } = {} }) =>
        count === 0 ? null : found(`${amount(count, "transaction")} refused`, null, count),
    ),
    "reversed-at-terminal-only": onTheSpot(
      "warns",
      "gateway",
      "reversed-after-sending",
      ({ tpManager: { standingAtGateway: orders = [] } = {} }) => {
        const words = `${amount(orders.length, "order")} reversed at the terminal only: `;
        if (orders.length === 0) return null;
        return { ...found(words + namesOf(orders), null, orders.length), ...named(orders) };
      },
    ),
    "sales-without-order": onTheSpot(
      "warns",
      "payments",
      UNMATCHED,
      ({ tpManager: { strays, unmatched: open } = {} }) => {
        const unmatched = open ?? strays;
        if (!unmatched) return null;
        const { count, sinceMs } = unmatched;
        return found(amount(count, "unmatched transaction"), sinceMs, count);
      },
      "sale-without-order",
    ),
    differences: onTheSpot(
      "warns",
      "payments",
      "terminal-difference",
      ({ tpManager: { differences: open } = {} }) =>
        open
          ? found(`${amount(open.count, "difference")} from the journal`, open.sinceMs, open.count)
          : null,
    ),
    "amounts-refused": watched(
      "warns",
      "payments",
      "amounts-refused",
      ({ tpManager: { refusedAmounts: refused = [] } = {} }) => {
        if (refused.length === 0) return null;
        const amounts = [...new Set(refused.map(({ amount }) => amount))];
        const orderIds = refused.map(({ orderId }) => orderId);
        const doubtful = namesOf(orderIds);
        const words = `no payment of ${namesOf(amounts)} is taken: in doubt is ${doubtful}`;
        return { ...found(words, null, refused.length), ...named(orderIds) };
      },
    ),
    "charges-unread": watched(
      "warns",
      "payments",
      "charge-unread",
      ({ tpManager: { unreadCharges } = {} }) => {
        if (!unreadCharges) return null;
        const { count, sinceMs, orderIds } = unreadCharges;
        const words = `${amount(count, "charge")} that nobody has read: `;
        return { ...found(words + namesOf(orderIds, count), sinceMs, count), ...named(orderIds) };
      },
    ),
  }),
  ...seenBy("supervisor", {
    "credentials-refused": onTheSpot(
      "critical",
      "gateway",
      "gateway-credentials-refused",
      ({ supervisor }) => {
        const { paused = null, pausedSinceMs = null } = supervisor?.outbox ?? {};
        return paused === null
          ? null
          : found(`nothing is sent to the gateway: ${paused}`, pausedSinceMs);
      },
    ),
    "gateway-misconfigured": onTheSpot(
      "critical",
      "gateway",
      "gateway-misconfigured",
      ({ supervisor }) => {
        const { misconfigured = null } = supervisor?.outbox ?? {};
        return (
          misconfigured && found(`the gateway: ${misconfigured.reason}`, misconfigured.sinceMs)
        );
      },
    ),
    "lookup-refused": onTheSpot("warns", "gateway", "gateway-lookup-refused", ({ supervisor }) => {
      const { lookupRefused = null, ambiguous } = supervisor?.outbox ?? {};
      // The next lookup comes with the next lost answer: without one nothing is lacking.
      if (lookupRefused === null || ambiguous?.inDoubt === 0) return null;
      return found(`the order lookup: ${lookupRefused.reason}`, lookupRefused.sinceMs);
    }),
    "queue-old": watched("warns", "queue", "queue-old", ({ supervisor }) => {
      const { oldestAgeMs = null, pending = 0, oldestAtMs = null } = supervisor?.outbox ?? {};
      if (oldestAgeMs === null || oldestAgeMs <= QUEUE_OLD_MS) return null;
      const minutes = Math.floor(oldestAgeMs / 60_000);
      const words = `${amount(pending, "transaction")} waiting for the gateway`;
      return found(`${words}, the oldest for ${minutes} minutes`, oldestAtMs, pending);
    }),
    "transactions-parked": onTheSpot("warns", "queue", "transaction-parked", ({ supervisor }) => {
      const { parked = 0, parkedSinceMs = null } = supervisor?.outbox ?? {};
      const words = `${amount(parked, "transaction")} parked: not sent, waiting for an operator`;
      return parked === 0 ? null : found(words, parkedSinceMs, parked);
    }),
    "order-copies": onTheSpot("warns", "queue", "gateway-order-ambiguous", ({ supervisor }) => {
      const count = supervisor?.outbox.ambiguous?.possibleCopies ?? 0;
      const words = `${amount(count, "order")} the gateway may have more than once`;
      return count === 0 ? null : found(words, null, count);
    }),
    "queue-unwritable": watched("critical", "queue", "queue-unwritable", ({ supervisor }) => {
      const { unwritable = null } = supervisor ?? {};
      return unwritable && found(`the queue: ${unwritable.reason}`, unwritable.sinceMs);
    }),
    "operations-unknown": onTheSpot(
      "warns",
      "gateway",
      "gateway-operation-unknown",
      ({ supervisor }) => {
        const { unknown = 0, unknownSinceMs = null } = supervisor?.operations ?? {};
        const words = `${amount(unknown, "operation")} at the gateway with an unknown end`;
        return unknown === 0 ? null : found(words, unknownSinceMs, unknown);
      },
    ),
    "notifications-refused": watched(
      "warns",
      "notifications",
      "notifications-refused",
      ({ supervisor }) => {
        const { count, sinceMs, reason } = supervisor?.notifications?.refused ?? { count: 0 };
        const words = `${amount(count, "notification")} refused, the last one: ${reason}`;
        return count === 0 ? null : found(words, sinceMs ?? null, count);
      },
    ),
    "update-failed": watched("warns", "updates", "update-failed", ({ supervisor }) => {
      const { failed = null } = supervisor?.updates ?? {};
      return failed && found(failed.reason, failed.sinceMs);
    }),
    "updates-stuck": watched("warns", "updates", "updates-stuck", ({ supervisor }) => {
      const { stuck = null } = supervisor?.updates ?? {};
      return stuck && found(`no updates: ${stuck.reason}`, stuck.sinceMs);
    }),
    "certificates-end": watched("warns", "certificates", "certificates-end", ({ supervisor }) => {
      const { certificates = null } = supervisor ?? {};
      return certificates && found(certificates.reason, certificates.sinceMs);
    }),
  }),
};

export type ConditionName = keyof typeof conditionTable;

export const conditionNames = Object.keys(conditionTable) as ConditionName[];

/** A trouble that is there now. */
export interface Condition extends Found {
  readonly name: ConditionName;
  readonly row: TroubleRow;
}

/** The troubles that are there, in the order of the table. Pure. */
export function conditionsOf(facts: ConditionFacts): Condition[] {
  return conditionNames.flatMap((name) => {
    const row: TroubleRow = conditionTable[name];
    const one = row.find(facts);
    return one ? [{ name, row, ...one }] : [];
  });
}

/** For people: the trouble, since when, and what to do. */
export function conditionText({ says, sinceMs, row }: Condition): string {
  return `${saysSince({ says, sinceMs })} -> ${row.todo}`;
}

/** For people. */
export function inDoubtText(count: number): string {
  return `payments in doubt: ${count}`;
}

export function saysSince({ says, sinceMs }: Pick<Found, "says" | "sinceMs">): string {
  if (sinceMs === null) return says;
  return `${says} (since ${new Date(sinceMs).toISOString().slice(0, 16)}Z)`;
}

/** Alarms that are there as long as their trouble; by the name of the alarm, now and before. */
export const lastingAlarms: ReadonlyMap<string, ConditionName> = new Map(
  conditionNames.flatMap((name) => {
    const { alarm, formerly = alarm }: TroubleRow = conditionTable[name];
    return [alarm, formerly].map((each) => [each, name] as const);
  }),
);

/** The names of before of alarms that were renamed, by the name of now. */
export const formerAlarms: ReadonlyMap<string, string> = new Map(
  conditionNames.flatMap((name) => {
    const { alarm, formerly }: TroubleRow = conditionTable[name];
    return formerly === undefined ? [] : [[alarm, formerly] as const];
  }),
);

/** The trouble that an alarm, as an event tells it, lasts as long as. */
export function conditionOfAlarm(alarm: unknown, finding: unknown): ConditionName | undefined {
  // A transaction that is still asked about may be no trouble.
  if (alarm === UNMATCHED && finding === undefined) return undefined;
  return lastingAlarms.get(String(alarm));
}

function found(says: string, sinceMs: number | null = null, count: number | null = null): Found {
  return { says, sinceMs, count };
}

const NAMED_MAX = 5;

const named = (orderIds: readonly string[]) => ({ orderIds: orderIds.slice(0, NAMED_MAX) });

function namesOf(orderIds: readonly string[], count = orderIds.length): string {
  const named = orderIds.slice(0, NAMED_MAX);
  return named.join(", ") + (count > named.length ? " and more" : "");
}

function amount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
