import { z } from "zod";
import { alarmFindings } from "../../shared/catalog/alarm-log.ts";
import { type ConditionName, conditionNames } from "../../shared/catalog/conditions.ts";
import { errorTable } from "../../shared/catalog/errors.ts";
import { labelsSchema } from "../../shared/config/labels.ts";
import { certificateFile, PHASE_SECONDS } from "../../shared/ipc/fleet-messages.ts";

/*
 * The schemas of all documents between a kiosk and its fleet (docs/fleet.md 3.2). With them a kiosk
 * checks what it reports: no object takes further members, and a value is an enumeration, a number,
 * an id, a time or a stable name of our programs, never a text of a customer, a kiosk, a terminal
 * or a gateway (docs/fleet.md 5.1). The schemas for readers in `docs/fleet` are generated from them
 * and take further members, because later versions add some (docs/fleet.md 3.4). A member that was
 * added after version 1.0.0 is optional, because older kiosks do not report it.
 */

/** The version in topics and documents; within a version members are added and never changed. */
export const FLEET_VERSION = 1;

const time = z.iso.datetime();
const uuid = z.uuid();
/** The largest number: of eleven digits, so that it cannot be a card number. */
export const COUNT_MAX = 99_999_999_999;
const count = z.int().min(0).max(COUNT_MAX);
/** A name from the code of our programs, such as an alarm's name. */
const stableName = z.string().regex(/^[a-z]{1,30}(-[a-z]{1,30}){0,7}$/);
const version = z.string().regex(/^\d{1,4}\.\d{1,4}\.\d{1,6}$/);
const currency = z.string().regex(/^[A-Z]{3}$/);
const minor = z.int().min(-9_999_999_999).max(9_999_999_999);
/** Marks an enumeration that later versions lengthen, so that readers take any text. */
const growing = { growing: true };
const errorCode = z.enum(Object.keys(errorTable) as [keyof typeof errorTable]).meta(growing);
const condition = z.enum(conditionNames as [ConditionName, ...ConditionName[]]).meta(growing);

const head = {
  version: z.literal(FLEET_VERSION),
  /** The document's id, which stays when a lost PUBACK makes the kiosk send it again. */
  id: uuid,
  kiosk: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  at: time,
  /** The kiosk's FLEET_LABELS; absent: it has none. */
  labels: labelsSchema.optional(),
};

/** The first members of each document that the kiosk queues until the broker has it. */
const kept = {
  ...head,
  /** The document's number, one more than the last; a missing number was dropped or is late. */
  sequence: count,
};

/** The error code that a payment would get now. */
const notReady = z.enum([...errorCode.options, "tp-manager-silent", "other"]).meta(growing);

const startedAfter = z
  .enum(["not-known", "update", "stop", "reboot", "abrupt-reboot", "died"])
  .meta(growing);

const phaseName = z.enum(["card", "completion", "whole"]).meta(growing);
/** How long a phase of payments took, as a histogram. */
const phase = z.strictObject({
  count,
  sumMs: count,
  /** By an upper bound in milliseconds: how many took no longer. */
  buckets: z.strictObject(
    Object.fromEntries(PHASE_SECONDS.map((seconds) => [Math.round(seconds * 1_000), count])),
  ),
});

