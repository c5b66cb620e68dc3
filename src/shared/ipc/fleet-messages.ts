import { z } from "zod";

/** Events in one answer: a payment must not wait for the reading of many. */
export const FLEET_PAGE_MAX = 50;

/** Why a kiosk can take no payment, in names. */
export const payObstacles = [
  "no-terminal-link",
  "terminal-needs-action",
  "stopping",
  "on-probation",
  "order-in-doubt",
  "sale-without-order",
  "journal-unreadable",
  "terminal-changed",
  "stores-in-doubt",
] as const;
export type PayObstacle = (typeof payObstacles)[number];

const readinessSchema = z.object({
  /** Empty when a payment can be taken. A newer tp-manager may know others. */
  obstacles: z.array(z.string()),
  terminal: z.object({
    link: z.string(),
    state: z.string(),
    since: z.iso.datetime(),
    terminalId: z.string(),
  }),
  /** null: the journal cannot be read. */
  payments: z.object({ running: z.int(), inDoubt: z.int(), notHandedOver: z.int() }).nullable(),
  /** tp-manager's part of what the table of troubles asks. */
  troubles: z.object({
    handOver: z
      .object({ reason: z.string(), sinceMs: z.int(), pending: z.int() })
      .nullable()
      .optional(),
    refusedHandOffs: z.int().optional(),
    standingAtGateway: z.array(z.string()).readonly().optional(),
    unreadCharges: z
      .object({ count: z.int(), sinceMs: z.number(), orderIds: z.array(z.string()).readonly() })
      .nullable()
      .optional(),
  }),
});
export type Readiness = z.infer<typeof readinessSchema>;

/** All that the fleet part may say to tp-manager (docs/fleet.md 6.1): a question. */
export const fleetMessages = {
  /** Readiness, and the kept events behind `after`, oldest first; null: no events are wanted. */
  "fleet-news": {
    request: z.object({
      after: z.int().min(0).nullable(),
      limit: z.int().min(1).max(FLEET_PAGE_MAX),
    }),
    response: readinessSchema.extend({
      version: z.string(),
      uptimeMs: z.number(),
      /** The id of the newest event; smaller than before when the journal is another one. */
      lastId: z.int(),
      events: z.array(
        z.object({
          id: z.int(),
          atMs: z.int(),
          name: z.string(),
          data: z.record(z.string(), z.unknown()),
        }),
      ),
    }),
  },
} as const;
export type FleetNewsAnswer = z.infer<(typeof fleetMessages)["fleet-news"]["response"]>;
