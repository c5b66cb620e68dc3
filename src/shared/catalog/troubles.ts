import type { ResponseOf, supervisorMessages, tpManagerMessages } from "../ipc/contract.ts";

type SupervisorStatus = ResponseOf<typeof supervisorMessages, "status">;
/** The members of tp-manager's status that tell of troubles. */
export type TpManagerTroubles = Pick<
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
export interface TroubleFacts {
  /** null: the supervisor does not answer; undefined: another line of the face tells of that. */
  readonly supervisor: SupervisorStatus | null | undefined;
  /** undefined: tp-manager was not asked, or does not tell. */
  readonly tpManager: TpManagerTroubles | undefined;
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
  | ("supervisor" | "hand-over" | "payments" | "queue")
  | ("gateway" | "notifications" | "updates" | "certificates")
  | typeof KEEPS_PAYMENTS;

interface TroubleRow {
  /** Who sees the trouble begin and end, and so raises its alarm. */
  readonly by: "supervisor" | "tp-manager";
  /**
   * The alarm that lasts as long. "on-the-spot": each transaction or operation raises its own where
   * it happens; "watch": the watch of the program raises it, once.
   */
  readonly alarm: string;
  /** The alarm's name of before. */
  readonly formerly?: string;
  readonly raised: "on-the-spot" | "watch";
  /** The line of the doctor. */
  readonly check: CheckName;
  /** The doctor fails: nothing goes on before somebody acts. */
  readonly grave: boolean;
  readonly when: string;
  readonly todo: string;
  readonly find: (facts: TroubleFacts) => Found | null;
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

/** The code of the answer that a payment gets, while it would get one. */
function obstacle(code: string): TroubleRow["find"] {
  return ({ tpManager: { obstacles = [] } = {} }) => {
    const one = obstacles.find((found) => found.code === code);
    return one ? found(one.says) : null;
  };
}

const SEE_TO_DISK =
  "check free space and permissions of the data folder and its disk; it goes on by itself. Where " +
  "a file is gone: ./launch.sh stop, ./launch.sh restore, ./launch.sh start, as it says";

/**
 * The one table of what can be wrong for longer, at the terminal and between a charged card and the
 * gateway: `/health`, `/metrics`, `launch.sh status`, the doctor, the alarms and docs/operator.md
 * derive from it.
 */
export const troubleTable = {
  "terminal-disconnected": {
    by: "tp-manager",
    alarm: "terminal-disconnected",
    raised: "watch",
    check: KEEPS_PAYMENTS,
    grave: true,
    when: "there is no link to the terminal",
    todo: "check its power, its cable and SERIAL_PORT",
    find: obstacle("TERMINAL_DISCONNECTED"),
  },
  "terminal-out-of-order": {
    by: "tp-manager",
    alarm: "terminal-out-of-order",
    raised: "watch",
    check: KEEPS_PAYMENTS,
    grave: true,
    when: "the terminal takes no cards: it is locked, or lacks something",
    todo: "GET /check says what it needs; look at the terminal",
    find: obstacle("TERMINAL_OUT_OF_ORDER"),
  },
  "terminal-changed": {
    by: "tp-manager",
    alarm: "terminal-changed",
    raised: "watch",
    check: KEEPS_PAYMENTS,
    grave: true,
    when: "another terminal is connected than the accepted one",
    todo:
      "if it was replaced on purpose, an operator accepts it: in the console, or " +
      "with POST /terminal/accept",
    find: obstacle("TERMINAL_CHANGED"),
  },
  "journal-unwritable": {
    by: "tp-manager",
    alarm: "journal-unwritable",
    raised: "watch",
    check: KEEPS_PAYMENTS,
    grave: true,
    when:
      "what the journal writes would not last: the disk is full, read-only or fails, or its file " +
      "was deleted or replaced",
    todo: SEE_TO_DISK,
    find: obstacle("STORAGE_FAILED"),
  },
  "supervisor-silent": {
    by: "tp-manager",
    alarm: "supervisor-silent",
    raised: "watch",
    check: "supervisor",
    grave: true,
    when: "the supervisor does not answer tp-manager",
    todo: "./launch.sh start; if it runs and stays silent, ./launch.sh restart",
    find: ({ supervisor }) =>
      supervisor === null
        ? found("the supervisor does not answer: transactions wait in the journal")
        : null,
  },
  "hand-over-failing": {
    by: "tp-manager",
    alarm: "hand-over-failing",
    raised: "watch",
    check: "hand-over",
    grave: true,
    when: "the supervisor takes no transaction: it is down, refuses, or cannot store",
    todo: "./launch.sh status; where the supervisor runs its log says why it refuses",
    find: ({ tpManager: { handOver } = {} }) =>
      handOver
        ? found(
            `${amount(handOver.pending, "transaction")} not handed over: ${handOver.reason}`,
            handOver.sinceMs,
            handOver.pending,
          )
        : null,
  },
  "hand-over-refused": {
    by: "tp-manager",
    alarm: "hand-off-refused",
    raised: "on-the-spot",
    check: "hand-over",
    grave: false,
    when: "the supervisor refuses a transaction while it takes the others",
    todo:
      "GET /outbox?state=refused tells why, and the supervisor's log; it is tried each hour, or " +
      "POST /outbox/{transactionId}/requeue or /drop",
    find: ({ tpManager: { refusedHandOffs: count = 0 } = {} }) =>
      count === 0 ? null : found(`${amount(count, "transaction")} refused`, null, count),
  },
  "reversed-at-terminal-only": {
    by: "tp-manager",
    alarm: "reversed-after-sending",
    raised: "on-the-spot",
    check: "gateway",
    grave: false,
    when:
      "a sale does not stand, and the gateway has its order; over when the gateway has notified " +
      "a return, when a person has said that it is dealt with, or after 30 days",
    todo: "cancel or refund the order in the merchant account of the gateway, then say Seen",
    find: ({ tpManager: { standingAtGateway: orders = [] } = {} }) => {
      const words = `${amount(orders.length, "order")} reversed at the terminal only: `;
      if (orders.length === 0) return null;
      return { ...found(words + namesOf(orders), null, orders.length), ...named(orders) };
    },
  },
  "sales-without-order": {
    by: "tp-manager",
    alarm: UNMATCHED,
    raised: "on-the-spot",
    formerly: "sale-without-order",
    check: "payments",
    grave: false,
    when:
      "the terminal holds an unmatched transaction, or nobody can tell; over when a person has " +
      "said that it is dealt with",
    todo:
      "look at the terminal's journal and return the money there if nobody got goods for it; " +
      "then Seen at the console, or POST /seen",
    find: ({ tpManager: { strays, unmatched: open } = {} }) => {
      const unmatched = open ?? strays;
      if (!unmatched) return null;
      const { count, sinceMs } = unmatched;
      return found(amount(count, "unmatched transaction"), sinceMs, count);
    },
  },
  differences: {
    by: "tp-manager",
    alarm: "terminal-difference",
    raised: "on-the-spot",
    check: "payments",
    grave: false,
    when:
      "an end of day differs from the journal or the gateway, or receipt numbers are missing; " +
      "over when a person has said that it is dealt with",
    todo:
      "compare the named orders with the terminal's journal and the merchant account; then Seen " +
      "at the console, or POST /seen",
    find: ({ tpManager: { differences: open } = {} }) =>
      open
        ? found(`${amount(open.count, "difference")} from the journal`, open.sinceMs, open.count)
        : null,
  },
  "amounts-refused": {
    by: "tp-manager",
    alarm: "amounts-refused",
    raised: "watch",
    check: "payments",
    grave: false,
    when:
      "payments of an amount are refused, because an order of it is in doubt and the terminal's " +
      "results may not say which order they are of",
    todo:
      "look in the terminal's journal whether the order was charged, and settle it: " +
      "POST /payment/{orderId}/settle",
    find: ({ tpManager: { refusedAmounts: refused = [] } = {} }) => {
      if (refused.length === 0) return null;
      const amounts = [...new Set(refused.map(({ amount }) => amount))];
      const orderIds = refused.map(({ orderId }) => orderId);
      const words = `no payment of ${namesOf(amounts)} is taken: in doubt is ${namesOf(orderIds)}`;
      return { ...found(words, null, refused.length), ...named(orderIds) };
    },
  },
  "charges-unread": {
    by: "tp-manager",
    alarm: "charge-unread",
    raised: "watch",
    check: "payments",
    grave: false,
    when: "an order is charged, and the kiosk was told otherwise or got no answer",
    todo: "help the customer; over when the kiosk asks for the order, or a person has said Seen",
    find: ({ tpManager: { unreadCharges } = {} }) => {
      if (!unreadCharges) return null;
      const { count, sinceMs, orderIds } = unreadCharges;
      const words = `${amount(count, "charge")} that nobody has read: `;
      return { ...found(words + namesOf(orderIds, count), sinceMs, count), ...named(orderIds) };
    },
  },
  "credentials-refused": {
    by: "supervisor",
    alarm: "gateway-credentials-refused",
    raised: "on-the-spot",
    check: "gateway",
    grave: true,
    when: "the gateway refuses login or password; nothing is sent",
    todo: "correct GATEWAY_LOGIN and GATEWAY_PWD, then ./launch.sh restart",
    find: ({ supervisor }) => {
      const { paused = null, pausedSinceMs = null } = supervisor?.outbox ?? {};
      return paused === null
        ? null
        : found(`nothing is sent to the gateway: ${paused}`, pausedSinceMs);
    },
  },
  "gateway-misconfigured": {
    by: "supervisor",
    alarm: "gateway-misconfigured",
    raised: "on-the-spot",
    check: "gateway",
    grave: true,
    when: "the gateway's certificate is not trusted, or it redirects or denies access",
    todo: "check GATEWAY_URL, GATEWAY_CA_FILE, the clock and any proxy; sending goes on by itself",
    find: ({ supervisor }) => {
      const { misconfigured = null } = supervisor?.outbox ?? {};
      return misconfigured && found(`the gateway: ${misconfigured.reason}`, misconfigured.sinceMs);
    },
  },
  "lookup-refused": {
    by: "supervisor",
    alarm: "gateway-lookup-refused",
    raised: "on-the-spot",
    check: "gateway",
    grave: false,
    when: "the gateway refuses the credentials of the order lookup while a lost answer is open",
    todo: "set GATEWAY_API_KEY, or have the lookup allowed for the login: it prevents copies",
    find: ({ supervisor }) => {
      const { lookupRefused = null, ambiguous } = supervisor?.outbox ?? {};
      // The next lookup comes with the next lost answer: without one nothing is lacking.
      if (lookupRefused === null || ambiguous?.inDoubt === 0) return null;
      return found(`the order lookup: ${lookupRefused.reason}`, lookupRefused.sinceMs);
    },
  },
  "queue-old": {
    by: "supervisor",
    alarm: "queue-old",
    raised: "watch",
    check: "queue",
    grave: false,
    when: "a transaction has waited for the gateway for more than 10 minutes",
    todo: "./launch.sh doctor asks the gateway; GET /outbox?state=pending tells the last answers",
    find: ({ supervisor }) => {
      const { oldestAgeMs = null, pending = 0, oldestAtMs = null } = supervisor?.outbox ?? {};
      if (oldestAgeMs === null || oldestAgeMs <= QUEUE_OLD_MS) return null;
      const minutes = Math.floor(oldestAgeMs / 60_000);
      const words = `${amount(pending, "transaction")} waiting for the gateway`;
      return found(`${words}, the oldest for ${minutes} minutes`, oldestAtMs, pending);
    },
  },
  "transactions-parked": {
    by: "supervisor",
    alarm: "transaction-parked",
    raised: "on-the-spot",
    check: "queue",
    grave: false,
    when: "the gateway refused a transaction, or it cannot be sent as it is",
    todo: "GET /outbox?state=parked tells why; then POST /outbox/{transactionId}/requeue or /drop",
    find: ({ supervisor }) => {
      const { parked = 0, parkedSinceMs = null } = supervisor?.outbox ?? {};
      const words = `${amount(parked, "transaction")} parked: not sent, waiting for an operator`;
      return parked === 0 ? null : found(words, parkedSinceMs, parked);
    },
  },
  "order-copies": {
    by: "supervisor",
    alarm: "gateway-order-ambiguous",
    raised: "on-the-spot",
    check: "queue",
    grave: false,
    when: "after lost answers the gateway may have an order more than once",
    todo: "look the orders up at the gateway, cancel or refund a copy; POST /gateway/copies",
    find: ({ supervisor }) => {
      const count = supervisor?.outbox.ambiguous?.possibleCopies ?? 0;
      const words = `${amount(count, "order")} the gateway may have more than once`;
      return count === 0 ? null : found(words, null, count);
    },
  },
  "queue-unwritable": {
    by: "supervisor",
    alarm: "queue-unwritable",
    raised: "watch",
    check: "queue",
    grave: true,
    when:
      "the supervisor cannot write its database, or the file of it was deleted or replaced: the " +
      "journal keeps what was charged",
    todo: SEE_TO_DISK,
    find: ({ supervisor }) => {
      const { unwritable = null } = supervisor ?? {};
      return unwritable && found(`the queue: ${unwritable.reason}`, unwritable.sinceMs);
    },
  },
  "operations-unknown": {
    by: "supervisor",
    alarm: "gateway-operation-unknown",
    raised: "on-the-spot",
    check: "gateway",
    grave: false,
    when: "the answer of a confirm, cancel or refund was lost",
    todo: "GET /gateway/transaction/{id} may settle it; else ask the gateway, POST /gateway/settle",
    find: ({ supervisor }) => {
      const { unknown = 0, unknownSinceMs = null } = supervisor?.operations ?? {};
      const words = `${amount(unknown, "operation")} at the gateway with an unknown end`;
      return unknown === 0 ? null : found(words, unknownSinceMs, unknown);
    },
  },
  "notifications-refused": {
    by: "supervisor",
    alarm: "notifications-refused",
    raised: "watch",
    check: "notifications",
    grave: false,
    when:
      "notifications are refused: wrong digest or signature, or not our order; over when a good " +
      "one came and none was refused for 10 minutes",
    todo: "compare GATEWAY_PWD and NOTIFICATION_DIGEST_SECRETS with the merchant account",
    find: ({ supervisor }) => {
      const { count, sinceMs, reason } = supervisor?.notifications?.refused ?? { count: 0 };
      const words = `${amount(count, "notification")} refused, the last one: ${reason}`;
      return count === 0 ? null : found(words, sinceMs ?? null, count);
    },
  },
  "update-failed": {
    by: "supervisor",
    alarm: "update-failed",
    raised: "watch",
    check: "updates",
    grave: false,
    when: "a new version failed here and the one before runs; over when another one is taken",
    todo: "./launch.sh update tells why; send the logs to support: that version is not tried again",
    find: ({ supervisor }) => {
      const { failed = null } = supervisor?.updates ?? {};
      return failed && found(failed.reason, failed.sinceMs);
    },
  },
  "updates-stuck": {
    by: "supervisor",
    alarm: "updates-stuck",
    raised: "watch",
    check: "updates",
    grave: false,
    when: "no update could be looked for or taken for three nights, or their metadata have expired",
    todo: "./launch.sh update --check tells why; check UPDATE_URL, network, clock and disk",
    find: ({ supervisor }) => {
      const { stuck = null } = supervisor?.updates ?? {};
      return stuck && found(`no updates: ${stuck.reason}`, stuck.sinceMs);
    },
  },
  "certificates-end": {
    by: "supervisor",
    alarm: "certificates-end",
    raised: "watch",
    check: "certificates",
    grave: false,
    when:
      "the client certificate for the fleet's broker, or all of a file of trusted authorities, " +
      "ends within 30 days, or has ended",
    todo: "replace the file that is named, then ./launch.sh restart",
    find: ({ supervisor }) => {
      const { certificates = null } = supervisor ?? {};
      return certificates && found(certificates.reason, certificates.sinceMs);
    },
  },
} as const satisfies Record<string, TroubleRow>;

export type TroubleName = keyof typeof troubleTable;

export const troubleNames = Object.keys(troubleTable) as TroubleName[];

/** A trouble that is there now. */
export interface Trouble extends Found {
  readonly name: TroubleName;
  readonly row: TroubleRow;
}

/** The troubles that are there, in the order of the table. Pure. */
export function troublesOf(facts: TroubleFacts): Trouble[] {
  return troubleNames.flatMap((name) => {
    const row: TroubleRow = troubleTable[name];
    const one = row.find(facts);
    return one ? [{ name, row, ...one }] : [];
  });
}

/** For people: the trouble, since when, and what to do. */
export function wordsOf({ says, sinceMs, row }: Trouble): string {
  return `${saysSince({ says, sinceMs })} -> ${row.todo}`;
}

/** For people. */
export function inDoubtWords(count: number): string {
  return `payments in doubt: ${count}`;
}

export function saysSince({ says, sinceMs }: Pick<Found, "says" | "sinceMs">): string {
  if (sinceMs === null) return says;
  return `${says} (since ${new Date(sinceMs).toISOString().slice(0, 16)}Z)`;
}

/** Alarms that are there as long as their trouble; by the name of the alarm, now and before. */
export const lastingAlarms: ReadonlyMap<string, TroubleName> = new Map(
  troubleNames.flatMap((name) => {
    const { alarm, formerly = alarm }: TroubleRow = troubleTable[name];
    return [alarm, formerly].map((each) => [each, name] as const);
  }),
);

/** The names of before of alarms that were renamed, by the name of now. */
export const formerAlarms: ReadonlyMap<string, string> = new Map(
  troubleNames.flatMap((name) => {
    const { alarm, formerly }: TroubleRow = troubleTable[name];
    return formerly === undefined ? [] : [[alarm, formerly] as const];
  }),
);

/** The trouble that an alarm, as an event tells it, lasts as long as. */
export function troubleOf(alarm: unknown, finding: unknown): TroubleName | undefined {
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
