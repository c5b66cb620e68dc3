import { existsSync, renameSync } from "node:fs";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/process/installation.ts";
import { endProbation, receivedOnProbation } from "../../shared/process/probation.ts";
import { underWayFileOf } from "../../shared/version-files.ts";
import { clearUnfinishedCopies, haveCopies, putStoresBack } from "../../update/store-copies.ts";
import { readSwitch, type SwitchRecord } from "../../update/switch-record.ts";
import { tryUpdateLock } from "../../update/update-lock.ts";
import type { Site } from "../site.ts";
import { clearSelfTest } from "./self-test.ts";
import { alone, carrySwitchOut, type SwitchPlace, writeRecord } from "./switch.ts";
import { placeOf } from "./version-programs.ts";
import { isWhole, namedVersion } from "./versions.ts";

/**
 * Brings an update to its end that a power cut or a limit of the system has cut off: to the new
 * version or back to the older one (docs/updates.md 4.2). Comes before anything is started. The
 * caller holds the launch lock. An exit code: the version that is to run is not this launcher's
 * own, so there is nothing more to do for it.
 */
export async function finishSwitch(site: Site): Promise<number | undefined> {
  const { dataDirectory } = site.installation;
  if (!existsSync(underWayFileOf(dataDirectory))) {
    // Without a record nobody would end it: a data folder that was put back by hand.
    endProbation(dataDirectory);
    return undefined;
  }
  const lock = tryUpdateLock(dataDirectory);
  if (!lock) return undefined; // who holds it has not come to the switch yet
  try {
    await endSwitch(site, placeOf(site));
  } finally {
    lock.release();
  }
  return (namedVersion() ?? versionNumber) === versionNumber ? undefined : exitCodes.ok;
}

/** The update that was cut off, to its end, wherever it lies. The caller holds both locks. */
export async function endSwitch(site: Site, place: SwitchPlace): Promise<void> {
  const record = readRecord(site);
  if (!record) return;
  const { step, from, to } = record;
  const [hasFrom, hasTo] = [from, to].map((version) => isWhole(version, place.root));
  await clearLeftovers(site, record);
  const needsTo = ["switching", "probation", "giving-up", "staying"].includes(step);
  const needsFrom = step !== "testing" && step !== "staying";
  if ((hasTo || !needsTo) && (hasFrom || !needsFrom)) {
    await carrySwitchOut(site, record, place, { event: "cut" });
  } else if (hasFrom && step !== "staying") {
    const failed = { event: "failed", why: `${to} is not whole`, bars: false } as const;
    await carrySwitchOut(site, record, place, failed);
  } else await settleHere(site, record, place);
}

/**
 * The data folder was moved to another delivery, or a version was removed by hand: what is here
 * runs. Stores on which a new version has run go back as long as nothing has come, because more
 * versions can read them so.
 */
async function settleHere(site: Site, record: SwitchRecord, place: SwitchPlace): Promise<void> {
  const { dataDirectory } = site.installation;
  const { step, from, to, withStores } = record;
  const hasRun = step === "probation" || step === "giving-up";
  await place.programs.stop();
  const isUntouched = hasRun && !receivedOnProbation(dataDirectory);
  if ((isUntouched || withStores) && haveCopies(dataDirectory)) {
    await alone(dataDirectory, () => putStoresBack(dataDirectory));
  }
  endProbation(dataDirectory);
  const why = `${step} was cut off, and ${from} or ${to} is not in this installation`;
  site.output.fault(why);
  const end = { step: "undone", why, bars: false } as const;
  writeRecord(dataDirectory, { ...record, ...end, atMs: site.clock.now() });
}

/** Leftovers that cannot be removed keep nothing from running. */
async function clearLeftovers(site: Site, { step, to }: SwitchRecord): Promise<void> {
  const { dataDirectory } = site.installation;
  try {
    if (step === "testing") await clearSelfTest(to, dataDirectory, site.clock);
    if (step === "stopping") clearUnfinishedCopies(dataDirectory);
  } catch (error) {
    site.output.fault(`${step} has left something: ${(error as Error).message}`);
  }
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
