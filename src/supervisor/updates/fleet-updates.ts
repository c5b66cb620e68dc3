import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { endHold, readHold, readReady, writeHold } from "../../update/update-state.ts";
import type { FleetUpdates } from "../fleet/fleet-requests.ts";
import { checkInItsOwnProgram } from "./update-checks.ts";

const FLEET = "the fleet";

interface Parts {
  readonly dataDirectory: string;
  readonly clock: Clock;
  readonly log: AlarmLog;
}

/** Returns the updates of a data folder, as far as the fleet may use them (docs/fleet.md 6.3). */
export function updatesIn(
  { dataDirectory, clock, log }: Parts,
  check = checkInItsOwnProgram,
): FleetUpdates {
  let isChecking = false;
  return {
    get offered() {
      return readReady(dataDirectory)?.version ?? null;
    },
    checkNow() {
      if (isChecking) return "busy";
      isChecking = true;
      void check(dataDirectory, log).finally(() => (isChecking = false));
      return "begun";
    },
    /** Sets or ends the fleet's hold; an operator's hold on the spot stays as it is. */
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
