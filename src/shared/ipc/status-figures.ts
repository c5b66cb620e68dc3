import { z } from "zod";

/* Parts of the answers to `status`. */

/** Why a condition is present, for an operator, and since when. */
export const reasonSince = z.object({ reason: z.string(), sinceMs: z.int() });

export const notificationFigures = z.object({
  /** Since the start of the program, by verdict. */
  verdicts: z.record(z.string(), z.int()),
  /** null: none are refused. */
  refused: reasonSince.extend({ count: z.int() }).nullable(),
});

export const updateFigures = z.object({
  /** UPDATE_URL is set. */
  asks: z.boolean(),
  channel: z.string(),
  /** The last check for an update, and why it failed; null: none yet, or it succeeded. */
  checkedMs: z.number().nullable(),
  fault: z.string().nullable(),
  /** Metadata were verified as fresh for the last time, and the first of them expires. */
  freshMs: z.number().nullable(),
  expiresMs: z.number().nullable(),
  /** A version that waits to be taken; null: none. */
  ready: z.string().nullable(),
  /** Who holds updates; null: nobody. */
  heldBy: z.string().nullable(),
  /** null: not held, or without an end. Missing: an older version. */
  heldSinceMs: z.number().nullable().optional(),
  heldUntilMs: z.number().nullable().optional(),
  /** No update could be looked for or taken for three nights, or metadata have expired. */
  stuck: reasonSince.nullable(),
  /** The last version that was tried failed here, and the older one runs. */
  failed: reasonSince.nullable(),
});

/** Payments that are not over for tp-manager. */
export const paymentFigures = { running: z.int(), inDoubt: z.int(), notHandedOver: z.int() };

/** Of the terminal (docs/matching.md); missing: an older tp-manager. */
export const terminalGrounds = {
  assumptions: z
    .array(
      z.object({
        name: z.string(),
        says: z.string(),
        isOn: z.boolean(),
        /** The setting or fact that switches it off; null: nothing does. */
        offWith: z.string().nullable(),
      }),
    )
    .readonly()
    .optional(),
  /** Facts by the names of their assumptions; false: a counterexample came; null: neither yet. */
  shown: z
    .array(z.object({ name: z.string(), says: z.string(), holds: z.boolean().nullable() }))
    .readonly()
    .optional(),
};

const waiting = z.object({ count: z.int(), sinceMs: z.number() });

/** tp-manager's part of the conditions (docs/design.md 8.8); an older version reports less. */
export const conditionFigures = z.object({
  /**
   * Why a payment of a new order would be refused now, with the code of its answer; empty: it would
   * be taken.
   */
  obstacles: z
    .array(z.object({ code: z.string(), says: z.string(), todo: z.string() }))
    .readonly()
    .optional(),
  /** The supervisor takes nothing: why, since when, and how many wait; null when it does. */
  handOver: reasonSince.extend({ pending: z.int() }).nullable().optional(),
  /** Transactions that the supervisor refuses while it takes the others. */
  refusedHandOffs: z.int().optional(),
  /** Orders that the gateway has although their sale does not stand; at most 100. */
  standingAtGateway: z.array(z.string()).readonly().optional(),
  /** Orders in doubt that keep payments of the same amount from being taken. */
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
  /** Charges for which the kiosk got another answer, or none. */
  unreadCharges: z
    .object({ count: z.int(), sinceMs: z.number(), orderIds: z.array(z.string()).readonly() })
    .nullable()
    .optional(),
});
export type TpManagerConditions = z.infer<typeof conditionFigures>;
