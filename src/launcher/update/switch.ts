import { existsSync, renameSync } from "node:fs";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/process/installation.ts";
import {
  beginProbation,
  endProbation,
  receivedOnProbation,
} from "../../shared/process/probation.ts";
import { underWayFileOf } from "../../shared/version-files.ts";
import { isDiskFull, makeRoom } from "../../update/disk-room.ts";
import { patiently } from "../../update/durable-files.ts";
import {
  areReadableByOlder,
  clearUnfinishedCopies,
  copyStores,
  forgetGivenUpStores,
  haveCopies,
  putStoresBack,
} from "../../update/store-copies.ts";
import { nextSwitchState, type SwitchEvent } from "../../update/switch-machine.ts";
import {
  isOver,
  readSwitch,
  rememberEnd,
  type SwitchRecord,
  tryUpdateLock,
  writeSwitch,
} from "../../update/update-state.ts";
import type { CommandContext } from "../output.ts";
import { withProgramLocks } from "../processes/locks.ts";
import { clearSelfTest } from "./self-test.ts";
import {
  isWhole,
  namedVersion,
  nameVersion,
  type SwitchSite,
  switchSiteOf,
  wholeLineIn,
} from "./versions.ts";

const carriedOut: SwitchEvent = { event: "carried-out" };

/**
 * Carries out the steps of a switch from the present one to the end. Returns the record of the
 * end. Each step is on disk before its work begins, and each may be begun anew after a power cut
 * (docs/updates.md 4.2). `first`: the event that the present step has ended with already. The
 * caller holds the launch lock.
 */
export async function carrySwitchOut(
  site: SwitchSite,
  begun: SwitchRecord,
  first?: SwitchEvent,
): Promise<SwitchRecord> {
  let [record, onDisk, event] = [begun, begun, first];
  for (; !isOver(record) || event; event = undefined) {
    const next: SwitchEvent = event ?? (await outcomeOf(site, record));
    try {
      record = onDisk = recordNext(site, record, next);
    } catch (error) {
      if (!leadsToBefore(onDisk)) throw error;
      record = unwritten(site, record, next, error as Error);
    }
  }
  return record;
}

/**
 * Returns whether a launcher that goes on from this record comes to the previous programs, with the
 * stores as they are. Then these programs may sell although the record cannot be written.
 */
function leadsToBefore({ step, withStores }: SwitchRecord): boolean {
  if (step === "going-back") return !withStores;
  return ["testing", "stopping", "restarting"].includes(step);
}

/** Returns the record, which cannot be written, that leads back to the previous programs. */
function unwritten(
  { output }: SwitchSite,
  record: SwitchRecord,
  event: SwitchEvent,
  { message }: Error,
): SwitchRecord {
  output.fault(`${record.from} to ${record.to}: ${record.step} is not written down: ${message}`);
  return nextSwitchState(record, record.step === "stopping" ? failure(message) : event);
}

/** Returns the event of a failure for which the new version is not to blame. */
const failure = (why: string) => ({ event: "failed", why, bars: false }) as const;

/**
 * Carries out a step and returns the event that it ends with. Until the new version stays, a fault
 * such as a full disk is a failure, which leads back; later the fault is thrown, and the next
 * launcher tries again.
 */
async function outcomeOf(site: SwitchSite, record: SwitchRecord): Promise<SwitchEvent> {
  const leadsBack = ["stopping", "switching", "probation"].includes(record.step);
  try {
    return await carryOut(site, record);
  } catch (error) {
    if (!leadsBack) throw error;
    return failure((error as Error).message);
  }
}

/** Writes the next record, on disk when it returns, and returns it. */
export function recordNext(
  { dataDirectory, clock, output }: CommandContext,
  record: SwitchRecord,
  event: SwitchEvent,
): SwitchRecord {
  const next = { ...nextSwitchState(record, event), atMs: clock.now() };
  writeRecord(dataDirectory, next);
  if (event.event === "failed") output.fault(`${record.to}, ${record.step}: ${event.why}`);
  output.note(`${record.from} to ${record.to}: ${next.step}`);
  return next;
}

/** Writes the record of any step; of the last one the state of updates gets the result too. */
function writeRecord(dataDirectory: string, next: SwitchRecord): void {
  const write = (): void => {
    // Before the record of the end, so that after a cut in between the end is remembered once more.
    if (isOver(next)) rememberEnd(dataDirectory, next);
    writeSwitch(dataDirectory, next);
  };
  try {
    write();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    // Files that the update itself has written and needs no more make room.
    const { step, withStores } = next;
    const isBack = ["going-back", "restarting", "undone"].includes(step) && !withStores;
    makeRoom(dataDirectory, { storesToo: isBack });
    write();
  }
}

