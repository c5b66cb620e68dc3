import { readFileSync } from "node:fs";
import { exitCodes } from "../../shared/exit-codes.ts";
import { versionNumber } from "../../shared/installation.ts";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { isoTime, sleep } from "../../shared/time.ts";
import { isDelivery } from "../../shared/version-files.ts";
import { switchBegins } from "../../update/switch-machine.ts";
import {
  readLastSwitch,
  readSwitch,
  type SwitchRecord,
  writeSwitch,
} from "../../update/switch-record.ts";
import { askStatus, type TpManagerStatus } from "../condition.ts";
import { deliberateStop } from "../deliberate-stop.ts";
import { programPart } from "../part.ts";
import { findProcesses } from "../process-table.ts";
import { alone, type Site } from "../site.ts";
import { finishSwitch, tryUpdateLock } from "./finish.ts";
import { selfTest } from "./self-test.ts";
import { carrySwitchOut, recordNext } from "./switch.ts";
import { placeOf } from "./version-programs.ts";
import { namedVersion, refused, stageFrom } from "./versions.ts";

/** A kiosk that sells without a pause for so long is left alone. */
const IDLE_WITHIN_MS = 30 * 60_000;
const LOOK_EVERY_MS = 200;
const ANSWER_WITHIN_MS = 5_000;

/**
 * `launch.sh update`: takes the version of an unpacked delivery, or tells how the last update went.
 * Throws {@link ProgramExit} when nothing was begun.
 */
export async function update(site: Site, delivery: string | undefined): Promise<number> {
  const { dataDirectory } = site.installation;
  if (!isDelivery) throw refused("only a delivery can be updated, not a checkout of the sources");
  if (delivery === undefined) return tell(site);
  if (readSwitch(dataDirectory)) {
    const elsewhere = await alone(site, () => finishSwitch(site));
    if (elsewhere !== undefined) return elsewhere;
  }
  const lock = tryUpdateLock(dataDirectory);
  if (!lock) throw refused("another update is at work here");
  try {
    return await updateFrom(site, delivery);
  } finally {
    lock.release();
  }
}

async function updateFrom(site: Site, delivery: string): Promise<number> {
  const { installation, clock, output } = site;
  if (namedVersion() !== versionNumber) throw refused("the version was changed: begin again");
  const { terminal } = await running(site);
  const to = await stageFrom(delivery, versionNumber, clock);
  if (to === versionNumber) throw refused(`${to} runs already`);
  let record: SwitchRecord = {
    ...{ format: 1, from: versionNumber, to, beganMs: clock.now(), atMs: clock.now() },
    ...{ linkWasUp: terminal.link === "connected", ...switchBegins },
  };
  writeSwitch(installation.dataDirectory, record);
  output.note(`${to} is tested beside the running version ...`);
  const why = await selfTest(to, installation, clock);
  if (why !== undefined) {
    record = recordNext(site, record, { event: "failed", why, bars: true });
    return conclude(site, record);
  }
  const endMs = clock.monotonicMs() + IDLE_WITHIN_MS;
  for (let end: SwitchRecord | undefined; end === undefined; ) {
    if (!(await isIdleBy(site, endMs))) {
      const late = { event: "failed", why: "the kiosk was not idle", bars: false } as const;
      return conclude(site, recordNext(site, record, late));
    }
    end = await alone(site, () => switchNow(site, record));
  }
  return conclude(site, readLastSwitch(installation.dataDirectory) ?? record);
}

/** undefined: a payment came first. */
async function switchNow(site: Site, record: SwitchRecord): Promise<SwitchRecord | undefined> {
  const status = await running(site);
  if (!isIdle(status)) return undefined;
  const begun = { ...record, linkWasUp: status.terminal.link === "connected" };
  return await carrySwitchOut(
    site,
    recordNext(site, begun, { event: "carried-out" }),
    placeOf(site),
  );
}

/** Throws when there is nothing that an update could be tried with. */
async function running({ installation, clock }: Site): Promise<TpManagerStatus> {
  const { dataDirectory } = installation;
  if (deliberateStop(dataDirectory) !== undefined)
    throw refused("stopped: ./launch.sh comes first");
  const pids = findProcesses(programPart("tp-manager", dataDirectory));
  if (pids.some(isForeground)) {
    throw refused("a service manager runs the programs: stop it there, and run ./launch.sh first");
  }
  const status = await askStatus(
    "tp-manager",
    openRunDirectory(dataDirectory),
    clock,
    ANSWER_WITHIN_MS,
  );
  if (status.program !== "tp-manager") throw refused("tp-manager does not answer");
  return status;
}

/** A service manager would start the older programs again in the middle of a switch. */
function isForeground(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes("--foreground");
  } catch {
    return false;
  }
}

/** Nothing runs, nothing is asked, nothing waits to be handed over. */
function isIdle({ payments }: TpManagerStatus): boolean {
  return payments.running === 0 && payments.notHandedOver === 0 && payments.asking !== true;
}

async function isIdleBy(site: Site, endMs: number): Promise<boolean> {
  for (;;) {
    if (isIdle(await running(site))) return true;
    if (site.clock.monotonicMs() >= endMs) return false;
    await sleep(site.clock, "idle", LOOK_EVERY_MS);
  }
}

function conclude(site: Site, { from, to, step, why }: SwitchRecord): number {
  const isDone = step === "done" && why === null;
  const runs = step === "done" ? to : from;
  site.output.row("update", isDone ? "good" : "bad", isDone ? "done" : "failed", `${runs} runs`);
  if (why !== null) site.output.fault(why);
  return isDone ? exitCodes.ok : exitCodes.unavailable;
}

function tell({ installation, output }: Site): number {
  const record =
    readSwitch(installation.dataDirectory) ?? readLastSwitch(installation.dataDirectory);
  output.row("version", "plain", versionNumber, record === undefined ? "no update yet" : "");
  if (!record) return exitCodes.ok;
  const { from, to, step, why, atMs } = record;
  output.row("last update", "plain", step, `${from} to ${to}, ${isoTime(atMs)}`);
  if (why !== null) output.note(why);
  return exitCodes.ok;
}
