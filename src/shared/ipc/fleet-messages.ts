import { z } from "zod";
import { conditionFigures, paymentFigures } from "./status-figures.ts";

/** The largest number of events in one answer; reading more would delay a payment. */
export const FLEET_PAGE_MAX = 50;

const files = ["FLEET_CERT_FILE", "FLEET_CA_FILE", "GATEWAY_CA_FILE", "PROXY_CA_FILE"] as const;
/** When the certificates of a file expire that a setting names. */
export const certificateFile = z.strictObject({
  setting: z.enum(files).meta({ growing: true }),
  ends: z.iso.datetime(),
});

/** The upper bounds of a histogram's buckets, for the time of each phase of a payment. */
export const PHASE_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160];

/** The only message of the fleet part to tp-manager; it changes nothing (docs/fleet.md 6.1). */
export const fleetMessages = {
  /** Reads the kiosk's state and the events after the id `after`, oldest first; null: no events. */
  "fleet-news": {
    request: z.object({
      after: z.int().min(0).nullable(),
      limit: z.int().min(1).max(FLEET_PAGE_MAX),
      /** Whether the answer has the figures, which are needed once a minute. */
      figures: z.boolean().optional(),
    }),
    response: z.object({
      terminal: z.object({
        link: z.string(),
        state: z.string(),
        since: z.iso.datetime(),
        terminalId: z.string(),
      }),
      payments: z.object(paymentFigures),
      troubles: conditionFigures,
      version: z.string(),
      uptimeMs: z.number(),
      /** Why tp-manager was started. Missing: an older tp-manager. */
      startedAfter: z.string().optional(),
      figures: z
        .object({
          linksLost: z.int(),
          /** By phase of a payment: its histogram, as the fleet's document has it. */
          phases: z.record(z.string(), z.unknown()),
        })
        .optional(),
      /** The id of the newest event; it becomes smaller only if the journal is another one. */
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
