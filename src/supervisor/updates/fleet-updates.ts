import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { endHold, readHold, readReady, writeHold } from "../../update/update-state.ts";
import type { FleetUpdates } from "../fleet/fleet-requests.ts";
import { checkInItsOwnProgram } from "./update-checks.ts";

const FLEET = "the fleet";

/** Returns the actions on updates that the fleet may request (docs/fleet.md 6.3). */
export function updatesIn(
  dataDirectory: string,
  clock: Clock,
  log: AlarmLog,
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
