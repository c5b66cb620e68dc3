import { readFileSync } from "node:fs";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/program/installation.ts";
import { admitPayments } from "../../shared/program/probation.ts";
import { readOr } from "../../shared/read-or.ts";
import { poll, sleep } from "../../shared/time.ts";
import { installationRoot, isDelivery, programFile } from "../../shared/version-files.ts";
import { clearOldVersions, lackOfRoom, roomForSwitch } from "../../update/disk-room.ts";
import { areReadableByOlder } from "../../update/store-copies.ts";
import { nextSwitchState, switchBegins } from "../../update/switch-machine.ts";
import {
  BY_OPERATOR,
  changeState,
  forgetReady,
  putOff,
  readHold,
  readLastSwitch,
  readReady,
  readSwitch,
  type SwitchRecord,
  takeUpdateLock,
  tryUpdateLock,
  writeSwitch,
} from "../../update/update-state.ts";
import type { CommandContext } from "../output.ts";
import { deliberateStop } from "../processes/deliberate-stop.ts";
import { launchDetached } from "../processes/launch-process.ts";
import { withLaunchLock } from "../processes/locks.ts";
import { findProcesses, programSpec } from "../processes/process-table.ts";
import { askStatus, type TpManagerStatus } from "../processes/programs.ts";
import { selfTest } from "./self-test.ts";
import { carrySwitchOut, finishSwitch, recordNext } from "./switch.ts";
import { isWhole, namedVersion, refused, stageFrom, switchSiteOf } from "./versions.ts";

/** How long an update, or the way back from it, waits for a moment without payments. */
const TAKE_WITHIN_MS = 30 * 60_000;
const BACK_WITHIN_MS = 5 * 60_000;
/** A version that has run for less than this and keeps crashing is replaced by the previous one. */
const YOUNG_MS = 60 * 60_000;
const ASK_EVERY_MS = 200;
const ANSWER_WITHIN_MS = 5_000;
/** After this number of unanswered requests tp-manager counts as dead, no longer as busy. */
const SILENT_ANSWERS = 3;

function isToBeTaken(context: CommandContext): boolean {
  const { dataDirectory } = context;
  return isDelivery && readReady(dataDirectory) !== undefined && heldBy(context) === undefined;
}

function heldBy({ dataDirectory, clock }: CommandContext): string | undefined {
  const hold = readHold(dataDirectory, clock.now());
  return hold && `updates are held by ${hold.who}`;
}

/**
 * Starts a launcher that installs the version that is ready, because a keep-alive may end before
 * the next idle moment (docs/updates.md 4.4). The launcher's output goes to logs/update.out.
 */
export async function startTakingReady(context: CommandContext): Promise<void> {
  const { dataDirectory, logDirectory } = context;
  if (!isToBeTaken(context)) return;
  const lock = tryUpdateLock(dataDirectory);
  if (!lock) return; // another launcher is taking the version
  lock.release();
  const args = ["update", "--apply", "--data", dataDirectory];
  await launchDetached({ name: "update", script: programFile("launcher"), args }, logDirectory);
}

/**
 * Installs the version that is ready, in the launcher that is the parent of the programs; a service
 * manager would end any other launcher with the service (docs/updates.md 4.4). `hasSwitched`: the
 * programs were stopped for the update, so that the launcher of the new version has to run.
 */
export async function takeReadyHere(context: CommandContext) {
  try {
    if (!isToBeTaken(context)) return { hasSwitched: false };
    await takeReady(context);
    return { hasSwitched: context.ownProgramsRun?.() === false };
  } catch (error) {
    const fault = `no new version is installed now: ${(error as Error).message}`;
    // A damaged record counts as a switch that has begun, which the next launcher ends.
    const step = readOr("damaged", () => readSwitch(context.dataDirectory)?.step);
    return { hasSwitched: step !== undefined && step !== "testing", fault };
  }
}

