import type { Config } from "../../shared/config/config.ts";
import { type ConfigPart, integer, marked, textsFrom } from "../../shared/config/config-field.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import texts from "./settings-en.json" with { type: "json" };
import type { Terminal } from "./terminal.ts";

/** Adds the help text and an example to each setting of a driver. */
export const withTexts = textsFrom(texts);

/** Settings that mean the same to every driver that has them. */
export const commonFields = withTexts({
  /** The silence in ms before a probe and between two (docs/rules/14-timers.md: its floor). */
  RECOVERY_SILENCE_MS: marked(integer(0, 120_000).default(10_000), { floor: 10_000 }),
});

/** What the registry knows of a driver: its protocol, its settings, and how to create it. */
export interface Driver {
  readonly protocol: string;
  readonly config: Pick<ConfigPart, "fields" | "check">;
  /**
   * The time in ms after which a terminal that got no answer to its report has reversed the sale. A
   * probe proves something only after this much silence (docs/rules/32-probe-times.md).
   */
  confirmAfterMs(config: Config): number;
  /**
   * Creates the driver. The driver's code is imported only by this call, because the doctor has to
   * run where the library of serial ports does not load.
   */
  create(config: Config, clock: Clock, log: AlarmLog): Promise<Terminal>;
}
