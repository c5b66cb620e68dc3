import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { isOwnFault } from "../../shared/process/exit-codes.ts";
import { sleep } from "../../shared/time.ts";
import { installationRoot } from "../../shared/version-files.ts";
import type { SwitchEvent } from "../../update/switch-machine.ts";
import type { SwitchRecord } from "../../update/switch-record.ts";
import type { CommandContext } from "../command-context.ts";
import { forgetTrouble } from "../processes/keep-alive-memory.ts";
import { programSpec, programSpecs } from "../processes/process-spec.ts";
import { askStatus } from "../processes/program-state.ts";
import { type Started, startPrograms } from "../processes/start-programs.ts";
import { stopProgram } from "../processes/stop-program.ts";
import { refused, runtimeOf } from "./versions.ts";

/** The new programs have to answer, and to have the link that was there before. */
const PROBATION_WITHIN_MS = 60_000;
/** So long everything has to stay well. */
const STEADY_MS = 2_000;
const ASK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 2_000;

/** The place of a switch; tests have programs that only write to the disk. */
export interface SwitchPlace {
  /** The folder with the files that name the version. */
  readonly root: string;
  readonly programs: {
    /** Whatever version they are of. Throws when one cannot be stopped. */
    stop(): Promise<void>;
    /** Starts what does not run. */
    start(version: string): Promise<unknown>;
    /** Starts the new version on its probation, and answers how it went. */
    prove(record: SwitchRecord): Promise<SwitchEvent>;
  };
}

/** The installation that this launcher is part of. */
export function placeOf(context: CommandContext): SwitchPlace {
  return {
    root: installationRoot,
    programs: {
      stop: () => stopAll(context),
      start: (version) => startVersion(context, version),
      prove: (record) => prove(context, record),
    },
  };
}

/** Whatever version they are of: its folder may be gone. */
async function stopAll({ installation, clock }: CommandContext): Promise<void> {
  for (const spec of programSpecs(installation.dataDirectory)) {
    if ((await stopProgram(spec, clock)) !== "still-running") continue;
    throw refused(`${spec.name} cannot be stopped: is it another user's process?`);
  }
}

/** Failures that were counted before are another version's. */
function startVersion(
  { installation, clock }: CommandContext,
  version: string,
): Promise<Started[]> {
  const { dataDirectory } = installation;
  forgetTrouble(openRunDirectory(dataDirectory));
  const specs = programSpecs(dataDirectory, { version, runtime: runtimeOf(version) });
  return startPrograms(installation, clock, specs);
}

/** Ends well when both programs answer and the link to the terminal is as good as before. */
async function prove(
  context: CommandContext,
  { to, linkWasUp }: SwitchRecord,
): Promise<SwitchEvent> {
  const { clock } = context;
  for (const started of await startVersion(context, to)) {
    const failure = failureOf(started);
    if (failure) return failure;
  }
  const endMs = clock.monotonicMs() + PROBATION_WITHIN_MS;
  let wellSinceMs: number | undefined;
  for (;;) {
    const link = await linkOf(context, to);
    const nowMs = clock.monotonicMs();
    const isWell = link === "connected" || (link !== undefined && !linkWasUp);
    wellSinceMs = isWell ? (wellSinceMs ?? nowMs) : undefined;
    if (wellSinceMs !== undefined && nowMs - wellSinceMs >= STEADY_MS) {
      return { event: "carried-out" };
    }
    if (nowMs >= endMs) {
      const isAway = link !== undefined && link !== "connected";
      const why = isAway ? "the terminal was not reached again" : "a program does not answer";
      return { event: "failed", why, bars: !isAway };
    }
    await sleep(clock, "probation", ASK_EVERY_MS);
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

/** The link to the terminal; undefined: not both programs of that version answer. */
async function linkOf(
  { installation: { dataDirectory }, clock }: CommandContext,
  version: string,
): Promise<string | undefined> {
  const ask = (name: "supervisor" | "tp-manager") =>
    askStatus(programSpec(name, dataDirectory), clock, ANSWER_WITHIN_MS);
  try {
    const [supervisor, status] = [await ask("supervisor"), await ask("tp-manager")];
    if (supervisor.version !== version || status.version !== version) return undefined;
    return status.program === "tp-manager" ? status.terminal.link : undefined;
  } catch {
    return undefined;
  }
}
