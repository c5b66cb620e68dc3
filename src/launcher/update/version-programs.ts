import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes, isOwnFault } from "../../shared/process/exit-codes.ts";
import { sleep } from "../../shared/time.ts";
import { installationRoot } from "../../shared/version-files.ts";
import { compareVersions } from "../../update/offer-policy.ts";
import { areReadableBy } from "../../update/store-copies.ts";
import type { SwitchEvent } from "../../update/switch-machine.ts";
import { readLastSwitch, type SwitchRecord } from "../../update/switch-record.ts";
import type { CommandContext } from "../output.ts";
import { forgetFailures } from "../processes/keep-alive-memory.ts";
import { programSpec, programSpecs } from "../processes/process-table.ts";
import { askStatus, type Started, startPrograms, stopProgram } from "../processes/programs.ts";
import { isWhole, nameVersion, refused, runtimeOf, wholeLineIn } from "./versions.ts";

/** Within this time the new programs have to answer, and to have the link that was up before. */
const PROBATION_WITHIN_MS = 60_000;
/** They have to stay well for so long. */
const STEADY_MS = 2_000;
const ASK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 2_000;

/** The folder and the programs of a switch; tests have programs that only write to the disk. */
export interface SwitchSite {
  /** The folder with the files that name the version. */
  readonly root: string;
  readonly programs: {
    /** Stops the programs of any version. Throws when one cannot be stopped. */
    stop(): Promise<void>;
    /** Starts the programs that do not run. */
    start(version: string): Promise<unknown>;
    /** Starts the new version on its probation, and answers the result. */
    prove(record: SwitchRecord): Promise<SwitchEvent>;
  };
}

/** The installation that this launcher is part of. */
export function switchSiteOf(context: CommandContext): SwitchSite {
  return {
    root: installationRoot,
    programs: {
      stop: () => stopAll(context),
      start: (version) => startVersion(context, version),
      prove: (record) => prove(context, record),
    },
  };
}

/** Stops the programs of any version, also of one whose folder is gone. */
async function stopAll({ installation, clock }: CommandContext): Promise<void> {
  for (const spec of programSpecs(installation.dataDirectory)) {
    if ((await stopProgram(spec, clock)) !== "still-running") continue;
    throw refused(`${spec.name} cannot be stopped: is it another user's process?`);
  }
}

/** Starts a version, and forgets the failures that were counted before: they are another's. */
function startVersion(
  { installation, clock }: CommandContext,
  version: string,
): Promise<Started[]> {
  const { dataDirectory } = installation;
  forgetFailures(openRunDirectory(dataDirectory));
  const specs = programSpecs(dataDirectory, { version, runtime: runtimeOf(version) });
  return startPrograms(installation, clock, specs);
}

/** Starts a version and waits until both programs answer and its link is as good as before. */
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

/**
 * Names and starts the version that can go on with the stores, when `current` is torn, missing, or
 * names no whole version (docs/updates.md 4.2). The scripts at the root run any whole version then,
 * which may not know the stores, or may never have been tested here. The version of the last update
 * comes first, then the newest. Stores are only read; a whole version that is named is never
 * replaced. Answers an exit code when that other version runs: then this launcher has nothing more
 * to do. The caller holds the launch lock.
 */
export async function leaveToReader(
  context: CommandContext,
  { root, programs }: SwitchSite,
  own: string,
): Promise<number | undefined> {
  const { dataDirectory } = context.installation;
  const named = wholeLineIn(root, "current");
  if (named !== undefined && isWhole(named, root)) return undefined;
  const last = lastVersion(dataDirectory);
  const isKnownHere = last === undefined || own === last || own === wholeLineIn(root, "previous");
  if (isKnownHere && canRead(root, own, dataDirectory) !== false) return undefined;
  const to = wholeVersions(root)
    .sort((a, b) => Number(b === last) - Number(a === last) || compareVersions(b, a))
    .find((version) => version !== own && canRead(root, version, dataDirectory) === true);
  if (to === undefined) return undefined; // the programs report the stores that they cannot read
  context.output.fault(
    `the file "current" names no whole version, and ${own} cannot read these stores: ` +
      `${to} is named and started`,
  );
  nameVersion(root, { current: to, previous: own });
  await programs.start(to);
  return exitCodes.ok;
}

/** The version that the last update has left running; undefined: there was none. */
function lastVersion(dataDirectory: string): string | undefined {
  const last = readLastSwitch(dataDirectory);
  return last?.step === "done" ? last.to : last?.from;
}

function wholeVersions(root: string): string[] {
  return readdirSync(join(root, "versions")).filter((name) => isWhole(name, root));
}

const knownSchema = z.object({ schemas: z.record(z.string(), z.int()) });

/** Whether a version knows the stores; undefined: it does not say, or they cannot be read. */
function canRead(root: string, version: string, dataDirectory: string): boolean | undefined {
  try {
    const text = readFileSync(join(root, "versions", version, "delivery.json"), "utf8");
    return areReadableBy(knownSchema.parse(JSON.parse(text)).schemas, dataDirectory);
  } catch {
    return undefined;
  }
}
