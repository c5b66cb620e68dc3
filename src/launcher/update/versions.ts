import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Program } from "../../shared/ipc/contract.ts";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { exitCodes, isOwnFault, ProgramExit } from "../../shared/process/exit-codes.ts";
import { readOr } from "../../shared/read-or.ts";
import { copySynced, syncFolder } from "../../shared/store/store-file.ts";
import { poll } from "../../shared/time.ts";
import { installationRoot, versionFolder } from "../../shared/version-files.ts";
import { removeWhole, renameSynced, replaceHeld } from "../../update/durable-files.ts";
import { compareVersions, isVersion } from "../../update/offer-policy.ts";
import { deliveryIn, isComplete, MARK } from "../../update/release.ts";
import { areReadableBy } from "../../update/store-copies.ts";
import type { SwitchEvent } from "../../update/switch-machine.ts";
import { readLastSwitch, type SwitchRecord } from "../../update/update-state.ts";
import { type CommandContext, reasonIn } from "../output.ts";
import { forgetFailures } from "../processes/keep-alive-memory.ts";
import { programSpec, programSpecs } from "../processes/process-table.ts";
import {
  askStatus,
  PROBATION_WITHIN_MS,
  type Started,
  startPrograms,
  stopProgram,
} from "../processes/programs.ts";

const NAMES_MODE = 0o644;

/** Returns whether a version is complete: it has the mark that is written as its last file. */
export function isWhole(version: string, root = installationRoot): boolean {
  return isComplete(versionFolder(version, root));
}

/** Returns the name of the runtime (Node.js) that a version names, and its program's path. */
export function runtimeOf(version: string, root = installationRoot) {
  const name = readFileSync(join(root, "versions", version, "runtime"), "utf8").trim();
  if (!/^[0-9a-z]{1,64}$/.test(name)) throw refused(`version ${version} names no Node.js runtime`);
  const program = process.platform === "win32" ? "node.exe" : "node";
  return { name, file: join(root, "runtimes", name, program) };
}

/**
 * Copies an unpacked delivery's version into this installation and returns its number. All files
 * are synced before the mark `complete` is written (docs/updates.md 4.1); a version that has it is
 * not copied again. Throws {@link ProgramExit} if the folder is no delivery for this machine.
 */
export function stageFrom(delivery: string, own: string): string {
  const version = versionIn(delivery);
  const from = join(delivery, "versions", version);
  const { platform } = deliveryIn(versionFolder(own));
  if (deliveryIn(from).platform !== platform) throw refused(`${delivery} is not for ${platform}`);
  const { name, file } = runtimeOf(version, delivery);
  if (!existsSync(file)) throw refused(`${delivery} lacks the Node.js of version ${version}`);
  const runtime = join(installationRoot, "runtimes", name);
  if (!existsSync(runtime)) {
    copyWhole(dirname(file), runtime);
    syncFolder(dirname(runtime));
  }
  if (isWhole(version)) return version;
  const folder = versionFolder(version);
  removeWhole(folder);
  copyWhole(from, folder);
  replaceHeld(join(folder, MARK), `${version}\n`, NAMES_MODE);
  return version;
}

/** Returns the only version of an unpacked delivery. Throws {@link ProgramExit} if it is none. */
export function versionIn(delivery: string): string {
  const folder = join(delivery, "versions");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const [only, ...others] = names.filter((name) => isComplete(join(folder, name)));
  if (only !== undefined && others.length === 0 && isVersion(only)) return only;
  throw refused(`${delivery} is not the folder of an unpacked delivery with exactly one version`);
}

/** Copies a folder without its mark. After a power cut the copy is complete or missing. */
function copyWhole(from: string, to: string): void {
  const unfinished = `${to}.copying`;
  removeWhole(unfinished);
  mkdirSync(dirname(to), { recursive: true });
  copyFolder(from, unfinished);
  renameSynced(unfinished, to);
}

function copyFolder(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyFolder(source, target);
    else if (!entry.isFile()) throw refused(`${source} is neither a file nor a folder`);
    else if (entry.name !== MARK) copySynced(source, target, statSync(source).mode);
  }
  chmodSync(to, 0o755);
  syncFolder(to);
}

/**
 * Returns the version that the scripts in the installation folder run. undefined: they run the
 * newest version, because `current` and `previous` are torn, missing, or name no complete version.
 */
export function namedVersion(root = installationRoot): string | undefined {
  return ["current", "previous"]
    .map((name) => wholeLineIn(root, name))
    .find((version) => version !== undefined && isWhole(version, root));
}

/** Returns the version that a file in the installation folder names; undefined: missing or torn. */
export function wholeLineIn(root: string, name: string): string | undefined {
  const file = join(root, name);
  const line = existsSync(file) ? /^(.*?)\r?\n/.exec(readFileSync(file, "utf8"))?.[1] : undefined;
  return line !== undefined && isVersion(line) ? line : undefined;
}

/** Writes the files that name the versions, `current` last; they are on disk when this returns. */
export function nameVersion(
  root: string,
  { current, previous }: { readonly current: string; readonly previous: string },
): void {
  for (const [name, version] of Object.entries({ previous, current })) {
    const file = join(root, name);
    const line = `${version}\n`;
    const isThere = existsSync(file) && readFileSync(file, "utf8") === line;
    if (!isThere) replaceHeld(file, line, NAMES_MODE);
  }
}

export function refused(why: string): ProgramExit {
  return new ProgramExit(exitCodes.unavailable, why);
}

/** How long the new programs have to work without a break before they count as healthy. */
const STEADY_MS = 2_000;
const ASK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 2_000;