/** Ends an update that was cut off, then runs `work` under the update lock. */
export async function withUpdateLock(context: CommandContext, work: () => Promise<number>) {
  const { dataDirectory } = context;
  if (readSwitch(dataDirectory)) {
    const elsewhere = await withLaunchLock(context, () => finishSwitch(context));
    if (elsewhere !== undefined) return elsewhere;
  }
  const lock = await takeUpdateLock(dataDirectory, context.clock);
  if (!lock) throw new ProgramExit(exitCodes.alreadyRunning, "another update is running here");
  return await work().finally(() => lock.release());
}

/** Installs the version of an unpacked delivery. Returns the exit code. */
export function takeDelivery(context: CommandContext, delivery: string): Promise<number> {
  return withUpdateLock(context, async () => {
    await mustBeRunning(context);
    return await take(context, stageFrom(delivery, versionNumber), () => undefined);
  });
}

/** Installs the version that is ready. If that fails, the next check has to offer it again. */
export function takeReady(context: CommandContext): Promise<number> {
  const { dataDirectory, clock, output } = context;
  return withUpdateLock(context, async () => {
    const ready = readReady(dataDirectory);
    const held = heldBy(context);
    if (!ready || held !== undefined) {
      output.note(held ?? "no new version is ready to be installed");
      return exitCodes.ok;
    }
    try {
      if (!isWhole(ready.version)) throw refused(`files of version ${ready.version} are missing`);
      await mustBeRunning(context);
      return await take(context, ready.version, () => heldBy(context));
    } catch (error) {
      if (readSwitch(dataDirectory)) throw error; // the next launcher continues from the record
      forgetReady(dataDirectory);
      const { message } = error as Error;
      changeState(dataDirectory, (state) => putOff(state, ready.version, message, clock.now()));
      throw error;
    }
  });
}

async function mustBeRunning(context: CommandContext): Promise<void> {
  if ((namedVersion() ?? versionNumber) !== versionNumber) {
    throw refused("another version runs by now; give the command again");
  }
  await runningStatus(context);
}

/**
 * Tests a complete version, and switches to it in an idle moment unless `against` returns a reason
 * not to. Returns the exit code.
 */
async function take(context: CommandContext, to: string, against: () => string | undefined) {
  const { dataDirectory, clock, output } = context;
  if (to === versionNumber) throw refused(`${to} runs already`);
  const linkWasUp = (await runningStatus(context)).terminal.link === "connected";
  const beganMs = clock.now();
  const begins = { from: versionNumber, to, beganMs, atMs: beganMs, linkWasUp };
  const record: SwitchRecord = { format: 1, ...begins, ...switchBegins };
  writeSwitch(dataDirectory, record);
  output.note(`version ${to} is being tested while ${versionNumber} keeps running ...`);
  const failure = await selfTest(to, context);
  const end = failure
    ? recordNext(context, record, { event: "failed", ...failure })
    : await switchWhenIdle(context, record, against);
  return conclude(context, end);
}

/**
 * Switches to a tested version in an idle moment, and returns the last record. Whatever prevents
 * the switch is recorded as the reason; an unrecorded one would count as a power cut later.
 */
export async function switchWhenIdle(
  context: CommandContext,
  record: SwitchRecord,
  against: () => string | undefined,
): Promise<SwitchRecord> {
  const { dataDirectory } = context;
  const fail = (why: string) => recordNext(context, record, { event: "failed", why, bars: false });
  const moment = () => idleStatus(context);
  const end = await inMoment(context, TAKE_WITHIN_MS, moment, async ({ terminal }) => {
    // The free disk room is checked before the stop, as programs cannot start on a full disk.
    const why = against() ?? lackOfRoom(dataDirectory, roomForSwitch(dataDirectory));
    if (why !== undefined) return fail(why);
    const begun = { ...record, linkWasUp: terminal.link === "connected" };
    const next = recordNext(context, begun, { event: "carried-out" });
    return await carrySwitchOut(switchSiteOf(context), next);
  }).catch((error: Error) => {
    if (readOr(undefined, () => readSwitch(dataDirectory)?.step) === "testing") fail(error.message);
    throw error;
  });
  return end ?? fail("no change of version: the kiosk was busy");
}

