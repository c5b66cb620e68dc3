import { existsSync, renameSync } from "node:fs";
import { exitCodes } from "../../shared/exit-codes.ts";
import { versionNumber } from "../../shared/installation.ts";
import { endProbation } from "../../shared/probation.ts";
import { isDelivery, underWayFileOf } from "../../shared/version-files.ts";
import { readSwitch, type SwitchRecord } from "../../update/switch-record.ts";
import { tryUpdateLock } from "../../update/update-lock.ts";
import type { Site } from "../site.ts";
import { clearSelfTest } from "./self-test.ts";
import { carrySwitchOut, recordNext } from "./switch.ts";
import { placeOf } from "./version-programs.ts";
import { namedVersion } from "./versions.ts";

/**
 * Brings an update to its end that a power cut or a limit of the system has cut off: to the new
 * version or back to the older one (docs/updates.md 4.2). Comes before anything is started. The
 * caller holds the launch lock. An exit code: the version that is to run is not this launcher's
 * own, so there is nothing more to do for it.
 */
export async function finishSwitch(site: Site): Promise<number | undefined> {
  const { dataDirectory } = site.installation;
  if (!isDelivery || !existsSync(underWayFileOf(dataDirectory))) return undefined;
  const lock = tryUpdateLock(dataDirectory);
  if (!lock) return undefined; // who holds it has not come to the switch yet
  try {
    const begun = readRecord(site);
    if (begun?.step === "testing") await clearSelfTest(begun.to, dataDirectory, site.clock);
    if (begun) await carrySwitchOut(site, recordNext(site, begun, { event: "cut" }), placeOf(site));
  } finally {
    lock.release();
  }
  return namedVersion() === versionNumber ? undefined : exitCodes.ok;
}

/** A damaged record ends the update with whatever version is named, stores as they are. */
function readRecord({ installation, output }: Site): SwitchRecord | undefined {
  try {
    return readSwitch(installation.dataDirectory);
  } catch (error) {
    output.fault(`the record of an update is damaged: ${(error as Error).message}`);
    const file = underWayFileOf(installation.dataDirectory);
    renameSync(file, `${file}.damaged`);
    endProbation(installation.dataDirectory);
    return undefined;
  }
}
