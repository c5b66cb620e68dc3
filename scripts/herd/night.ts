import { chosenRelease } from "../../src/update/offer-policy.ts";
import { checkTime } from "../../src/update/update-state.ts";

/* A night's updates of simulated kiosks, with the update client's choice of release and minute. */

/** Each so many-th kiosk of a crowd raises an alarm. */
export const ALARMING = 9;

const installation = (index: number): string => `installation ${index}`;

/** Whether a rollout share reaches a kiosk that a lower share has not reached. */
export function reachedBy(index: number, before: number, share: number): boolean {
  return isOffered(index, share) && !isOffered(index, before);
}

function isOffered(index: number, share: number): boolean {
  const about = { version: "1.1.0", platform: "linux-x64", follows: "1.0.0", notBeforeMs: 0 };
  const release = { ...about, channels: { stable: share }, withdrawn: false, replaces: [] };
  const kiosk = { version: "1.0.0", platform: "linux-x64", channel: "stable", nowMs: 1 };
  const candidate = { ...kiosk, installation: installation(index), offered: [], barred: [] };
  return chosenRelease([release], candidate) !== undefined;
}

/** The minute of the hour from 03:00 on in which a kiosk looks for updates. */
export function updateMinute(index: number): number {
  const [hours = 0, minutes = 0] = checkTime("03:30", installation(index)).split(":").map(Number);
  return (hours - 3) * 60 + minutes;
}
