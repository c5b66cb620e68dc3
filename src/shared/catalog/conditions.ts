import type { SupervisorAnswer } from "../ipc/contract.ts";
import type { TpManagerConditions } from "../ipc/status-figures.ts";
import type { AlarmName } from "./alarms.ts";
import { type ErrorCode, errorTable } from "./errors.ts";
import texts from "./texts-en.json" with { type: "json" };

/** The facts that decide which conditions are present; an older version reports fewer facts. */
interface ConditionFacts {
  /** The supervisor's status; null: it does not answer; undefined: it was not asked. */
  readonly supervisor: SupervisorAnswer<"status"> | null | undefined;
  /** The facts of tp-manager; undefined: it was not asked, or is too old to report them. */
  readonly tpManager: TpManagerConditions | undefined;
}

interface Finding {
  readonly reason?: string;
  readonly sinceMs?: number | null | undefined;
  readonly count?: number | undefined;
  readonly orderIds?: readonly string[];
  readonly amounts?: readonly string[];
  readonly minutes?: number;
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
  | "fleet"
  | typeof KEEPS_PAYMENTS;

interface Row {
  readonly alarm: AlarmName | undefined;
  readonly formerly?: string | undefined;
  readonly raised: "on-the-spot" | "watch";
  readonly check: CheckName;
  /** Whether `launch.sh doctor` reports the condition as a failure, not only as a warning. */
  readonly critical: boolean;
  /** Returns the facts if the condition is present; null or undefined: it is not present. */
  readonly find: (facts: ConditionFacts) => Finding | null | undefined;
}

interface ConditionRow extends Row {
  readonly alarm: AlarmName;
  /** The program that raises the alarm, because it notices when the condition begins and ends. */
  readonly by: "supervisor" | "tp-manager";
  /** The condition's text, with placeholders for its facts. */
  readonly says: string;
  readonly when: string;
  /** When the condition ends, if this is not clear from when it is there. */
  readonly ends?: string;
  readonly todo: string;
  /** The advice that the console shows instead, because it names the console's buttons. */
  readonly console?: { readonly todo: string };
}

const UNMATCHED = "unmatched-transaction";

/** How long the oldest item of the queue may wait before the condition `queue-old` begins. */
const QUEUE_OLD_MS = 10 * 60_000;

/**
 * The name of the doctor's line about conditions that prevent payments. `/health`, the status and
 * the doctor already report these conditions as not-ready reasons; their rows here add the alarms.
 */
export const KEEPS_PAYMENTS = "terminal";

type Severity = "critical" | "warns";

const watched = (severity: Severity, check: CheckName, find: Row["find"], alarm?: AlarmName) =>
  ({ raised: "watch", critical: severity === "critical", check, find, alarm }) as const;

/** Returns the row of a condition whose alarm is raised where it begins, not by ConditionWatch. */
const onTheSpot = (
  severity: Severity,
  check: CheckName,
  alarm: AlarmName,
  find: Row["find"],
  formerly?: string,
): Row => ({ ...watched(severity, check, find, alarm), raised: "on-the-spot", formerly });

/** Returns the rows of conditions in which payments are refused with an error code. */
const keepPayments = <Name extends AlarmName>(codes: Readonly<Record<Name, ErrorCode>>) =>
  Object.fromEntries(
    Object.entries<ErrorCode>(codes).map(([name, code]) => {
      const row = watched("critical", KEEPS_PAYMENTS, ({ tpManager }) => {
        const reason = tpManager?.obstacles?.find((one) => one.code === code)?.says;
        return reason === undefined ? null : { reason };
      });
      const { meaning: when, action: todo } = errorTable[code];
      return [name, { ...row, by: "tp-manager", alarm: name, says: "{reason}", when, todo }];
    }),
  ) as Readonly<Record<Name, ConditionRow>>;

const counted = (count = 0, sinceMs: number | null = null): Finding | null =>
  count === 0 ? null : { count, sinceMs };

const labels: Readonly<Record<string, string>> = texts.console;
/** Returns a text with the names of the console's views and buttons filled in. */
const withLabels = (text: string): string =>
  text.replace(/\{([\w.-]+)\}/g, (whole, key: string) => labels[key] ?? whole);

/** Adds to each row its texts, its alarm's name, and the program that raises the alarm. */
const rowsOf = <Name extends keyof typeof texts.conditions>(
  by: ConditionRow["by"],
  rows: Readonly<Record<Name, Row>>,
) =>
  Object.fromEntries(
    Object.entries<Row>(rows).map(([name, row]) => {
      const own = texts.conditions[name as Name];
      const alarm = row.alarm ?? (name as AlarmName);
      return [name, { by, ...row, alarm, ...own, todo: withLabels(own.todo) }];
    }),
  ) as Readonly<Record<Name, ConditionRow>>;

/**
 * The only table of conditions: faults that last, at the terminal or on the way of a charge to the
 * gateway. `/health`, `/metrics`, `launch.sh status`, the doctor, the alarms, the console and
 * docs/operator.md use this table. The texts of each row are in texts-en.json; a condition that
 * keeps payments from being accepted has the texts of the error code that they are refused with.
 */
export const conditionTable = {
  ...keepPayments({
    "terminal-disconnected": "TERMINAL_DISCONNECTED",
    "terminal-out-of-order": "TERMINAL_OUT_OF_ORDER",
    "terminal-changed": "TERMINAL_CHANGED",
    "journal-unwritable": "STORAGE_FAILED",
  }),
  ...rowsOf("tp-manager", {
    "supervisor-silent": watched("critical", "supervisor", ({ supervisor }) =>
      supervisor === null ? {} : null,
    ),
    "hand-over-failing": watched(
      "critical",
      "hand-over",
      ({ tpManager: { handOver } = {} }) => handOver && { ...handOver, count: handOver.pending },
    ),
    "hand-over-refused": onTheSpot("warns", "hand-over", "hand-off-refused", ({ tpManager }) =>
      counted(tpManager?.refusedHandOffs),
    ),
    "reversed-at-terminal-only": onTheSpot(
      "warns",
      "gateway",
      "reversed-after-sending",
      ({ tpManager: { standingAtGateway: orderIds = [] } = {} }) =>
        orderIds.length === 0 ? null : { orderIds, count: orderIds.length },
    ),
    "sales-without-order": onTheSpot(
      "warns",
      "payments",
      UNMATCHED,
      ({ tpManager }) => tpManager?.unmatched ?? tpManager?.strays,
      "sale-without-order",
    ),
    differences: onTheSpot(
      "warns",
      "payments",
      "terminal-difference",
      ({ tpManager }) => tpManager?.differences,
    ),
    "amounts-refused": watched(
      "warns",
      "payments",
      ({ tpManager: { refusedAmounts: refused = [] } = {} }) => {
        if (refused.length === 0) return null;
        const amounts = [...new Set(refused.map(({ amount }) => amount))];
        return { amounts, orderIds: refused.map(({ orderId }) => orderId), count: refused.length };
      },
    ),
    "charges-unread": watched(
      "warns",
      "payments",
      ({ tpManager }) => tpManager?.unreadCharges,
      "charge-unread",
    ),
  }),
  ...rowsOf("supervisor", {
    "credentials-refused": onTheSpot(
      "critical",
      "gateway",
      "gateway-credentials-refused",
      ({ supervisor }) => {
        const { paused: reason = null, pausedSinceMs: sinceMs } = supervisor?.outbox ?? {};
        return reason === null ? null : { reason, sinceMs };
      },
    ),
    "gateway-misconfigured": onTheSpot(
      "critical",
      "gateway",
      "gateway-misconfigured",
      ({ supervisor }) => supervisor?.outbox.misconfigured,
    ),
    "lookup-refused": onTheSpot("warns", "gateway", "gateway-lookup-refused", ({ supervisor }) => {
      const { lookupRefused, ambiguous } = supervisor?.outbox ?? {};
      // A refused lookup is a fault only while an order needs one, because its answer was lost.
      return ambiguous?.inDoubt === 0 ? null : lookupRefused;
    }),
    "queue-old": watched("warns", "queue", ({ supervisor }) => {
      const { oldestAgeMs = null, pending: count, oldestAtMs } = supervisor?.outbox ?? {};
      if (oldestAgeMs === null || oldestAgeMs <= QUEUE_OLD_MS) return null;
      return { count, minutes: Math.floor(oldestAgeMs / 60_000), sinceMs: oldestAtMs };
    }),
    "transactions-parked": onTheSpot("warns", "queue", "transaction-parked", ({ supervisor }) =>
      counted(supervisor?.outbox.parked, supervisor?.outbox.parkedSinceMs),
    ),
    "order-copies": onTheSpot("warns", "queue", "gateway-order-ambiguous", ({ supervisor }) =>
      counted(supervisor?.outbox.ambiguous?.possibleCopies),
    ),
    "queue-unwritable": watched("critical", "queue", ({ supervisor }) => supervisor?.unwritable),
    "operations-unknown": onTheSpot(
      "warns",
      "gateway",
      "gateway-operation-unknown",
      ({ supervisor }) =>
        counted(supervisor?.operations?.unknown, supervisor?.operations?.unknownSinceMs),
    ),
    "notifications-refused": watched("warns", "notifications", ({ supervisor }) => {
      const refused = supervisor?.notifications?.refused;
      return refused?.count ? refused : null;
    }),
    "update-failed": watched("warns", "updates", ({ supervisor }) => supervisor?.updates?.failed),
    "updates-stuck": watched("warns", "updates", ({ supervisor }) => supervisor?.updates?.stuck),
    "certificates-end": watched(
      "warns",
      "certificates",
      ({ supervisor }) => supervisor?.certificates,
    ),
    "fleet-refused": watched("warns", "fleet", ({ supervisor }) => {
      const { refused, fault, sinceMs } = supervisor?.fleet ?? {};
      return refused ? { reason: fault ?? "", sinceMs } : null;
    }),
    "certificates-unusable": watched(
      "warns",
      "certificates",
      ({ supervisor }) => supervisor?.fleetFiles,
    ),
    "support-ends": watched("warns", "updates", ({ supervisor }) => supervisor?.updates?.support),
  }),
};

export type ConditionName = keyof typeof conditionTable;

export const conditionNames = Object.keys(conditionTable) as ConditionName[];

export interface Condition {
  readonly name: ConditionName;
  readonly row: ConditionRow;
  readonly says: string;
  /** Since when the condition lasts; null: not known. */
  readonly sinceMs: number | null;
  /** How many transactions, operations or notifications are affected; null: not countable. */
  readonly count: number | null;
  /** At most {@link NAMED_MAX} of the orders that the condition is about. */
  readonly orderIds: readonly string[];
}

/** Returns the conditions that are present, in the order of the table. */
export function conditionsOf(facts: ConditionFacts): Condition[] {
  return conditionNames.flatMap((name) => {
    const row: ConditionRow = conditionTable[name];
    const found = row.find(facts);
    if (!found) return [];
    const { sinceMs = null, count = null, orderIds = [] } = found;
    const named = orderIds.slice(0, NAMED_MAX);
    return [{ name, row, says: textOf(row.says, found), sinceMs, count, orderIds: named }];
  });
}

const NAMED_MAX = 5;

function textOf(template: string, found: Finding): string {
  const { count = 0, orderIds = [], amounts = [] } = found;
  const named = { orders: namesOf(orderIds, count), amounts: namesOf(amounts, amounts.length) };
  const values: Readonly<Record<string, unknown>> = { ...found, count, ...named };
  return template.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}

function namesOf(names: readonly string[], count: number): string {
  const named = names.slice(0, NAMED_MAX);
  return named.join(", ") + (count > named.length ? " and more" : "");
}

/** Returns the text for people: the condition, since when it lasts, and what to do. */
export function conditionText(condition: Condition): string {
  return `${saysSince(condition)} -> ${condition.row.todo}`;
}

export function saysSince({ says, sinceMs }: Pick<Condition, "says" | "sinceMs">): string {
  if (sinceMs === null) return says;
  return `${says} (since ${new Date(sinceMs).toISOString().slice(0, 16)}Z)`;
}

const alarmPairs = conditionNames.map((name) => ({ name, ...conditionTable[name] }));

/** The condition that lasts as long as an alarm, by the alarm's present and its previous name. */
export const lastingAlarms: ReadonlyMap<string, ConditionName> = new Map(
  alarmPairs.flatMap(({ name, alarm, formerly = alarm }) => [
    [alarm, name],
    [formerly, name],
  ]),
);

/** The previous names of alarms that were renamed, by the present name. */
export const formerAlarms: ReadonlyMap<string, string> = new Map(
  alarmPairs.flatMap(({ alarm, formerly }) => (formerly === undefined ? [] : [[alarm, formerly]])),
);

/** Returns the condition of a lasting alarm; `finding`: what a probe of the terminal found. */
export function conditionOfAlarm(alarm: unknown, finding: unknown): ConditionName | undefined {
  // As long as the probe has no finding, the transaction can still prove to belong to an attempt.
  if (alarm === UNMATCHED && finding === undefined) return undefined;
  return lastingAlarms.get(String(alarm));
}
