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
import { isOver, readSwitch, type SwitchRecord, writeSwitch } from "../../update/switch-record.ts";
import { tryUpdateLock } from "../../update/update-lock.ts";
import { rememberEnd } from "../../update/update-state.ts";
import type { CommandContext } from "../command-context.ts";
import { withProgramLocks } from "../processes/locks.ts";
import { clearSelfTest } from "./self-test.ts";
import { placeOf, type SwitchPlace } from "./version-programs.ts";
import { isWhole, namedVersion, nameVersion, wholeLineIn } from "./versions.ts";

const carriedOut: SwitchEvent = { event: "carried-out" };

/**
 * Carries the steps of a switch out, from whichever it has come to, to its end: each is on disk
 * before its work begins, and each may be begun anew after a cut (docs/updates.md 4.2). The caller
 * holds the launch lock. `first`: what has come of the present step already. Answers the record of
 * the end.
 */
export async function carrySwitchOut(
  context: CommandContext,
  begun: SwitchRecord,
  place: SwitchPlace,
  first?: SwitchEvent,
): Promise<SwitchRecord> {
  let [record, onDisk, event] = [begun, begun, first];
  for (; !isOver(record) || event; event = undefined) {
    const next: SwitchEvent = event ?? (await outcomeOf(context, record, place));
    try {
      record = onDisk = recordNext(context, record, next);
    } catch (error) {
      if (!leadsToBefore(onDisk)) throw error;
      record = unwritten(context, record, next, error as Error);
    }
  }
  return record;
}

/**
 * Whether a record, wherever it is taken up again, leads to the previous programs on the stores as
 * they are. So these may run and sell although nothing can be written down.
 */
function leadsToBefore({ step, withStores }: SwitchRecord): boolean {
  if (step === "going-back") return !withStores;
  return ["testing", "stopping", "restarting"].includes(step);
}

/** A disk that takes no record: back to the previous programs; a switch needs its records. */
function unwritten(
  { output }: CommandContext,
  record: SwitchRecord,
  event: SwitchEvent,
  { message }: Error,
): SwitchRecord {
  output.fault(`${record.from} to ${record.to}: ${record.step} is not written down: ${message}`);
  const failed = { event: "failed", why: message, bars: false } as const;
  return nextSwitchState(record, record.step === "stopping" ? failed : event);
}

/** Until the new version stays, a fault such as a full disk leads back; later it is tried again. */
async function outcomeOf(
  context: CommandContext,
  record: SwitchRecord,
  place: SwitchPlace,
): Promise<SwitchEvent> {
  const leadsBack = ["stopping", "switching", "probation"].includes(record.step);
  try {
    return await carryOut(context, record, place);
  } catch (error) {
    if (!leadsBack) throw error;
    return { event: "failed", why: (error as Error).message, bars: false };
  }
}

/** On disk when it returns. */
export function recordNext(
  { installation, clock, output }: CommandContext,
  record: SwitchRecord,
  event: SwitchEvent,
): SwitchRecord {
  const next = { ...nextSwitchState(record, event), atMs: clock.now() };
  writeRecord(installation.dataDirectory, next);
  if (event.event === "failed") output.fault(`${record.to}, ${record.step}: ${event.why}`);
  output.note(`${record.from} to ${record.to}: ${next.step}`);
  return next;
}

/** Of whichever step: of the last one it is remembered too how the update has ended. */
function writeRecord(dataDirectory: string, next: SwitchRecord): void {
  withRoom(dataDirectory, next, () => {
    // Before the record of the end: after a cut in between the end is remembered once more.
    if (isOver(next)) rememberEnd(dataDirectory, next);
    writeSwitch(dataDirectory, next);
  });
}

/** On a full disk, what the update itself has laid down and needs no more makes room. */
function withRoom(dataDirectory: string, { step, withStores }: SwitchRecord, write: () => void) {
  try {
    write();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    const isBack = ["going-back", "restarting", "undone"].includes(step) && !withStores;
    makeRoom(dataDirectory, { storesToo: isBack });
    write();
  }
}

