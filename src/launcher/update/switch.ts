import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { acquireProcessLock } from "../../shared/process/exclusive-lock.ts";
import {
  beginProbation,
  endProbation,
  receivedOnProbation,
} from "../../shared/process/probation.ts";
import { isDiskFull, makeRoom } from "../../update/disk-room.ts";
import { patiently } from "../../update/durable-files.ts";
import {
  areReadableByOlder,
  copyStores,
  forgetGivenUpStores,
  putStoresBack,
} from "../../update/store-copies.ts";
import {
  nextSwitchState,
  type SwitchEvent,
  type SwitchState,
} from "../../update/switch-machine.ts";
import { type SwitchRecord, writeSwitch } from "../../update/switch-record.ts";
import { rememberEnd } from "../../update/update-state.ts";
import type { Site } from "../site.ts";
import { nameVersion, wholeLineIn } from "./versions.ts";

/** The programs of a version as processes. */
interface VersionPrograms {
  /** Whatever version they are of. Throws when one cannot be stopped. */
  stop(): Promise<void>;
  /** Starts what does not run. */
  start(version: string): Promise<unknown>;
  /** Starts the new version on its probation, and answers how it went. */
  prove(record: SwitchRecord): Promise<SwitchEvent>;
}

export interface SwitchPlace {
  /** The folder with the files that name the version. */
  readonly root: string;
  readonly programs: VersionPrograms;
}

const carriedOut: SwitchEvent = { event: "carried-out" };

/**
 * Carries the steps of a switch out, from whichever it has come to, to its end: each is on disk
 * before its work begins, and each may be begun anew after a cut (docs/updates.md 4.2). The caller
 * holds the launch lock. `first`: what has come of the present step already. Answers the record of
 * the end.
 */
export async function carrySwitchOut(
  site: Site,
  begun: SwitchRecord,
  place: SwitchPlace,
  first?: SwitchEvent,
): Promise<SwitchRecord> {
  let [record, onDisk, event] = [begun, begun, first];
  for (; !isOver(record) || event; event = undefined) {
    const next: SwitchEvent = event ?? (await outcomeOf(site, record, place));
    try {
      record = onDisk = recordNext(site, record, next);
    } catch (error) {
      if (!leadsToBefore(onDisk)) throw error;
      record = { ...record, ...unwritten(site, record, next, error as Error) };
    }
  }
  return record;
}

const isOver = ({ step }: SwitchRecord): boolean => step === "done" || step === "undone";

/**
 * Whether a record, wherever it is taken up again, leads to the programs of before on the stores as
 * they are. So these may run and sell although nothing can be written down.
 */
function leadsToBefore({ step, withStores }: SwitchRecord): boolean {
  if (step === "going-back") return !withStores;
  return ["testing", "stopping", "restarting"].includes(step);
}

/** A disk that takes no record: back to the programs of before; a switch needs its records. */
function unwritten(
  { output }: Site,
  record: SwitchRecord,
  event: SwitchEvent,
  { message }: Error,
): SwitchState {
  output.fault(`${record.from} to ${record.to}: ${record.step} is not written down: ${message}`);
  const failed = { event: "failed", why: message, bars: false } as const;
  return nextSwitchState(record, record.step === "stopping" ? failed : event);
}

/** Until the new version stays, a fault such as a full disk leads back; later it is tried again. */
async function outcomeOf(
  site: Site,
  record: SwitchRecord,
  place: SwitchPlace,
): Promise<SwitchEvent> {
  const leadsBack = ["stopping", "switching", "probation"].includes(record.step);
  try {
    return await carryOut(site, record, place);
  } catch (error) {
    if (!leadsBack) throw error;
    return { event: "failed", why: (error as Error).message, bars: false };
  }
}

/** On disk when it returns. */
export function recordNext(
  { installation, clock, output }: Site,
  record: SwitchRecord,
  event: SwitchEvent,
): SwitchRecord {
  const state: SwitchState = nextSwitchState(record, event);
  const next: SwitchRecord = { ...record, ...state, atMs: clock.now() };
  writeRecord(installation.dataDirectory, next);
  if (event.event === "failed") output.fault(`${record.to}, ${record.step}: ${event.why}`);
  output.note(`${record.from} to ${record.to}: ${next.step}`);
  return next;
}

/** Of whichever step: of the last one it is remembered too how the update has ended. */
export function writeRecord(dataDirectory: string, next: SwitchRecord): void {
  withRoom(dataDirectory, next, () => {
    // Before the record of the end: after a cut in between the end is remembered once more.
    if (next.step === "done" || next.step === "undone") rememberEnd(dataDirectory, next);
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
  site: Site,
  record: SwitchRecord,
  { root, programs }: SwitchPlace,
): Promise<SwitchEvent> {
  const { dataDirectory } = site.installation;
  const { step, from, to } = record;
  switch (step) {
    case "stopping":
      await programs.stop();
      return await alone(dataDirectory, () => copyStores(dataDirectory));
    case "switching":
      return await alone(dataDirectory, async () => {
        forgetGivenUpStores(dataDirectory);
        patiently(() => beginProbation(dataDirectory));
        await nameVersion(root, { current: to, previous: from }, site.clock);
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
      return await alone(dataDirectory, async () => {
        if (record.withStores) putStoresBack(dataDirectory);
        await nameVersion(root, { current: from, previous: from }, site.clock);
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
export async function alone(
  dataDirectory: string,
  work: () => void | Promise<void>,
): Promise<SwitchEvent> {
  const run = openRunDirectory(dataDirectory);
  const locks = (["tp-manager", "supervisor"] as const).map((name) =>
    acquireProcessLock(run, name),
  );
  try {
    await work();
  } finally {
    for (const lock of locks) lock.release();
  }
  return carriedOut;
}
