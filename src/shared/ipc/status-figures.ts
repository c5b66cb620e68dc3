import { z } from "zod";

/* Parts of the answers to `status`. */

/** Why a condition is present, in words for an operator, and since when. */
export const reasonSince = z.object({ reason: z.string(), sinceMs: z.int() });

export const notificationFigures = z.object({
  /** The number of notifications since the start of the program, by verdict. */
  verdicts: z.record(z.string(), z.int()),
  /** The notifications that are refused now; null: none. */
  refused: reasonSince.extend({ count: z.int() }).nullable(),
});

export const updateFigures = z.object({
  /** UPDATE_URL is set. */
  asks: z.boolean(),
  channel: z.string(),
  /** When the last check for an update was, and why it failed; null: none, or it did not. */
  checkedMs: z.number().nullable(),
  fault: z.string().nullable(),
  /** When metadata were last verified as fresh, and when the first of them expires. */
  freshMs: z.number().nullable(),
  expiresMs: z.number().nullable(),
  /** A version that waits to be taken; null: none. */
  ready: z.string().nullable(),
  /** Who holds updates; null: nobody. */
  heldBy: z.string().nullable(),
  /** Since and until when updates are held; null: not held, or without an end. */
  heldSinceMs: z.number().nullable().optional(),
  heldUntilMs: z.number().nullable().optional(),
  /** Why no update was found or taken for three nights, or which metadata have expired. */
  stuck: reasonSince.nullable(),
  /** Why the last version that was tried failed here; the older one runs. */
  failed: reasonSince.nullable(),
});

/** The numbers of payments that are not over for tp-manager. */
export const paymentFigures = { running: z.int(), inDoubt: z.int(), notHandedOver: z.int() };

/** What is assumed and known of the terminal (docs/matching.md); missing: older tp-managers. */
export const terminalGrounds = {
  assumptions: z
    .array(
      z.object({
        name: z.string(),
        says: z.string(),
        isOn: z.boolean(),
        /** The setting or fact that switches the assumption off; null: nothing does. */
        offWith: z.string().nullable(),
      }),
    )
    .readonly()
    .optional(),
  /** Whether each assumption was seen to hold; false: it was seen to fail; null: neither. */
  shown: z
    .array(z.object({ name: z.string(), says: z.string(), holds: z.boolean().nullable() }))
    .readonly()
    .optional(),
};

const waiting = z.object({ count: z.int(), sinceMs: z.number() });

/** The facts of tp-manager from which conditions are found (docs/design.md 8.8). */
export const conditionFigures = z.object({
  /**
   * Why a payment of a new order would be refused now, each with its error code; empty: it would be
   * taken.
   */
  obstacles: z
    .array(z.object({ code: z.string(), says: z.string(), todo: z.string() }))
    .readonly()
    .optional(),
  /** Why and since when the supervisor takes nothing, and how many wait; null: it takes them. */
  handOver: reasonSince.extend({ pending: z.int() }).nullable().optional(),
  /** The number of transactions that the supervisor refuses while it takes the others. */
  refusedHandOffs: z.int().optional(),
  /** Orders that the gateway has although their sale was reversed at the terminal; at most 100. */
  standingAtGateway: z.array(z.string()).readonly().optional(),
  /** Orders in doubt because of which payments of the same amount are refused. */
  refusedAmounts: z
    .array(z.object({ orderId: z.string(), amount: z.string() }))
    .readonly()
    .optional(),
  /** Unmatched transactions that are not acknowledged; null: there is none. */
  unmatched: waiting.nullable().optional(),
  /** Unmatched transactions, as the previous version reports them. */
  strays: waiting.nullable().optional(),
  /** Differences of reconciliation and missing receipt numbers that are not acknowledged. */
  differences: waiting.nullable().optional(),
  /** Orders that were charged although the kiosk got another answer, or none. */
  unreadCharges: z
    .object({ count: z.int(), sinceMs: z.number(), orderIds: z.array(z.string()).readonly() })
    .nullable()
    .optional(),
});
export type TpManagerConditions = z.infer<typeof conditionFigures>;
