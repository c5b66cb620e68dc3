import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { copySynced, syncFolder } from "../../shared/store/store-file.ts";
import { installationRoot, versionFolder } from "../../shared/version-files.ts";
import { removeWhole, renameSynced, replaceHeld } from "../../update/durable-files.ts";
import { isVersion } from "../../update/offer-policy.ts";

const MARK = "complete";
const NAMES_MODE = 0o644;

/** Whether a version is there with its mark. */
export function isWhole(version: string, root = installationRoot): boolean {
  return existsSync(join(root, "versions", version, MARK));
}

/** The runtime that a version names. */
export function runtimeOf(version: string): string {
  return runtimeIn(installationRoot, version).file;
}

function runtimeIn(
  root: string,
  version: string,
): { readonly name: string; readonly file: string } {
  const name = readFileSync(join(root, "versions", version, "runtime"), "utf8").trim();
  if (!/^[0-9a-z]{1,64}$/.test(name)) throw refused(`${version} names no runtime`);
  return {
    name,
    file: join(root, "runtimes", name, process.platform === "win32" ? "node.exe" : "node"),
  };
}

/**
 * Copies the version of an unpacked delivery into this installation and answers its number. Every
 * file is synced, the mark `complete` comes last (docs/updates.md 4.1); a version that is whole
 * already stays as it is. Throws {@link ProgramExit} when it is no delivery for this machine.
 */
export function stageFrom(delivery: string, own: string): string {
  const version = versionIn(delivery);
  const from = join(delivery, "versions", version);
  const wanted = platformOf(versionFolder(own));
  if (platformOf(from) !== wanted) throw refused(`${delivery} is not for ${wanted}`);
  const { name, file } = runtimeIn(delivery, version);
  if (!existsSync(file)) throw refused(`${delivery} lacks the runtime of ${version}`);
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

function versionIn(delivery: string): string {
  const folder = join(delivery, "versions");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const [only, ...others] = names.filter((name) => existsSync(join(folder, name, MARK)));
  if (only !== undefined && others.length === 0 && isVersion(only)) return only;
  throw refused(`${delivery} is no unpacked delivery with one version`);
}

function platformOf(folder: string): string {
  const { platform } = JSON.parse(readFileSync(join(folder, "delivery.json"), "utf8"));
  return String(platform);
}

/** Copies a folder without its mark. After a power cut the copy is whole, or is not there. */
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
 * The version that the root scripts run; undefined: the newest one, because both files that name
 * one are torn, missing, or name none that is whole.
 */
export function namedVersion(root = installationRoot): string | undefined {
  return ["current", "previous"]
    .map((name) => wholeLineIn(root, name))
    .find((version) => version !== undefined && isWhole(version, root));
}

/** The first line of a file at the root, as its scripts read it; undefined: torn or missing. */
export function wholeLineIn(root: string, name: string): string | undefined {
  const file = join(root, name);
  const line = existsSync(file) ? /^(.*?)\r?\n/.exec(readFileSync(file, "utf8"))?.[1] : undefined;
  return line !== undefined && isVersion(line) ? line : undefined;
}

/** Both files are on disk when it returns; a cut in between leaves the previous version. */
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
