import { z } from "zod";
import { alarmFindings } from "../../shared/catalog/alarm-log.ts";
import { type ConditionName, conditionNames } from "../../shared/catalog/conditions.ts";
import { errorTable } from "../../shared/catalog/errors.ts";

/*
 * Every document between a kiosk and its fleet, and the topic of each (docs/fleet.md 3.2). A leaf
 * is an enumeration, a number, an id, a time or a stable name of our programs, and never a text of
 * a customer, a kiosk, a terminal or a gateway (docs/fleet.md 5.1). `docs/fleet` is made from
 * these.
 */

/** The version in the topics and documents: members are added in it, and none is changed. */
export const FLEET_VERSION = 1;

const time = z.iso.datetime();
const uuid = z.uuid();
/** A count of eleven digits at most, which cannot be a card number. */
const count = z.int().min(0).max(99_999_999_999);
/** A name from the code of our programs, such as that of an alarm. */
const stableName = z.string().regex(/^[a-z]{1,30}(-[a-z]{1,30}){0,7}$/);
const version = z.string().regex(/^\d{1,4}\.\d{1,4}\.\d{1,6}$/);
const currency = z.string().regex(/^[A-Z]{3}$/);
const minor = z.int().min(-9_999_999_999).max(9_999_999_999);
const errorCode = z.enum(Object.keys(errorTable) as [keyof typeof errorTable]);
const condition = z.enum(conditionNames as [ConditionName, ...ConditionName[]]);

const head = {
  version: z.literal(FLEET_VERSION),
  /** The same when a document is sent again after a lost acknowledgement. */
  id: uuid,
  kiosk: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  at: time,
};

/** The first members of documents that are kept until the broker has them. */
const kept = {
  ...head,
  /** Grows by one with each document; a missing number was dropped or is still on its way. */
  sequence: count,
};

/** The error code that a payment would be answered with. */
const notReady = z.enum([...errorCode.options, "tp-manager-silent", "other"]);

const stateNow = z.strictObject({
  canPay: z.enum(["yes", "no", "unknown"]),
  /** Why it cannot take a payment; empty: it can. */
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
  /** How updates stand; null: this kiosk does not check for them. */
  update: z
    .strictObject({
      /** The version that waits to be installed. */
      ready: version.nullable(),
      held: z.boolean(),
      /** No update could be checked for or installed for three nights. */
      stuck: z.boolean(),
      /** The last version that was tried failed, and the older one runs. */
      failed: z.boolean(),
    })
    .nullable(),
  /** How many documents were dropped since the kiosk knows this fleet. */
  dropped: count,
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
  /** "kiosk": the connector publishes; "fleet": the connector takes. */
  readonly from: "kiosk" | "fleet";
  readonly retained: boolean;
  /** After so many seconds the broker forgets a message that was not taken; null: never. */
  readonly expirySeconds: number | null;
  readonly meaning: string;
  readonly schema: z.ZodObject;
}

const DAY_SECONDS = 86_400;

/** A document about something that has happened: it is kept until the broker has it. */
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
      /** The time at which this connection to the broker began. */
      since: time,
      /** The state of the kiosk; null: the connection is not online. */
      now: stateNow.nullable(),
    }),
  },
  alarm: news(
    "An alarm was raised, or is over.",
    z.strictObject({
      ...kept,
      phase: z.enum(["raised", "ended"]),
      alarm: stableName,
      /** Its former name, where it has another one now. */
      formerly: stableName.optional(),
      /** The finding about an unmatched transaction; absent: the terminal is being asked. */
      finding: z.enum(alarmFindings).optional(),
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
      /** The time from its begin to this end; null: the begin is not known. */
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
      /** How many transactions all applications of a closing have together. */
      transactions: count.nullable(),
      sumMinor: minor.nullable(),
      /** The surplus of the terminal over the journal. */
      differenceMinor: minor.nullable(),
      currency: currency.nullable(),
    }),
  ),
  metrics: {
    from: "kiosk",
    retained: false,
    expirySeconds: 900,
    meaning: "Present figures; counters only grow while the kiosk keeps its data folder.",
    schema: z.strictObject({
      ...head,
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
      /** The time of its expiry, at most a day from now. */
      expires: time,
      /** How many days updates are held; 0 ends a hold. */
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
      /** Why the request was not carried out. */
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
/** A document without the members that all of them begin with. */
export type ContentOf<N extends FleetName> = Omit<DocumentOf<N>, keyof typeof head>;
export type Outcome = z.infer<typeof outcome>;
export const outcomes = outcome.options;
export type StateNow = z.infer<typeof stateNow>;

/** Returns the topic `connector/1/KIOSK/NAME`. */
export function topicOf(kiosk: string, name: FleetName): string {
  return `connector/${FLEET_VERSION}/${kiosk}/${name}`;
}

/** Returns the value; null: no document may hold it, as a newer program may know more. */
export function allowed<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> | null {
  return schema.safeParse(value).data ?? null;
}