async function carryOut(
  context: CommandContext,
  record: SwitchRecord,
  { root, programs }: SwitchPlace,
): Promise<SwitchEvent> {
  const { dataDirectory } = context.installation;
  const { step, from, to } = record;
  switch (step) {
    case "stopping":
      await programs.stop();
      return await closed(dataDirectory, () => copyStores(dataDirectory));
    case "switching":
      return await closed(dataDirectory, async () => {
        forgetGivenUpStores(dataDirectory);
        patiently(() => beginProbation(dataDirectory));
        await nameVersion(root, { current: to, previous: from }, context.clock);
      });
    case "probation":
      return await programs.prove(record);
    case "giving-up": {
      await programs.stop();
      const received = receivedOnProbation(dataDirectory);
      const readableByOlder = received && areReadableByOlder(dataDirectory);
      return { event: "given-up", received, readableByOlder };
    }
    case "going-back":
      // A version that is still named comes back without a lock and without a byte on the disk.
      if (!record.withStores && wholeLineIn(root, "current") === from) return carriedOut;
      return await closed(dataDirectory, async () => {
        if (record.withStores) putStoresBack(dataDirectory);
        await nameVersion(root, { current: from, previous: from }, context.clock);
      });
    case "staying":
    case "restarting":
      patiently(() => endProbation(dataDirectory));
      await programs.start(step === "staying" ? to : from);
      return carriedOut;
    default:
      throw new Error(`a switch has no work in the step ${step}`);
  }
}

/** Works while no program has the stores open, however it was started. */
async function closed(
  dataDirectory: string,
  work: () => void | Promise<void>,
): Promise<SwitchEvent> {
  await withProgramLocks(dataDirectory, work);
  return carriedOut;
}

/**
 * Brings an update to its end that a power cut or a limit of the system has cut off: to the new
 * version or back to the older one (docs/updates.md 4.2). Comes before anything is started. The
 * caller holds the launch lock. An exit code: the version that is to run is not this launcher's
 * own, so there is nothing more to do for it.
 */
export async function finishSwitch(context: CommandContext): Promise<number | undefined> {
  const { dataDirectory } = context.installation;
  if (!existsSync(underWayFileOf(dataDirectory))) {
    // Without a record nobody would end it: a data folder that was put back by hand.
    endProbation(dataDirectory);
    return undefined;
  }
  const lock = tryUpdateLock(dataDirectory);
  if (!lock) return undefined; // the update of its holder has not come to the switch yet
  try {
    await endSwitch(context, placeOf(context));
  } finally {
    lock.release();
  }
  return (namedVersion() ?? versionNumber) === versionNumber ? undefined : exitCodes.ok;
}

/** Brings the update that was cut off to its end, wherever it lies. The caller holds both locks. */
export async function endSwitch(context: CommandContext, place: SwitchPlace): Promise<void> {
  const record = readRecord(context);
  if (!record) return;
  const { step, from, to } = record;
  const [hasFrom, hasTo] = [from, to].map((version) => isWhole(version, place.root));
  await clearLeftovers(context, record);
  const needsTo = ["switching", "probation", "giving-up", "staying"].includes(step);
  const needsFrom = step !== "testing" && step !== "staying";
  if ((hasTo || !needsTo) && (hasFrom || !needsFrom)) {
    await carrySwitchOut(context, record, place, { event: "cut" });
  } else if (hasFrom && step !== "staying") {
    const failed = { event: "failed", why: `${to} is not whole`, bars: false } as const;
    await carrySwitchOut(context, record, place, failed);
  } else await settleHere(context, record, place);
}

/**
 * The data folder was moved to another delivery, or a version was removed by hand: what is here
 * runs. Stores on which a new version has run go back as long as nothing has come, because more
 * versions can read them so.
 */
async function settleHere(
  { installation: { dataDirectory }, clock, output }: CommandContext,
  record: SwitchRecord,
  place: SwitchPlace,
): Promise<void> {
  const { step, from, to, withStores } = record;
  const hasRun = step === "probation" || step === "giving-up";
  await place.programs.stop();
  const isUntouched = hasRun && !receivedOnProbation(dataDirectory);
  if ((isUntouched || withStores) && haveCopies(dataDirectory)) {
    await closed(dataDirectory, () => putStoresBack(dataDirectory));
  }
  endProbation(dataDirectory);
  const why = `${step} was cut off, and ${from} or ${to} is not in this installation`;
  output.fault(why);
  writeRecord(dataDirectory, { ...record, step: "undone", why, bars: false, atMs: clock.now() });
}

/** Leftovers that cannot be removed keep nothing from running. */
async function clearLeftovers(
  { installation: { dataDirectory }, clock, output }: CommandContext,
  { step, to }: SwitchRecord,
): Promise<void> {
  try {
    if (step === "testing") await clearSelfTest(to, dataDirectory, clock);
    if (step === "stopping") clearUnfinishedCopies(dataDirectory);
  } catch (error) {
    output.fault(`${step} has left something: ${(error as Error).message}`);
  }
}

/** A damaged record ends the update with whatever version is named, stores as they are. */
function readRecord({ installation, output }: CommandContext): SwitchRecord | undefined {
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