function conclude(context: CommandContext, { from, to, step, why }: SwitchRecord): number {
  const isDone = step === "done" && why === null;
  const runs = `${step === "done" ? to : from} runs`;
  context.output.row("update", isDone ? "good" : "bad", isDone ? "done" : "failed", runs);
  if (why !== null) context.output.fault(why);
  if (isDone) clearOldVersions(installationRoot, [from, to]);
  return isDone ? exitCodes.ok : exitCodes.unavailable;
}

/**
 * Goes back to the previous version, on the present databases, and returns the exit code. Only an
 * operator can install the present version again (docs/updates.md 4.5). Throws {@link ProgramExit}
 * if there is no version to go back to; then nothing has changed. The caller holds the update lock.
 */
export async function goBack(context: CommandContext): Promise<number> {
  mustBeAble(context);
  const moment = async () => (await mayGoBack(context)) || undefined;
  const work = () => switchBack(context, mustBeAble(context), BY_OPERATOR);
  const end = await inMoment(context, BACK_WITHIN_MS, moment, work);
  if (!end) throw refused("no change of version: the kiosk was busy");
  const isBack = end.step === "undone";
  const [mood, state] = isBack ? (["good", "back"] as const) : (["bad", "failed"] as const);
  context.output.row("update", mood, state, `${isBack ? end.from : end.to} runs`);
  return isBack ? exitCodes.ok : exitCodes.unavailable;
}

function mustBeAble({ dataDirectory }: CommandContext): SwitchRecord {
  const last = switchToUndo(dataDirectory);
  if (!last) throw refused("there is no previous version to go back to");
  if (areReadableByOlder(dataDirectory)) return last;
  throw refused(`version ${last.from} cannot read the databases of version ${last.to}`);
}

/** Returns the switch that installed the present version, if the previous version still exists. */
function switchToUndo(dataDirectory: string): SwitchRecord | undefined {
  const last = readLastSwitch(dataDirectory);
  const isOurs = last?.step === "done" && last.to === versionNumber;
  return isOurs && namedVersion() === last.to && isWhole(last.from) ? last : undefined;
}

/**
 * Returns whether a version has run for less than an hour. Also true when the clock was set back,
 * because a working previous version is better than one that crashes.
 */
export function isYoung(sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs < YOUNG_MS;
}

/**
 * Goes back from a version younger than an hour whose programs crash repeatedly, if the previous
 * version can use the databases and no payment runs. Returns whether the previous version runs now.
 * The caller holds the launch lock.
 */
export async function goBackFromCrashes(context: CommandContext, what: string): Promise<boolean> {
  const { dataDirectory } = context;
  const last = switchToUndo(dataDirectory);
  if (!last || !isYoung(last.atMs, context.clock.now())) return false;
  if (!areReadableByOlder(dataDirectory)) return false;
  const lock = await takeUpdateLock(dataDirectory, context.clock);
  if (!lock) return false;
  try {
    if (!(await mayGoBackByItself(context))) return false;
    const end = await switchBack(context, last, `${what} in its first hour`);
    return end.step === "undone";
  } finally {
    lock.release();
  }
}

/** Gives up the version of a finished switch and returns the last record of going back. */
async function switchBack(context: CommandContext, last: SwitchRecord, why: string) {
  const { dataDirectory } = context;
  // The databases are marked as used before the record is written, so no copy can replace them.
  admitPayments(dataDirectory);
  const next = nextSwitchState(last, { event: "go-back", why });
  const record = { ...next, atMs: context.clock.now() };
  writeSwitch(dataDirectory, record);
  return await carrySwitchOut(switchSiteOf(context), record);
}

