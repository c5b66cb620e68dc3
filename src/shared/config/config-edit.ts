import {
  chmodSync,
  chownSync,
  existsSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { exitCodes, ProgramExit } from "../process/exit-codes.ts";
import { syncFolder, writeSynced } from "../store/store-file.ts";
import { readSetupFile } from "./config.ts";
import { readEntries } from "./config-file.ts";

/**
 * Returns the text of a setup file with one new value. All other lines, comments and line ends stay
 * as they are. A setting that is new stands below its line in a comment, or else at the end.
 */
export function withSetting(text: string, name: string, value: string): string {
  const present = readEntries(text).entries.find((entry) => entry.name === name);
  if ((present?.value ?? "") === value) return text;
  const parts = text.split(/(\r\n|\r|\n)/); // lines, and between them their ends
  const end = parts[1] ?? "\n";
  const isInComment = (part: string): boolean => new RegExp(`^\\s*#\\s*${name}\\s*=`).test(part);
  const at = present ? 2 * (present.line - 1) : parts.findIndex(isInComment);
  const line = parts[at];
  if (line === undefined) {
    const gap = text === "" || /[\r\n]$/.test(text) ? "" : end;
    return `${text}${gap}${assignment(name, value)}${end}`;
  }
  const [, indent = "", , comment] =
    /^(\s*)\w+\s*=\s*(?:(["']).*?\2(\s+#.*))?/.exec(present ? line : "") ?? [];
  const own = `${indent}${assignment(name, value, comment)}`;
  return parts.with(at, present ? own : `${line}${end}${own}`).join("");
}

/** Returns the line of a setting, in quotes where the value would be read as another one. */
function assignment(name: string, value: string, comment = ""): string {
  const lines = ["", '"', "'"].map((quote) => `${name}=${quote}${value}${quote}${comment}`);
  const line = lines.find((one) => {
    const [entry] = readEntries(one).entries;
    return entry?.value === value && (entry.quoted || !/\s#/.test(value));
  });
  if (line !== undefined) return line;
  throw new ProgramExit(exitCodes.usage, `the setup file cannot hold this value of ${name}`);
}

/**
 * Replaces the setup file, and keeps its owner and rights; a new file, or one that everybody could
 * read, is for its owner alone. Throws {@link ProgramExit} if the file is no longer the text
 * `before` (undefined: there was no file), or would get another owner; then it has not changed.
 */
export function replaceSetup(path: string, before: string | undefined, text: string): void {
  const isThere = existsSync(path);
  if ((isThere ? readSetupFile(path) : undefined) !== before) {
    const why = `${path} was changed by another program meanwhile, so nothing was written`;
    throw new ProgramExit(exitCodes.alreadyRunning, `${why}: run ./launch.sh configure again`);
  }
  const file = isThere ? realpathSync(path) : path;
  const unfinished = `${file}.unfinished`;
  writeSynced(unfinished, text);
  const own = statSync(unfinished);
  const { uid, gid, mode } = isThere ? statSync(file) : { ...own, mode: 0o600 };
  try {
    if (own.uid !== uid || own.gid !== gid) chownSync(unfinished, uid, gid);
  } catch {
    rmSync(unfinished);
    const why = `${path} belongs to another user or group, so nothing was written`;
    throw new ProgramExit(exitCodes.usage, `${why}: run ./launch.sh configure as its owner`);
  }
  chmodSync(unfinished, (mode & 0o007) === 0 ? mode & 0o770 : 0o600);
  renameSync(unfinished, file);
  syncFolder(dirname(file));
}
