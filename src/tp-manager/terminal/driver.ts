import type { Config } from "../../shared/config/config.ts";
import { type ConfigPart, integer, marked, textsFrom } from "../../shared/config/config-field.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import texts from "./settings-en.json" with { type: "json" };
import type { Terminal } from "./terminal.ts";

/** Adds help and example to the settings of a driver. */
export const withTexts = textsFrom(texts);

/** Settings that mean the same to every driver that has them. */
export const commonFields = withTexts({
  /** How long the line is silent before a question about a lost payment, and between probes; ms. */
  RECOVERY_SILENCE_MS: marked(integer(0, 120_000).default(10_000), { floor: 10_000 }),
});

/** A driver as the registry knows it. */
export interface Driver {
  /** The value of TERMINAL_PROTOCOL. */
  readonly protocol: string;
  /** Settings that the driver adds; a name that two drivers use means the same in each. */
  readonly config: Pick<ConfigPart, "fields" | "check">;
  /**
   * How long a terminal waits for our answer to its report before it reverses the sale. Only a
   * probe after this much silence proves anything (docs/rules/02-proof.md).
   */
  recoverySilenceMs(config: Config): number;
  /**
   * Loads the driver and its line. Reading the registry loads neither, because the doctor has to
   * run where the library of serial ports does not load.
   */
  create(config: Config, clock: Clock, log: AlarmLog): Promise<Terminal>;
}