/** The installation that switches versions: an interface, because tests run no programs. */
export interface SwitchSite extends CommandContext {
  /** The folder with the files that name the version. */
  readonly root: string;
  /** Stops the programs of any version. Throws when a program cannot be stopped. */
  stop(): Promise<void>;
  start(version: string): Promise<unknown>;
  /** Starts the new version on its probation and resolves with the probation's result. */
  prove(record: SwitchRecord): Promise<SwitchEvent>;
}

export function switchSiteOf(context: CommandContext): SwitchSite {
  return {
    ...context,
    root: installationRoot,
    stop: () => stopAll(context),
    start: (version) => startVersion(context, version),
    prove: (record) => prove(context, record),
  };
}

/** Stops the programs of any version, even of a version whose folder is gone. */
async function stopAll({ dataDirectory, clock }: CommandContext): Promise<void> {
  for (const spec of programSpecs(dataDirectory)) {
    if ((await stopProgram(spec, clock)) !== "still-running") continue;
    throw refused(`the program ${spec.name} cannot be stopped; it may belong to another user`);
  }
}

/** Starts a version, and clears the counted failures, which are those of another version. */
function startVersion(context: CommandContext, version: string): Promise<Started[]> {
  const { dataDirectory } = context;
  forgetFailures(openRunDirectory(dataDirectory));
  const specs = programSpecs(dataDirectory, { version, runtime: runtimeOf(version).file });
  return startPrograms(context, specs);
}

async function prove(context: CommandContext, record: SwitchRecord): Promise<SwitchEvent> {
  for (const { program, result, exitCode, reason } of await startVersion(context, record.to)) {
    if (result !== "silent" && result !== "ended") continue;
    const how = result === "ended" ? `ended: ${reasonIn(reason)}` : "does not answer";
    const why = `${program} ${how}`;
    // A full disk or a port in use is no fault of a version.
    return { event: "failed", why, bars: result === "silent" || isOwnFault(exitCode) };
  }
  return await untilSteady(context, record);
}

/** Waits until the started programs answer and have their terminal for a while without a break. */
export async function untilSteady(
  context: CommandContext,
  { to, linkWasUp }: Pick<SwitchRecord, "to" | "linkWasUp">,
): Promise<SwitchEvent> {
  const { clock } = context;
  /** Whether the last break was a program's silence; otherwise it was the terminal's. */
  let wasSilent = true;
  let wellSinceMs: number | undefined;
  const isSteady = await poll(clock, "probation", ASK_EVERY_MS, PROBATION_WITHIN_MS, async () => {
    const link = await linkOf(context, to);
    const nowMs = clock.monotonicMs();
    const isWell = link === "connected" || (link !== undefined && !linkWasUp);
    if (!isWell) wasSilent = link === undefined;
    wellSinceMs = isWell ? (wellSinceMs ?? nowMs) : undefined;
    return (wellSinceMs !== undefined && nowMs - wellSinceMs >= STEADY_MS) || undefined;
  });
  if (isSteady) return { event: "carried-out" };
  if (wasSilent) return { event: "failed", why: "a program does not answer", bars: true };
  return { event: "failed", why: "the terminal was not reached again", bars: false };
}

/** Returns the terminal's link state; undefined: a program of `version` does not answer. */
async function linkOf({ dataDirectory, clock }: CommandContext, version: string) {
  const ask = <P extends Program>(name: P) =>
    askStatus(programSpec(name, dataDirectory), clock, ANSWER_WITHIN_MS);
  try {
    const [supervisor, tpManager] = [await ask("supervisor"), await ask("tp-manager")];
    if (supervisor.version !== version || tpManager.version !== version) return undefined;
    return tpManager.terminal.link;
  } catch {
    return undefined;
  }
}

/**
 * Names and starts a version that can read the databases, when `current` is torn, missing, or names
 * no complete version (docs/updates.md 4.2); otherwise the scripts in the installation folder could
 * run a version that cannot read them. The version of the last update is preferred, then the
 * newest. A complete version that is named is never replaced. Returns an exit code if another
 * version runs now, so that this launcher does nothing more. The caller holds the launch lock.
 */
export async function leaveToReader(
  { dataDirectory, output, root, start }: SwitchSite,
  own: string,
): Promise<number | undefined> {
  const named = wholeLineIn(root, "current");
  if (named !== undefined && isWhole(named, root)) return undefined;
  const ended = readLastSwitch(dataDirectory);
  const last = ended?.step === "done" ? ended.to : ended?.from;
  const isKnownHere = last === undefined || own === last || own === wholeLineIn(root, "previous");
  if (isKnownHere && canRead(root, own, dataDirectory) !== false) return undefined;
  const to = readdirSync(join(root, "versions"))
    .filter((name) => isWhole(name, root))
    .sort((a, b) => Number(b === last) - Number(a === last) || compareVersions(b, a))
    .find((version) => version !== own && canRead(root, version, dataDirectory) === true);
  if (to === undefined) return undefined; // no version can read the stores, as the programs report
  output.fault(
    `the file "current" names no whole version, and ${own} cannot read these stores: ` +
      `${to} is named and started`,
  );
  nameVersion(root, { current: to, previous: own });
  await start(to);
  return exitCodes.ok;
}

/** Returns whether a version can read the databases; undefined: its schemas cannot be read. */
function canRead(root: string, version: string, dataDirectory: string): boolean | undefined {
  const folder = versionFolder(version, root);
  const schemas = readOr(undefined, () => deliveryIn(folder).schemas);
  return schemas && readOr(undefined, () => areReadableBy(schemas, dataDirectory));
}
