import type { Config } from "../../shared/config/config.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { isDelivery, programFile } from "../../shared/version-files.ts";
import { endHold, readHold, readReady, writeHold } from "../../update/update-state.ts";
import type { FleetUpdates } from "../fleet/fleet-requests.ts";
import { lookInItsOwnProgram } from "./update-checks.ts";

const FLEET = "the fleet";

interface Parts {
  readonly dataDirectory: string;
  readonly config: Pick<Config, "UPDATE_URL">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The two things that the fleet may ask of updates; undefined where none are looked for. */
export function fleetUpdates(parts: Parts): FleetUpdates | undefined {
  return isDelivery && parts.config.UPDATE_URL !== undefined ? updatesIn(parts) : undefined;
}

/** Those of a data folder (docs/fleet.md 6.3). */
export function updatesIn(
  { dataDirectory, clock, log }: Omit<Parts, "config">,
  look = lookInItsOwnProgram,
): FleetUpdates {
  let isChecking = false;
  return {
    get offered() {
      return readReady(dataDirectory)?.version ?? null;
    },
    checkNow() {
      if (isChecking) return "busy";
      isChecking = true;
      const script = programFile("update-check");
      void look(script, dataDirectory, log)
        .catch((error: unknown) => log.warn({ err: error }, "no update could be looked for"))
        .finally(() => (isChecking = false));
      return "begun";
    },
    /** A hold of an operator on the spot stays as it is. */
    holdUntil(untilMs) {
      const nowMs = clock.now();
      const hold = readHold(dataDirectory, nowMs);
      if (hold && hold.who !== FLEET) return false;
      if (untilMs === null) endHold(dataDirectory);
      else writeHold(dataDirectory, { who: FLEET, sinceMs: nowMs, untilMs });
      return true;
    },
  };
}
