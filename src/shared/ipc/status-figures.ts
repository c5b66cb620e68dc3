import { z } from "zod";

/** The reason for a condition, as a text for an operator, and since when it lasts. */
export const reasonSince = z.object({ reason: z.string(), sinceMs: z.int() });

export const notificationFigures = z.object({
  /** How many notifications came since the start of the program, by their verdict. */
  verdicts: z.record(z.string(), z.int()),
  /** The present refusal of notifications; null: they are not refused. */
  refused: reasonSince.extend({ count: z.int() }).nullable(),
});

export const updateFigures = z.object({
  /** Whether this installation checks for updates (UPDATE_URL is set). */
  asks: z.boolean(),
  channel: z.string(),
  /** When the last check for an update was made, in epoch ms; null: no check yet. */
  checkedMs: z.number().nullable(),
  /** Why the last check for an update failed; null: it did not fail. */
  fault: z.string().nullable(),
  /** When the update metadata were last verified as fresh, and when they begin to expire. */
  freshMs: z.number().nullable(),
  expiresMs: z.number().nullable(),
  /** The version that waits to be installed; null: none. */
  ready: z.string().nullable(),
  /** Who put a hold on updates; null: updates are not held. */
  heldBy: z.string().nullable(),
  /** Since and until when updates are held; null: updates are not held, or the hold has no end. */
  heldSinceMs: z.number().nullable().optional(),
  heldUntilMs: z.number().nullable().optional(),
  /** Why the checks or installations of three nights failed; null: they did not fail. */
  stuck: reasonSince.nullable(),
  /** Why the last installed version failed, so that the older one runs; null: it did not fail. */
  failed: reasonSince.nullable(),
  /** The end of the version's support, from 180 days before it. Missing: an older supervisor. */
  support: reasonSince.nullable().optional(),
});

/** The connection to the fleet's broker. */
export const fleetConnection = z.object({
  /** Why there is no connection; null: there is one. */
  fault: z.string().nullable(),
  /** Whether the broker answered and refuses the kiosk. */
  refused: z.boolean(),
  /** Since when the kiosk is connected, not connected, or refused. */
  sinceMs: z.int(),
});

/** How many payments of tp-manager run, are in doubt, or are not handed off to the supervisor. */
export const paymentFigures = { running: z.int(), inDoubt: z.int(), notHandedOver: z.int() };

/** Assumptions and facts about the terminal (docs/matching.md); missing: an older tp-manager. */
export const terminalGrounds = {
  assumptions: z
    .array(
      z.object({
        name: z.string(),
        says: z.string(),
        isOn: z.boolean(),
        /** The setting or fact that turns the assumption off; null: there is none. */
        offWith: z.string().nullable(),
      }),
    )
    .readonly()
    .optional(),
  /** Whether the terminal has shown each fact; false: it disproved the fact; null: neither. */
  shown: z
    .array(z.object({ name: z.string(), says: z.string(), holds: z.boolean().nullable() }))
    .readonly()
    .optional(),
};

const waiting = z.object({ count: z.int(), sinceMs: z.number() });

/** The facts of tp-manager that decide which conditions are present (docs/design.md 8.8). */
export const conditionFigures = z.object({
  /** Why a payment of a new order would be refused now; empty: the payment would be accepted. */
  obstacles: z
    .array(z.object({ code: z.string(), says: z.string(), todo: z.string() }))
    .readonly()
    .optional(),
  /** Why and since when hand-offs fail, and how many transactions wait; null: they do not fail. */
  handOver: reasonSince.extend({ pending: z.int() }).nullable().optional(),
  /** The number of transactions that the supervisor refuses while it accepts other ones. */
  refusedHandOffs: z.int().optional(),
  /** At most 100 orders that the gateway has although their sale was reversed at the terminal. */
  standingAtGateway: z.array(z.string()).readonly().optional(),
  /** Orders in doubt; payments of the same amount are refused because of them. */
  refusedAmounts: z
    .array(z.object({ orderId: z.string(), amount: z.string() }))
    .readonly()
    .optional(),
  /** Unmatched transactions that no operator has acknowledged; null: there is none. */
  unmatched: waiting.nullable().optional(),
  /** Unmatched transactions under the name that the previous version uses. */
  strays: waiting.nullable().optional(),
  /** Differences at ends of day, or missing receipts, that no operator has acknowledged. */
  differences: waiting.nullable().optional(),
  /** Orders that were charged although the kiosk got another answer, or no answer. */
  unreadCharges: z
    .object({ count: z.int(), sinceMs: z.number(), orderIds: z.array(z.string()).readonly() })
    .nullable()
    .optional(),
});
export type TpManagerConditions = z.infer<typeof conditionFigures>;
