import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/process/installation.ts";
import { installationRoot, isDelivery, programFile } from "../../shared/version-files.ts";
import { requireRoom, roomForSwitch } from "../../update/disk-room.ts";
import { clearOldVersions } from "../../update/old-versions.ts";
import { switchBegins } from "../../update/switch-machine.ts";
import { readSwitch, type SwitchRecord, writeSwitch } from "../../update/switch-record.ts";
import { takeUpdateLock, tryUpdateLock } from "../../update/update-lock.ts";
import {
  changeState,
  forgetReady,
  putOff,
  readHold,
  readReady,
} from "../../update/update-state.ts";
import type { CommandContext } from "../command-context.ts";
import { launchDetached } from "../processes/launch-process.ts";
import { withLaunchLock } from "../processes/locks.ts";
import { idle, inMoment, running } from "./idle.ts";
import { selfTest } from "./self-test.ts";
import { carrySwitchOut, finishSwitch, recordNext } from "./switch.ts";
import { placeOf } from "./version-programs.ts";
import { isWhole, namedVersion, refused, stageFrom } from "./versions.ts";

/** A kiosk that sells without a pause for so long is left alone. */
const IDLE_WITHIN_MS = 30 * 60_000;

/** Whether a version waits that may be taken now. */
function isToBeTaken(context: CommandContext): boolean {
  const { dataDirectory } = context.installation;
  return isDelivery && readReady(dataDirectory) !== undefined && heldBy(context) === undefined;
}

function heldBy({ installation, clock }: CommandContext): string | undefined {
  const hold = readHold(installation.dataDirectory, clock.now());
  return hold && `updates are held by ${hold.who}`;
}

/**
 * Lets a launcher of its own take the version that waits, because it may have to wait for an idle
 * moment longer than a keep-alive may live (docs/updates.md 4.4). Its output is logs/update.out.
 */
export async function takeReadyBeside(context: CommandContext): Promise<void> {
  const { dataDirectory, logDirectory } = context.installation;
  if (!isToBeTaken(context)) return;
  const lock = tryUpdateLock(dataDirectory);
  if (!lock) return; // it is being taken
  lock.release();
  const args = ["update", "--apply", "--data", dataDirectory];
  await launchDetached({ name: "update", script: programFile("launcher"), args }, logDirectory);
}

/**
 * Takes the version that waits, in a launcher that runs the programs itself: a service manager ends
 * what is started beside it (docs/updates.md 4.4). Answers whether the programs were stopped for
 * it, so that a launcher of the version that is named has to come.
 */
export async function takeReadyHere(context: CommandContext): Promise<boolean> {
  if (!isToBeTaken(context)) return false;
  try {
    await takeReady(context);
    return context.ownProgramsRun?.() === false;
  } catch (error) {
    context.output.fault(`no version is taken now: ${(error as Error).message}`);
    const step = stepOf(context.installation.dataDirectory);
    return step !== undefined && step !== "testing";
  }
}

/** A record that is damaged is for the next launcher. */
function stepOf(dataDirectory: string): string | undefined {
  try {
    return readSwitch(dataDirectory)?.step;
  } catch {
    return "damaged";
  }
}

/** Ends first what was cut off, then lets nobody else work on an update. */
export async function withUpdateLock(
  context: CommandContext,
  work: () => Promise<number>,
): Promise<number> {
  const { dataDirectory } = context.installation;
  if (readSwitch(dataDirectory)) {
    const elsewhere = await withLaunchLock(context, () => finishSwitch(context));
    if (elsewhere !== undefined) return elsewhere;
  }
  const lock = await takeUpdateLock(dataDirectory, context.clock);
  if (!lock) throw new ProgramExit(exitCodes.alreadyRunning, "another update is at work here");
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/** Takes the version of an unpacked delivery. */
export function takeDelivery(context: CommandContext, delivery: string): Promise<number> {
  return withUpdateLock(context, async () => {
    await mustBeRunning(context);
    const version = await stageFrom(delivery, versionNumber, context.clock);
    return await take(context, version, () => undefined);
  });
}

/** The version that was found is taken, or put off until it is found again. */
export function takeReady(context: CommandContext): Promise<number> {
  const { installation, clock, output } = context;
  const { dataDirectory } = installation;
  return withUpdateLock(context, async () => {
    const ready = readReady(dataDirectory);
    const held = heldBy(context);
    if (!ready || held !== undefined) {
      output.note(held ?? "no version is ready to be taken");
      return exitCodes.ok;
    }
    try {
      if (!isWhole(ready.version)) throw refused(`${ready.version} is not whole`);
      await mustBeRunning(context);
      return await take(context, ready.version, () => heldBy(context));
    } catch (error) {
      if (readSwitch(dataDirectory)) throw error; // it goes on from its record
      forgetReady(dataDirectory);
      const { message } = error as Error;
      changeState(dataDirectory, (state) => putOff(state, ready.version, message, clock.now()));
      throw error;
    }
  });
}

async function mustBeRunning(context: CommandContext): Promise<void> {
  const named = namedVersion() ?? versionNumber;
  if (named !== versionNumber) throw refused("the version was changed: begin again");
  await running(context);
}

/**
 * Tests a version that is whole beside this one, and switches in an idle moment, unless `against`
 * gives a reason that came meanwhile.
 */
async function take(
  context: CommandContext,
  to: string,
  against: () => string | undefined,
): Promise<number> {
  const { installation, clock, output } = context;
  const { dataDirectory } = installation;
  if (to === versionNumber) throw refused(`${to} runs already`);
  const linkWasUp = (await running(context)).terminal.link === "connected";
  const times = { beganMs: clock.now(), atMs: clock.now() };
  const versions = { from: versionNumber, to };
  const record: SwitchRecord = { format: 1, ...versions, ...times, linkWasUp, ...switchBegins };
  writeSwitch(dataDirectory, record);
  output.note(`${to} is tested beside the running version ...`);
  const fail = (why: string, bars: boolean): SwitchRecord =>
    recordNext(context, record, { event: "failed", why, bars });
  const failure = await selfTest(to, installation, clock);
  if (failure !== undefined) return conclude(context, fail(failure.why, failure.bars));
  const moment = (): ReturnType<typeof idle> => idle(context);
  const end = await inMoment(context, IDLE_WITHIN_MS, moment, async ({ terminal }) => {
    const why = against();
    if (why !== undefined) return fail(why, false);
    // Before anything is stopped: copies that do not fit would cost the kiosk its programs.
    requireRoom(dataDirectory, roomForSwitch(dataDirectory));
    const begun = { ...record, linkWasUp: terminal.link === "connected" };
    const next = recordNext(context, begun, { event: "carried-out" });
    return await carrySwitchOut(context, next, placeOf(context));
  });
  return conclude(context, end ?? fail("the kiosk was not idle", false));
}

function conclude(context: CommandContext, { from, to, step, why }: SwitchRecord): number {
  const isDone = step === "done" && why === null;
  const runs = `${step === "done" ? to : from} runs`;
  context.output.row("update", isDone ? "good" : "bad", isDone ? "done" : "failed", runs);
  if (why !== null) context.output.fault(why);
  if (isDone) clearOldVersions(installationRoot, [from, to]);
  return isDone ? exitCodes.ok : exitCodes.unavailable;
}