/** Returns the status of tp-manager. Throws if the programs cannot be updated now. */
async function runningStatus(context: CommandContext): Promise<TpManagerStatus> {
  mustBeOurs(context);
  return await askTpManager(context);
}

/** Throws when the programs are stopped or being stopped, or when a service manager runs them. */
function mustBeOurs({ dataDirectory, ownProgramsRun }: CommandContext): void {
  if (deliberateStop(dataDirectory) !== undefined) {
    throw refused("an operator stopped the programs; start them first: ./launch.sh");
  }
  if (ownProgramsRun?.() === false) throw refused("a program has ended or is being stopped");
  if (ownProgramsRun || !isServed(dataDirectory)) return;
  throw refused("a service manager runs them: stop the service as docs/updates.md 4.4 says");
}

/**
 * Returns whether a launcher in the foreground, mostly of a service manager, runs the programs.
 * Such a launcher would start the older programs again in the middle of a switch.
 */
export function isServed(dataDirectory: string): boolean {
  return findProcesses(programSpec("tp-manager", dataDirectory))
    .map((pid) => readOr("", () => readFileSync(`/proc/${pid}/cmdline`, "utf8")))
    .some((args) => args.split("\0").includes("--foreground"));
}

function askTpManager({ dataDirectory, clock }: CommandContext): Promise<TpManagerStatus> {
  return askStatus(programSpec("tp-manager", dataDirectory), clock, ANSWER_WITHIN_MS);
}

/**
 * Returns the status of an idle tp-manager; undefined: a payment runs, the terminal is probed, a
 * sale waits for its hand-off, or no answer came in time. Throws as {@link mustBeOurs} does.
 */
export async function idleStatus(context: CommandContext): Promise<TpManagerStatus | undefined> {
  mustBeOurs(context);
  const status = await askTpManager(context).catch(() => undefined);
  if (!status) return undefined;
  const { running, notHandedOver, asking } = status.payments;
  return running === 0 && notHandedOver === 0 && !asking ? status : undefined;
}

/**
 * Runs `work` under the launch lock as soon as `moment` returns a value, checked again under the
 * lock. Returns undefined if no moment came within `withinMs`.
 */
async function inMoment<M, T>(
  context: CommandContext,
  withinMs: number,
  moment: () => Promise<M | undefined>,
  work: (moment: M) => Promise<T>,
): Promise<T | undefined> {
  const { clock } = context;
  const endMs = clock.monotonicMs() + withinMs;
  for (;;) {
    const leftMs = endMs - clock.monotonicMs();
    if ((await poll(clock, "idle", ASK_EVERY_MS, leftMs, moment)) === undefined) return undefined;
    const done = await withLaunchLock(context, async () => {
      const now = await moment();
      return now === undefined ? undefined : { end: await work(now) };
    });
    if (done) return done.end;
  }
}

/**
 * Returns whether no payment prevents going back now. A tp-manager that does not answer accepts no
 * payment, and the older version hands off its sales. Throws as {@link mustBeOurs} does.
 */
export async function mayGoBack(context: CommandContext): Promise<boolean> {
  mustBeOurs(context);
  for (let asked = 1; ; asked++) {
    const status = await askTpManager(context).catch(() => undefined);
    if (status) return status.payments.running === 0 && !status.payments.asking;
    if (asked === SILENT_ANSWERS) return true;
    await sleep(context.clock, "idle", ASK_EVERY_MS);
  }
}

/** Returns the result of {@link mayGoBack} for the keep-alive; false if that function throws. */
export async function mayGoBackByItself(context: CommandContext): Promise<boolean> {
  try {
    return await mayGoBack(context);
  } catch (error) {
    context.output.note(`the previous version is not restored now: ${(error as Error).message}`);
    return false;
  }
}