const stateNow = z.strictObject({
  canPay: z.enum(["yes", "no", "unknown"]),
  /** Why the kiosk cannot take a payment; empty: it can. */
  obstacles: z.array(notReady),
  terminal: z
    .strictObject({
      link: z.enum(["disconnected", "connecting", "registering", "connected", "other"]),
      state: z.enum(["ready", "busy", "action-needed", "no-link", "not-known", "other"]),
      since: time,
      terminalId: z
        .string()
        .regex(/^[A-Za-z0-9]{1,10}$/)
        .nullable(),
    })
    .nullable(),
  payments: z.strictObject({ running: count, inDoubt: count, notHandedOver: count }).nullable(),
  gateway: z.strictObject({
    pending: count,
    parked: count,
    oldestAgeSeconds: count.nullable(),
    paused: z.boolean(),
    possibleCopies: count,
  }),
  troubles: z.array(condition),
  versions: z.strictObject({ supervisor: version.nullable(), tpManager: version.nullable() }),
  /** The state of updates; null: this kiosk does not check for updates. */
  update: z
    .strictObject({
      /** The version that waits to be installed. */
      ready: version.nullable(),
      held: z.boolean(),
      /** Whether checks or installations have failed for three nights. */
      stuck: z.boolean(),
      /** Whether the last installed version failed, so that the older version runs. */
      failed: z.boolean(),
    })
    .nullable(),
  dropped: count,
  system: z
    .strictObject({
      os: z.enum(["linux", "windows", "other"]),
      /** The version of the system's kernel. */
      release: version.nullable(),
      arch: z.enum(["x64", "arm64", "other"]),
      node: version.nullable(),
    })
    .optional(),
  /** Why each program was started, as far as it is known (docs/fleet.md 3.2). */
  startedAfter: z
    .strictObject({ supervisor: startedAfter, tpManager: startedAfter.nullable() })
    .optional(),
  certificates: z.array(certificateFile).optional(),
  /** When the support of the installed version ends; null: that is not known. */
  supportEnds: time.nullable().optional(),
});

const outcome = z.enum([
  "charged",
  "declined",
  "cancelled",
  "failed",
  "in-doubt",
  "reversed",
  "reversal-in-doubt",
]);

const ask = z.enum(["state", "support-bundle", "check-update", "hold-updates"]);

interface FleetDocument {
  readonly from: "kiosk" | "fleet";
  readonly retained: boolean;
  /** After how many seconds the broker deletes an unread message; null: never. */
  readonly expirySeconds: number | null;
  readonly meaning: string;
  readonly schema: z.ZodObject;
}

const DAY_SECONDS = 86_400;

/** Returns the entry of a document that reports an event and is queued until the broker has it. */
const news = <S extends z.ZodObject>(meaning: string, schema: S) =>
  ({ from: "kiosk", retained: false, expirySeconds: 7 * DAY_SECONDS, meaning, schema }) as const;

