import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/process/installation.ts";
import { installationRoot, isDelivery } from "../../shared/version-files.ts";
import { requireRoom, roomForSwitch } from "../../update/disk-room.ts";
import { clearOldVersions } from "../../update/old-versions.ts";
import { switchBegins } from "../../update/switch-machine.ts";
import { readSwitch, type SwitchRecord, writeSwitch } from "../../update/switch-record.ts";
import { takeUpdateLock } from "../../update/update-lock.ts";
import {
  changeState,
  endHold,
  forgetReady,
  putOff,
  readHold,
  readReady,
} from "../../update/update-state.ts";
import { alone, type Site } from "../site.ts";
import { goBack } from "./back.ts";
import { finishSwitch } from "./finish.ts";
import { hold, unhold } from "./hold.ts";
import { cameBy, isIdle, isServed, running } from "./idle.ts";
import { lookFor } from "./look.ts";
import { selfTest } from "./self-test.ts";
import { carrySwitchOut, recordNext } from "./switch.ts";
import { tellUpdates } from "./tell.ts";
import type { UpdateWish } from "./update-wish.ts";
import { placeOf } from "./version-programs.ts";
import { isWhole, namedVersion, refused, stageFrom } from "./versions.ts";

/** A kiosk that sells without a pause for so long is left alone. */
const IDLE_WITHIN_MS = 30 * 60_000;

/**
 * `launch.sh update`: takes a version, asks for one, or tells how it stands (docs/updates.md 4.6).
 * Throws {@link ProgramExit} when nothing was begun.
 */
export async function update(site: Site, wish: UpdateWish): Promise<number> {
  if (!isDelivery) throw refused("only a delivery can be updated, not a checkout of the sources");
  switch (wish.what) {
    case "tell":
      return tellUpdates(site);
    case "check":
      return await lookFor(site, "ask");
    case "now":
      return await takeNow(site);
    case "hold":
      return hold(site, wish);
    case "unhold":
      return unhold(site);
    case "back":
      return await lockedFor(site, () => goBack(site));
    case "delivery":
      return await lockedFor(site, () => updateFrom(site, wish.folder));
    case "apply":
      return await lockedFor(site, () => applyReady(site));
  }
}

/** Ends first what was cut off, then lets nobody else work on an update. */
async function lockedFor(site: Site, work: () => Promise<number>): Promise<number> {
  if (readSwitch(site.installation.dataDirectory)) {
    const elsewhere = await alone(site, () => finishSwitch(site));
    if (elsewhere !== undefined) return elsewhere;
  }
  const { dataDirectory } = site.installation;
  const lock = await takeUpdateLock(dataDirectory, site.clock);
  if (!lock) throw new ProgramExit(exitCodes.alreadyRunning, "another update is at work here");
  try {
    return await work();
  } finally {
    lock.release();
  }
}

async function updateFrom(site: Site, delivery: string): Promise<number> {
  await mustBeRunning(site);
  return await take(site, await stageFrom(delivery, versionNumber, site.clock), () => undefined);
}

/** An operator who wants a version now ends a hold with it. */
async function takeNow(site: Site): Promise<number> {
  const { dataDirectory } = site.installation;
  endHold(dataDirectory);
  const exitCode = await lookFor(site, "fetch");
  if (exitCode !== exitCodes.ok || !readReady(dataDirectory)) return exitCode;
  if (isServed(dataDirectory)) {
    site.output.note("the service takes it within a minute: ./launch.sh update tells how it went");
    return exitCode;
  }
  return await lockedFor(site, () => applyReady(site));
}

/** The version that was found is taken, or put off until it is found again. */
async function applyReady(site: Site): Promise<number> {
  const { installation, clock, output } = site;
  const { dataDirectory } = installation;
  const ready = readReady(dataDirectory);
  const held = heldBy(site);
  if (!ready || held !== undefined) {
    output.note(held ?? "no version is ready to be taken");
    return exitCodes.ok;
  }
  try {
    if (!isWhole(ready.version)) throw refused(`${ready.version} is not whole`);
    await mustBeRunning(site);
    return await take(site, ready.version, () => heldBy(site));
  } catch (error) {
    if (readSwitch(dataDirectory)) throw error; // it goes on from its record
    forgetReady(dataDirectory);
    const { message } = error as Error;
    changeState(dataDirectory, (state) => putOff(state, ready.version, message, clock.now()));
    throw error;
  }
}

async function mustBeRunning(site: Site): Promise<void> {
  const named = namedVersion() ?? versionNumber;
  if (named !== versionNumber) throw refused("the version was changed: begin again");
  await running(site);
}

/**
 * Tests a version that is whole beside this one, and switches in an idle moment, unless `against`
 * tells a reason that came meanwhile.
 */
async function take(site: Site, to: string, against: () => string | undefined): Promise<number> {
  const { installation, clock, output } = site;
  if (to === versionNumber) throw refused(`${to} runs already`);
  const { terminal } = await running(site);
  let record: SwitchRecord = {
    format: 1,
    from: versionNumber,
    to,
    beganMs: clock.now(),
    atMs: clock.now(),
    linkWasUp: terminal.link === "connected",
    ...switchBegins,
  };
  writeSwitch(installation.dataDirectory, record);
  output.note(`${to} is tested beside the running version ...`);
  const failure = await selfTest(to, installation, clock);
  if (failure !== undefined) {
    record = recordNext(site, record, { event: "failed", ...failure });
    return conclude(site, record);
  }
  const endMs = clock.monotonicMs() + IDLE_WITHIN_MS;
  for (;;) {
    const why = (await cameBy(site, endMs, async () => isIdle(await running(site))))
      ? against()
      : "the kiosk was not idle";
    if (why !== undefined) {
      const late = { event: "failed", why, bars: false } as const;
      return conclude(site, recordNext(site, record, late));
    }
    const end = await alone(site, () => switchNow(site, record));
    if (end) return conclude(site, end);
  }
}

function heldBy({ installation, clock }: Site): string | undefined {
  const hold = readHold(installation.dataDirectory, clock.now());
  return hold && `updates are held by ${hold.who}`;
}
/** undefined: a payment came first. */
async function switchNow(site: Site, record: SwitchRecord): Promise<SwitchRecord | undefined> {
  const status = await running(site);
  if (!isIdle(status)) return undefined;
  // Before anything is stopped: copies that do not fit would cost the kiosk its programs.
  requireRoom(site.installation.dataDirectory, roomForSwitch(site.installation.dataDirectory));
  const begun = { ...record, linkWasUp: status.terminal.link === "connected" };
  return await carrySwitchOut(
    site,
    recordNext(site, begun, { event: "carried-out" }),
    placeOf(site),
  );
}

function conclude(site: Site, { from, to, step, why }: SwitchRecord): number {
  const isDone = step === "done" && why === null;
  const runs = step === "done" ? to : from;
  site.output.row("update", isDone ? "good" : "bad", isDone ? "done" : "failed", `${runs} runs`);
  if (why !== null) site.output.fault(why);
  if (isDone) clearOldVersions(installationRoot, [from, to]);
  return isDone ? exitCodes.ok : exitCodes.unavailable;
}
