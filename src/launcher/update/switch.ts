import { acquireProcessLock } from "../../shared/exclusive-lock.ts";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { beginProbation, endProbation, receivedOnProbation } from "../../shared/probation.ts";
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
import { nameVersion } from "./versions.ts";

/** The programs of a version as processes. */
interface VersionPrograms {
  /** Throws when one cannot be stopped. */
  stop(version: string): Promise<void>;
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
 * holds the launch lock. Answers the record of the end.
 */
export async function carrySwitchOut(
  site: Site,
  begun: SwitchRecord,
  place: SwitchPlace,
): Promise<SwitchRecord> {
  let record = begun;
  while (record.step !== "done" && record.step !== "undone") {
    record = recordNext(site, record, await outcomeOf(site, record, place));
  }
  return record;
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
  // Before the record of the end: after a cut in between the end is remembered once more.
  const isEnd = next.step === "done" || next.step === "undone";
  if (isEnd) rememberEnd(installation.dataDirectory, next);
  writeSwitch(installation.dataDirectory, next);
  if (event.event === "failed") output.fault(`${record.to}, ${record.step}: ${event.why}`);
  output.note(`${record.from} to ${record.to}: ${next.step}`);
  return next;
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
      await programs.stop(from);
      return alone(dataDirectory, () => copyStores(dataDirectory));
    case "switching":
      return alone(dataDirectory, () => {
        forgetGivenUpStores(dataDirectory);
        beginProbation(dataDirectory);
        nameVersion(root, to, from);
      });
    case "probation":
      return await programs.prove(record);
    case "giving-up": {
      await programs.stop(to);
      const received = receivedOnProbation(dataDirectory);
      const readableByOlder = received && areReadableByOlder(dataDirectory);
      return { event: "given-up", received, readableByOlder };
    }
    case "going-back":
      return alone(dataDirectory, () => {
        if (record.withStores) putStoresBack(dataDirectory);
        nameVersion(root, from, from);
      });
    case "staying":
    case "restarting":
      endProbation(dataDirectory);
      await programs.start(step === "staying" ? to : from);
      return carriedOut;
    default:
      throw new Error(`a switch has no work in the step ${step}`);
  }
}

/** Works while no program has the stores open, however it was started. */
function alone(dataDirectory: string, work: () => void): SwitchEvent {
  const run = openRunDirectory(dataDirectory);
  const locks = (["tp-manager", "supervisor"] as const).map((name) =>
    acquireProcessLock(run, name),
  );
  try {
    work();
  } finally {
    for (const lock of locks) lock.release();
  }
  return carriedOut;
}
