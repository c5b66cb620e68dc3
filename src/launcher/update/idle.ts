import { readFileSync } from "node:fs";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { sleep } from "../../shared/time.ts";
import { askStatus, type TpManagerStatus } from "../processes/condition.ts";
import { deliberateStop } from "../processes/deliberate-stop.ts";
import { programPart } from "../processes/part.ts";
import { findProcesses } from "../processes/process-table.ts";
import type { Site } from "../site.ts";
import { refused } from "./versions.ts";

const LOOK_EVERY_MS = 200;
const ANSWER_WITHIN_MS = 5_000;

/** Throws when there is nothing that an update could be tried with. */
export async function running(site: Site): Promise<TpManagerStatus> {
  mustBeOurs(site);
  return await tpManagerOf(site);
}

/** Throws when the programs are stopped on purpose, or when a service manager runs them. */
function mustBeOurs({ installation, ownProgramsRun }: Site): void {
  const { dataDirectory } = installation;
  if (deliberateStop(dataDirectory) !== undefined)
    throw refused("stopped: ./launch.sh comes first");
  if (ownProgramsRun) {
    if (ownProgramsRun()) return;
    throw refused("a program has ended, or is being stopped");
  }
  if (isServed(dataDirectory)) {
    throw refused("a service manager runs the programs: stop it there, and run ./launch.sh first");
  }
}

/** Whether a launcher in the foreground, a service manager's, runs the programs. */
export function isServed(dataDirectory: string): boolean {
  return findProcesses(programPart("tp-manager", dataDirectory)).some(isForeground);
}

async function tpManagerOf({ installation, clock }: Site): Promise<TpManagerStatus> {
  const run = openRunDirectory(installation.dataDirectory);
  const status = await askStatus("tp-manager", run, clock, ANSWER_WITHIN_MS);
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
export function isIdle({ payments }: TpManagerStatus): boolean {
  return payments.running === 0 && payments.notHandedOver === 0 && payments.asking !== true;
}

/** Whether `isMoment` was true until then. */
export async function cameBy(
  { clock }: Site,
  endMs: number,
  isMoment: () => Promise<boolean>,
): Promise<boolean> {
  for (;;) {
    if (await isMoment()) return true;
    if (clock.monotonicMs() >= endMs) return false;
    await sleep(clock, "idle", LOOK_EVERY_MS);
  }
}

/** A tp-manager that is busy for a moment is not taken for one that is dead. */
const SILENT_LOOKS = 3;

/**
 * Whether the version may go back now. One that stays silent takes no payment, and what waits to be
 * handed over is handed over by the older one. Throws as {@link running} does, but for silence.
 */
export async function mayGoBack(site: Site): Promise<boolean> {
  mustBeOurs(site);
  for (let looks = 1; ; looks++) {
    const status = await tpManagerOf(site).catch(() => undefined);
    if (status) return status.payments.running === 0 && status.payments.asking !== true;
    if (looks === SILENT_LOOKS) return true;
    await sleep(site.clock, "idle", LOOK_EVERY_MS);
  }
}

/** As {@link mayGoBack}, for a look of the keep-alive: what keeps it from going back is a no. */
export async function mayGoBackByItself(site: Site): Promise<boolean> {
  try {
    return await mayGoBack(site);
  } catch (error) {
    site.output.note(`the version does not go back now: ${(error as Error).message}`);
    return false;
  }
}
