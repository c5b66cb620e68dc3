import { readFileSync } from "node:fs";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { sleep } from "../../shared/time.ts";
import { askStatus, type TpManagerStatus } from "../condition.ts";
import { deliberateStop } from "../deliberate-stop.ts";
import { programPart } from "../part.ts";
import { findProcesses } from "../process-table.ts";
import type { Site } from "../site.ts";
import { refused } from "./versions.ts";

const LOOK_EVERY_MS = 200;
const ANSWER_WITHIN_MS = 5_000;

/** Throws when there is nothing that an update could be tried with. */
export async function running({ installation, clock }: Site): Promise<TpManagerStatus> {
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
export function isIdle({ payments }: TpManagerStatus): boolean {
  return payments.running === 0 && payments.notHandedOver === 0 && payments.asking !== true;
}

/** Whether an idle moment came until then. Throws as {@link running} does. */
export async function isIdleBy(site: Site, endMs: number): Promise<boolean> {
  for (;;) {
    if (isIdle(await running(site))) return true;
    if (site.clock.monotonicMs() >= endMs) return false;
    await sleep(site.clock, "idle", LOOK_EVERY_MS);
  }
}
