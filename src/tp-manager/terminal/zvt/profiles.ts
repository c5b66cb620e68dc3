import type { ZvtOptions } from "./zvt-options.ts";

/**
 * Terminals whose readings exclude each other (docs/zvt.md 12.2 to 12.6), by name. Everything else
 * that devices do differently is tolerated by all profiles. Options that the configuration names
 * itself go first.
 */
type Profile = Partial<
  Pick<ZvtOptions, "charset" | "partialIssue" | "pollIntervalMs" | "totalsInFirstGroup">
>;

export const profiles = {
  standard: {},
  /** Texts in Latin-1 whatever was agreed, no partial issue, all totals in the first group. */
  "card-complete": { charset: "iso8859-1", partialIssue: false, totalsInFirstGroup: true },
  hobex: { partialIssue: false },
  /** Print blocks name their own set; a text that names none is Latin-2. */
  "pax-a80": { charset: "iso8859-2" },
  feig: {},
  /** docs/zvt.md 10.1: wants to be asked every three seconds. */
  ccv: { pollIntervalMs: 3_000 },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof profiles;

export function profileOptions(name: ProfileName): Profile {
  return profiles[name];
}
