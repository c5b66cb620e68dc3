import type { Config } from "../../shared/config/config.ts";
import { type ConfigPart, described, integer } from "../../shared/config/config-field.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { Terminal } from "./terminal.ts";

/** Settings that mean the same to every driver that has them. */
export const commonFields = {
  RECOVERY_SILENCE_MS: described(integer(0, 120_000).default(10_000), {
    help: "Silence on the line before a lost payment is asked about.",
    example: "10000",
    floor: 10_000,
  }),
} as const;

/** The facts that a driver tells the registry. */
export interface Driver {
  /** The word for TERMINAL_PROTOCOL. */
  readonly protocol: string;
  /** Settings that the driver adds to the setup file; a name of two drivers means one thing. */
  readonly config: Pick<ConfigPart, "fields" | "check">;
  /**
   * docs/rules/02-proof.md: after this much silence a terminal that never got our answer to its
   * report has given up waiting for that answer; only then is the second look worth anything.
   */
  recoverySilenceMs(config: Config): number;
  /**
   * Loads the driver and its line, which others who read the registry do without: the doctor has
   * to run where the serial line's own library does not load.
   */
  create(config: Config, clock: Clock, log: Logger): Promise<Terminal>;
}
