import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { isOwnFault } from "../../shared/process/exit-codes.ts";
import { sleep } from "../../shared/time.ts";
import { installationRoot } from "../../shared/version-files.ts";
import type { SwitchEvent } from "../../update/switch-machine.ts";
import type { SwitchRecord } from "../../update/switch-record.ts";
import { askStatus } from "../processes/condition.ts";
import { forgetTrouble } from "../processes/keep-alive-memory.ts";
import { programParts } from "../processes/part.ts";
import { READY_WITHIN_MS, type Started, startPrograms } from "../processes/start-programs.ts";
import { stopProgram } from "../processes/stop-program.ts";
import type { Site } from "../site.ts";
import type { SwitchPlace } from "./switch.ts";
import { partsOf, refused } from "./versions.ts";

/** The new programs have to answer, and to have the link that was there before. */
const PROBATION_WITHIN_MS = 60_000;
/** So long everything has to stay well. */
const STEADY_MS = 2_000;
const LOOK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 2_000;

/** The installation that this launcher is part of. */
export function placeOf(site: Site): SwitchPlace {
  const programs: SwitchPlace["programs"] = {
    stop: () => stopAll(site),
    start: (version) => startOf(site, version),
    prove: (record) => prove(site, record),
  };
  return { root: installationRoot, programs };
}

/** Whatever version they are of: its folder may be gone. */
async function stopAll({ installation, clock }: Site): Promise<void> {
  const run = openRunDirectory(installation.dataDirectory);
  for (const part of programParts(installation.dataDirectory)) {
    const stopped = await stopProgram(part, run, clock, () => undefined);
    if (stopped !== "still-running") continue;
    throw refused(`${part.name} cannot be stopped: is it another user's process?`);
  }
}

/** Failures that were counted before are another version's. */
function startOf({ installation, clock }: Site, version: string): Promise<Started[]> {
  forgetTrouble(openRunDirectory(installation.dataDirectory));
  const parts = partsOf(version, installation.dataDirectory);
  return startPrograms(installation, clock, READY_WITHIN_MS, parts);
}

/** Ends well when both programs answer and the link to the terminal is as good as before. */
async function prove(site: Site, { to, linkWasUp }: SwitchRecord): Promise<SwitchEvent> {
  const { clock } = site;
  const ended = (await startOf(site, to)).map(failureOf).find((failure) => failure !== undefined);
  if (ended) return ended;
  const endMs = clock.monotonicMs() + PROBATION_WITHIN_MS;
  let wellSinceMs: number | undefined;
  for (;;) {
    const standing = await standingOf(site, to);
    const nowMs = clock.monotonicMs();
    const isWell = standing === "linked" || (standing === "unlinked" && !linkWasUp);
    wellSinceMs = isWell ? (wellSinceMs ?? nowMs) : undefined;
    if (wellSinceMs !== undefined && nowMs - wellSinceMs >= STEADY_MS) {
      return { event: "carried-out" };
    }
    if (nowMs >= endMs) {
      const isAway = standing === "unlinked";
      const why = isAway ? "the terminal was not reached again" : "a program does not answer";
      return { event: "failed", why, bars: !isAway };
    }
    await sleep(clock, "probation", LOOK_EVERY_MS);
  }
}

function failureOf(started: Started): SwitchEvent | undefined {
  if (started.result === "silent") {
    return { event: "failed", why: `${started.program} does not answer`, bars: true };
  }
  if (started.result !== "ended") return undefined;
  // A disk that is full or a port that is taken says nothing about a version.
  const bars = isOwnFault(started.exitCode);
  return { event: "failed", why: `${started.program} ended: ${started.reason}`, bars };
}

async function standingOf(
  { installation, clock }: Site,
  version: string,
): Promise<"silent" | "unlinked" | "linked"> {
  const run = openRunDirectory(installation.dataDirectory);
  try {
    const supervisor = await askStatus("supervisor", run, clock, ANSWER_WITHIN_MS);
    const status = await askStatus("tp-manager", run, clock, ANSWER_WITHIN_MS);
    if (supervisor.version !== version || status.version !== version) return "silent";
    if (status.program !== "tp-manager") return "silent";
    return status.terminal.link === "connected" ? "linked" : "unlinked";
  } catch {
    return "silent";
  }
}
