import { DAY_MS, systemClock } from "../../../src/shared/time.ts";
import type { Journal } from "../../../src/tp-manager/journal/journal.ts";

/** Packs all attempts that may be packed at `nowMs`, as if the version had run for long. */
export function packAll(journal: Journal, nowMs = systemClock.now() + 2 * DAY_MS): void {
  journal.database.exec("UPDATE packing SET since_ms = 0");
  while (journal.packing.packNext(nowMs));
}