async function carryOut(site: SwitchSite, record: SwitchRecord): Promise<SwitchEvent> {
  const { dataDirectory, root } = site;
  const { step, from, to } = record;
  switch (step) {
    case "stopping":
      await site.stop();
      return await closed(dataDirectory, () => copyStores(dataDirectory));
    case "switching":
      return await closed(dataDirectory, () => {
        forgetGivenUpStores(dataDirectory);
        patiently(() => beginProbation(dataDirectory));
        nameVersion(root, { current: to, previous: from });
      });
    case "probation":
      return await site.prove(record);
    case "giving-up": {
      await site.stop();
      const received = receivedOnProbation(dataDirectory);
      const readableByOlder = received && areReadableByOlder(dataDirectory);
      return { event: "given-up", received, readableByOlder };
    }
    case "going-back":
      // A version that is still named comes back without a lock and without a write to the disk.
      if (!record.withStores && wholeLineIn(root, "current") === from) return carriedOut;
      return await closed(dataDirectory, () => {
        if (record.withStores) putStoresBack(dataDirectory);
        nameVersion(root, { current: from, previous: from });
      });
    case "staying":
    case "restarting":
      patiently(() => endProbation(dataDirectory));
      await site.start(step === "staying" ? to : from);
      return carriedOut;
    default:
      throw new Error(`a switch has no work in the step ${step}`);
  }
}

/** Runs `work` while no program has the stores open, however it was started. */
async function closed(dataDirectory: string, work: () => void): Promise<SwitchEvent> {
  await withProgramLocks(dataDirectory, work);
  return carriedOut;
}

/**
 * Brings an update to its end that a power cut or a limit of the system has cut off, to the new
 * version or back to the older one (docs/updates.md 4.2). Is called before anything is started.
 * Returns an exit code when another version than this launcher's own is to run: then this launcher
 * has nothing more to do. The caller holds the launch lock.
 */
export async function finishSwitch(context: CommandContext): Promise<number | undefined> {
  const { dataDirectory } = context;
  if (!existsSync(underWayFileOf(dataDirectory))) {
    // A data folder that was put back by hand may have the mark of a probation without a record.
    endProbation(dataDirectory);
    return undefined;
  }
  const lock = tryUpdateLock(dataDirectory);
  if (!lock) return undefined; // the update of its holder has not come to the switch yet
  try {
    await endSwitch(switchSiteOf(context));
  } finally {
    lock.release();
  }
  return (namedVersion() ?? versionNumber) === versionNumber ? undefined : exitCodes.ok;
}

/** Brings the update that was cut off to its end at a site. The caller holds both locks. */
export async function endSwitch(site: SwitchSite): Promise<void> {
  const record = readRecord(site);
  if (!record) return;
  const { step, from, to } = record;
  const [hasFrom, hasTo] = [from, to].map((version) => isWhole(version, site.root));
  await clearLeftovers(site, record);
  const needsTo = ["switching", "probation", "giving-up", "staying"].includes(step);
  const needsFrom = step !== "testing" && step !== "staying";
  if ((hasTo || !needsTo) && (hasFrom || !needsFrom)) {
    await carrySwitchOut(site, record, { event: "cut" });
  } else if (hasFrom && step !== "staying") {
    await carrySwitchOut(site, record, failure(`${to} is not whole`));
  } else await settleHere(site, record);
}

/**
 * Ends an update whose versions are not both here: the data folder was moved to another delivery,
 * or a version was removed by hand. The version that is here runs. Stores on which a new version
 * has run are put back as long as nothing has come, because more versions can read the older ones.
 */
async function settleHere(site: SwitchSite, record: SwitchRecord): Promise<void> {
  const { dataDirectory, clock, output } = site;
  const { step, from, to, withStores } = record;
  const hasRun = step === "probation" || step === "giving-up";
  await site.stop();
  const isUntouched = hasRun && !receivedOnProbation(dataDirectory);
  if ((isUntouched || withStores) && haveCopies(dataDirectory)) {
    await closed(dataDirectory, () => putStoresBack(dataDirectory));
  }
  endProbation(dataDirectory);
  const why = `${step} was cut off, and ${from} or ${to} is not in this installation`;
  output.fault(why);
  writeRecord(dataDirectory, { ...record, step: "undone", why, bars: false, atMs: clock.now() });
}

/** Removes the leftovers of a cut-off step; one that cannot be removed is only reported. */
async function clearLeftovers(site: SwitchSite, { step, to }: SwitchRecord): Promise<void> {
  const { dataDirectory, output } = site;
  try {
    if (step === "testing") await clearSelfTest(to, dataDirectory);
    if (step === "stopping") clearUnfinishedCopies(dataDirectory);
  } catch (error) {
    output.fault(`${step} has left something: ${(error as Error).message}`);
  }
}

/** Returns the record of the update. A damaged one is renamed, and the update has ended. */
function readRecord({ dataDirectory, output }: CommandContext): SwitchRecord | undefined {
  try {
    return readSwitch(dataDirectory);
  } catch (error) {
    output.fault(`the record of an update is damaged: ${(error as Error).message}`);
    const file = underWayFileOf(dataDirectory);
    renameSync(file, `${file}.damaged`);
    endProbation(dataDirectory);
    return undefined;
  }
}