export const fleetDocuments = {
  state: {
    from: "kiosk",
    retained: true,
    expirySeconds: null,
    meaning:
      "How the kiosk is. Retained; the broker itself publishes it with connection lost when " +
      "the kiosk falls silent (last will).",
    schema: z.strictObject({
      ...head,
      connection: z.enum(["online", "stopped", "lost"]),
      /** When the kiosk's present connection to the broker began. */
      since: time,
      /** The installation that has the name; two of them in turn: a twin. */
      installation: uuid.optional(),
      /** The state of the kiosk; null: the kiosk is not online. */
      now: stateNow.nullable(),
    }),
  },
  alarm: news(
    "An alarm was raised, or is over.",
    z.strictObject({
      ...kept,
      phase: z.enum(["raised", "ended"]),
      alarm: stableName,
      /** The alarm's former name, if the alarm was renamed. */
      formerly: stableName.optional(),
      /** The finding about an unmatched transaction; absent: the terminal is being probed. */
      finding: z.enum(alarmFindings).meta(growing).optional(),
      source: z.enum(["tp-manager", "supervisor"]).nullable(),
      /** The transaction of the first order that the alarm names. */
      transactionId: uuid.nullable(),
    }),
  ),
  payment: news(
    "A payment has ended, is in doubt, or its doubt is over.",
    z.strictObject({
      ...kept,
      transactionId: uuid,
      attempt: count,
      outcome,
      charged: z.enum(["no", "yes", "unknown"]),
      error: errorCode.nullable(),
      amountMinor: minor,
      chargedAmountMinor: minor.nullable(),
      currency,
      /** The time from the payment's begin to this outcome; null: the begin is not known. */
      durationMs: count.nullable(),
    }),
  ),
  reconciliation: news(
    "An end of day of the terminal, or its comparison with the journal.",
    z.strictObject({
      ...kept,
      kind: z.enum(["closing", "end-of-day", "receipt-jump"]),
      result: z.enum([
        "completed",
        "refused",
        "open-pre-authorisations",
        "failed",
        "lost",
        "agrees",
        "differs",
        "not-comparable",
        "jump",
        "refuted",
      ]),
      /** The number of an end of day's transactions, of all card applications together. */
      transactions: count.nullable(),
      sumMinor: minor.nullable(),
      /** The terminal's total of the day minus the journal's total, in minor units. */
      differenceMinor: minor.nullable(),
      currency: currency.nullable(),
    }),
  ),
  metrics: {
    from: "kiosk",
    retained: false,
    expirySeconds: 2 * DAY_SECONDS,
    meaning:
      "The figures of a minute. Figures of the time without a connection follow later, after " +
      "newer ones. Counters only grow while the kiosk keeps its data folder; those in linksLost " +
      "and phases begin again with each start of their program.",
    schema: z.strictObject({
      ...head,
      /** The number of these figures, one more than the last; absent: they are not kept. */
      number: count.optional(),
      uptimeSeconds: z.strictObject({ supervisor: count, tpManager: count.nullable() }),
      memoryBytes: count,
      outbox: z.strictObject({ pending: count, parked: count, sent: count }),
      payments: z.strictObject(
        Object.fromEntries(outcome.options.map((name) => [name, count])) as Record<
          Outcome,
          typeof count
        >,
      ),
      alarmsRaised: count,
      queue: z.strictObject({ waiting: count, dropped: count }),
      /** The room on the disk of the data folder, at most 99 999 999 999. */
      diskFreeBytes: count.nullable().optional(),
      /** By how much the kiosk's clock is ahead of the gateway's; null: not known. */
      clockAheadSeconds: minor.nullable().optional(),
      /** By error code: how many payments ended with the code or are in doubt with it. */
      errors: z.partialRecord(errorCode, count).optional(),
      /** How often a link was lost since the start of its program. */
      linksLost: z.strictObject({ terminal: count.nullable(), broker: count }).optional(),
      /** How long payments took; null: tp-manager does not answer. */
      phases: z.partialRecord(phaseName, phase).nullable().optional(),
    }),
  },
  request: {
    from: "fleet",
    retained: false,
    expirySeconds: DAY_SECONDS,
    meaning: "A request to the kiosk. Taken once, never when retained, only before it expires.",
    schema: z.strictObject({
      version: z.literal(FLEET_VERSION),
      id: uuid,
      ask,
      /** When the request expires, at most a day from now. */
      expires: time,
      /** For how many days updates are held; 0 ends a hold. */
      days: z.int().min(0).max(14).optional(),
    }),
  },
  reply: {
    from: "kiosk",
    retained: false,
    expirySeconds: DAY_SECONDS,
    meaning: "What became of a request.",
    schema: z.strictObject({
      ...head,
      request: uuid,
      ask,
      outcome: z.enum(["done", "refused", "failed", "not-available"]),
      because: z
        .enum([
          "no-upload-address",
          "upload-failed",
          "hold-used-up",
          "nothing-offered",
          "busy",
          "held-on-the-spot",
        ])
        .nullable(),
    }),
  },
} as const satisfies Record<string, FleetDocument>;

export type FleetName = keyof typeof fleetDocuments;
export type DocumentOf<N extends FleetName> = z.infer<(typeof fleetDocuments)[N]["schema"]>;
export type ContentOf<N extends FleetName> = Omit<DocumentOf<N>, keyof typeof head>;
export type Outcome = z.infer<typeof outcome>;
export const outcomes = outcome.options;
export const errorCodes = errorCode.options;
export type StateNow = z.infer<typeof stateNow>;

export function topicOf(kiosk: string, name: FleetName): string {
  return `connector/${FLEET_VERSION}/${kiosk}/${name}`;
}

/** Returns the value if the schema allows it; null: no document may contain the value. */
export function allowed<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> | null {
  return schema.safeParse(value).data ?? null;
}
