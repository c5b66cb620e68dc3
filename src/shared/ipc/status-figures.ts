import { z } from "zod";

/* Parts of what the programs tell of themselves. */

/** A trouble in words for an operator, and since when. */
export const troubleSince = z.object({ reason: z.string(), sinceMs: z.int() });

export const notificationFigures = z.object({
  /** Since the start of the program, by verdict. */
  verdicts: z.record(z.string(), z.int()),
  /** null: no trouble. */
  refused: troubleSince.extend({ count: z.int() }).nullable(),
});

export const updateFigures = z.object({
  /** UPDATE_URL is set. */
  asks: z.boolean(),
  channel: z.string(),
  /** The last look for an update, and why it failed; null: never, or well. */
  checkedMs: z.number().nullable(),
  fault: z.string().nullable(),
  /** Metadata were verified as fresh for the last time, and the first of them expires. */
  freshMs: z.number().nullable(),
  expiresMs: z.number().nullable(),
  /** A version that waits to be taken; null: none. */
  ready: z.string().nullable(),
  /** Who holds updates; null: nobody. */
  heldBy: z.string().nullable(),
  /** No update could be looked for or taken for three nights, or metadata have expired. */
  stuck: troubleSince.nullable(),
  /** The last version that was tried failed here, and the older one runs. */
  failed: troubleSince.nullable(),
});
