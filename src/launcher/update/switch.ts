import { existsSync, renameSync } from "node:fs";
import { exitCodes } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/program/installation.ts";
import {
  beginProbation,
  endProbation,
  receivedOnProbation,
} from "../../shared/program/probation.ts";
import { underWayFileOf } from "../../shared/version-files.ts";
import { clearOldVersions, isDiskFull, makeRoom } from "../../update/disk-room.ts";
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
 * Carries out the remaining steps of a switch and returns its last record. Each step is on disk
 * before its work begins, and may be begun again after a power cut (docs/updates.md 4.2). `first`:
 * the event with which the present step has ended already. The caller holds the launch lock.
 */
export async function carrySwitchOut(site: SwitchSite, begun: SwitchRecord, first?: SwitchEvent) {
  let [record, onDisk] = [begun, begun];
  for (let event = first; !isOver(record); event = undefined) {
    const next: SwitchEvent = event ?? (await outcomeOf(site, record));
    try {
      record = onDisk = recordNext(site, record, next);
    } catch (error) {
      if (!leadsToBefore(onDisk)) throw error;
      // The next step leads to the previous programs, so it is carried out without its record.
      const { to, step } = record;
      const { message } = error as Error;
      site.output.fault(`update to ${to}: could not record the step ${step}: ${message}`);
      record = nextSwitchState(record, step === "stopping" ? failure(message) : next);
    }
  }
  return record;
}

/**
 * Returns whether this record leads back to the previous programs with the present databases. Those
 * programs can accept payments even if the next record cannot be written.
 */
function leadsToBefore({ step, withStores }: SwitchRecord): boolean {
  if (step === "going-back") return !withStores;
  return ["testing", "stopping", "restarting"].includes(step);
}

/** Returns the event "failed" for a failure that is no fault of the new version. */
const failure = (why: string) => ({ event: "failed", why, bars: false }) as const;

/**
 * Carries out a step and returns the event with which the step ends. Before it is decided that the
 * new version stays, a fault such as a full disk ends the step as failed, which leads back to the
 * previous version; later the fault is thrown, and the next launcher tries again.
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

/** Writes the next record and returns it; the record is on disk when this returns. */
export function recordNext(
  { dataDirectory, clock, output }: CommandContext,
  record: SwitchRecord,
  event: SwitchEvent,
): SwitchRecord {
  const next = { ...nextSwitchState(record, event), atMs: clock.now() };
  writeRecord(dataDirectory, next);
  if (event.event === "failed") output.fault(`${record.to}, ${record.step}: ${event.why}`);
  output.note(`update from ${record.from} to ${record.to}: ${next.step}`);
  return next;
}

function writeRecord(dataDirectory: string, next: SwitchRecord): void {
  const write = (): void => {
    // The result is written first: a power cut before the last record makes a launcher write both.
    if (isOver(next)) rememberEnd(dataDirectory, next);
    writeSwitch(dataDirectory, next);
  };
  try {
    write();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    // Files that the update has written and no longer needs make room for the record.
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
      return closed(dataDirectory, () => copyStores(dataDirectory));
    case "switching":
      return closed(dataDirectory, () => {
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
      // If the file `current` still names the previous version, this step has no lock and no write,
      // so a full disk cannot stop it.
      if (!record.withStores && wholeLineIn(root, "current") === from) return carriedOut;
      return closed(dataDirectory, () => {
        if (record.withStores) putStoresBack(dataDirectory);
        nameVersion(root, { current: from, previous: from });
      });
    case "staying":
    case "restarting":
      patiently(() => endProbation(dataDirectory));
      await site.start(step === "staying" ? to : from);
      return carriedOut;
    default:
      throw new Error(
        `an update has no work to carry out in its step ${step}: this is a programming error`,
      );
  }
}

/** Runs `work` while no program has the databases open, however that program was started. */
function closed(dataDirectory: string, work: () => void): SwitchEvent {
  withProgramLocks(dataDirectory, work);
  return carriedOut;
}

/**
 * Ends an update that was cut off, with the new version or the previous one (docs/updates.md 4.2).
 * Call it before anything is started. Returns an exit code if another version than this launcher's
 * own is to run: then this launcher does nothing more. The caller holds the launch lock.
 */
export async function finishSwitch(context: CommandContext): Promise<number | undefined> {
  const { dataDirectory } = context;
  if (!existsSync(underWayFileOf(dataDirectory))) {
    // A data folder restored by hand can have the mark of a probation without a record.
    endProbation(dataDirectory);
    return undefined;
  }
  const lock = tryUpdateLock(dataDirectory);
  if (!lock) return undefined; // another launcher is updating and has not begun the switch
  try {
    await endSwitch(switchSiteOf(context));
  } finally {
    lock.release();
  }
  return (namedVersion() ?? versionNumber) === versionNumber ? undefined : exitCodes.ok;
}

/** Ends the update that was cut off. The caller holds the launch lock and the update lock. */
export async function endSwitch(site: SwitchSite): Promise<void> {
  const record = readRecord(site);
  if (!record) return;
  const { step, from, to } = record;
  const [hasFrom, hasTo] = [from, to].map((version) => isWhole(version, site.root));
  await clearLeftovers(site, record);
  const needsTo = ["switching", "probation", "giving-up", "staying"].includes(step);
  const needsFrom = step !== "testing" && step !== "staying";
  if ((hasTo || !needsTo) && (hasFrom || !needsFrom)) {
    const end = await carrySwitchOut(site, record, { event: "cut" });
    if (end.step === "done") clearOldVersions(site.root, [from, to]);
  } else if (hasFrom && step !== "staying") {
    await carrySwitchOut(site, record, failure(`${to} is not whole`));
  } else await settleHere(site, record);
}

/**
 * Ends an update of which a version is missing, because the data folder was moved to another
 * delivery, or the version was removed by hand: the version that exists here runs. If a new version
 * has migrated the databases and they have received nothing since, their copies replace them,
 * because more versions can read the older form.
 */
async function settleHere(site: SwitchSite, record: SwitchRecord): Promise<void> {
  const { dataDirectory, clock, output } = site;
  const { step, from, to, withStores } = record;
  const hasRun = step === "probation" || step === "giving-up";
  await site.stop();
  const isUntouched = hasRun && !receivedOnProbation(dataDirectory);
  if ((isUntouched || withStores) && haveCopies(dataDirectory)) {
    closed(dataDirectory, () => putStoresBack(dataDirectory));
  }
  endProbation(dataDirectory);
  const why = `${step} was cut off, and ${from} or ${to} is not in this installation`;
  output.fault(why);
  const next = nextSwitchState(record, { event: "version-missing", why });
  writeRecord(dataDirectory, { ...next, atMs: clock.now() });
}

async function clearLeftovers(site: SwitchSite, { step, to }: SwitchRecord): Promise<void> {
  const { dataDirectory, output } = site;
  try {
    if (step === "testing") await clearSelfTest(to, dataDirectory);
    if (step === "stopping") clearUnfinishedCopies(dataDirectory);
  } catch (error) {
    output.fault(`could not delete files of the update step ${step}: ${(error as Error).message}`);
  }
}

/** Returns the record of the update. A damaged record is renamed, and the update is over. */
function readRecord({ dataDirectory, output }: CommandContext): SwitchRecord | undefined {
  try {
    return readSwitch(dataDirectory);
  } catch (error) {
    output.fault(`the record of the running update is damaged: ${(error as Error).message}`);
    const file = underWayFileOf(dataDirectory);
    renameSync(file, `${file}.damaged`);
    endProbation(dataDirectory);
    return undefined;
  }
}
