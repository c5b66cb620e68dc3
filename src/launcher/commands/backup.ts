import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { openRunDirectory } from "../../shared/ipc/run-directory.ts";
import { takeExclusiveLock } from "../../shared/process/exclusive-lock.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { readOr } from "../../shared/read-or.ts";
import * as copies from "../../shared/store/copies.ts";
import { forgetLastSession } from "../../shared/store/store.ts";
import { syncFolder } from "../../shared/store/store-file.ts";
import { isoTime } from "../../shared/time.ts";
import { underWayFileOf } from "../../shared/version-files.ts";
import { lackOfRoom, roomForSwitch } from "../../update/disk-room.ts";
import { sizeOf } from "../../update/durable-files.ts";
import type { LauncherArguments } from "../arguments.ts";
import { type CommandContext, filled, shellArgument } from "../output.ts";
import { dataAsTyped, refuseOtherUser } from "../schedule/entry.ts";
import texts from "../texts-en.json" with { type: "json" };

const UNFINISHED = ".unfinished";

/**
 * Copies both databases into a new folder in the folder `subject`, or in `data/backup`, while the
 * programs run or not (docs/rules/17-loss.md). The new folder gets its name when all of it is
 * checked and on disk. Throws {@link ProgramExit} with the reason if no copy was made.
 */
export async function backup(
  { dataDirectory, clock, output }: CommandContext,
  { subject, json }: Partial<Pick<LauncherArguments, "subject" | "json">>,
): Promise<number> {
  const usual = join(dataDirectory, "backup");
  const named = (path: string) => realpathSync(path) === realpathSync(usual);
  const isUsual = subject === undefined || readOr(false, () => named(subject));
  // Another user may copy to another folder, for example from the disk of an old machine.
  if (isUsual) refuseOtherUser(dataDirectory);
  const missing = copies.storeNames.find((name) => !existsSync(join(dataDirectory, `${name}.db`)));
  if (missing) throw refusal(`${missing}.db is not in ${dataDirectory}: nothing can be copied`);
  // An update that is taken back replaces the databases file by file.
  if (existsSync(underWayFileOf(dataDirectory))) throw refusal(texts.backup.updating);
  const lock =
    isUsual && takeExclusiveLock(join(openRunDirectory(dataDirectory), "backup.lock"), 0);
  if (isUsual && !lock) throw new ProgramExit(exitCodes.alreadyRunning, texts.backup.running);
  try {
    const madeAtMs = clock.now();
    const folder = folderFor(dataDirectory, usual, subject);
    if (isUsual) clear(folder, madeAtMs);
    const path = await copyInto(folder, dataDirectory, madeAtMs);
    // An old copy that cannot be removed is reported by the next backup, which begins with it.
    if (isUsual) readOr(undefined, () => clear(folder, madeAtMs, path));
    const bytes = sizeOf(path);
    if (json) output.text(JSON.stringify({ path, madeAt: isoTime(madeAtMs), bytes }));
    else {
      output.row("copy", "good", "made", `${path} (${(bytes / 1_000_000).toFixed(1)} MB)`);
      const values: Readonly<Record<string, string>> = {
        path: shellArgument(path),
        data: dataAsTyped(dataDirectory),
      };
      output.note(filled(texts.backup.made, (name) => values[name] ?? ""));
      if (isUsual) output.note(texts.backup.stays);
    }
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof ProgramExit) throw error;
    throw refusal(`no copy was made in ${subject ?? usual}: ${reasonOf(error as Error)}`);
  } finally {
    if (lock) lock.release();
  }
}

/** Returns the real path of the folder for copies. Throws if the programs own that folder. */
function folderFor(data: string, usual: string, wanted: string | undefined): string {
  if (wanted === undefined) mkdirSync(usual, { recursive: true, mode: 0o700 });
  const folder = realpathSync(wanted ?? usual);
  const within = relative(realpathSync(data), folder);
  const isOutside = isAbsolute(within) || within.split(sep)[0] === "..";
  if (isOutside || within === "backup") return folder;
  throw refusal(`${folder} is in the data folder: name a folder outside, or none for ${usual}`);
}

/** Returns the path of the copy. The journal comes first: the supervisor then knows more orders. */
async function copyInto(folder: string, data: string, nowMs: number): Promise<string> {
  const path = join(folder, copies.setName(nowMs));
  const unfinished = `${path}${UNFINISHED}`;
  mkdirSync(unfinished, { mode: 0o700 });
  try {
    const lack = lackOfRoom(folder, roomForSwitch(data));
    if (lack) throw refusal(`no copy was made in ${folder}: ${lack}`);
    for (const name of copies.storeNames) {
      const copy = join(unfinished, `${name}.db`);
      await copies.startCopying(join(data, `${name}.db`), copy).done;
      forgetLastSession(copy);
    }
    syncFolder(unfinished);
    renameSync(unfinished, path);
    syncFolder(folder);
    return path;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Removes the oldest copies and what interrupted copies left; no other copy is being made here. */
function clear(folder: string, nowMs: number, newest?: string): void {
  const made = copies.copiesOf(folder, "journal", nowMs).filter(copies.isSet);
  const left = readdirSync(folder).filter((one) => copies.isSet(one) && one.endsWith(UNFINISHED));
  for (const name of [...made.slice(0, -copies.COPIES_KEPT), ...left]) {
    const path = join(folder, name);
    if (path !== newest) rmSync(path, { recursive: true, force: true });
  }
}

function reasonOf({ code = "", message }: NodeJS.ErrnoException): string {
  const known: Readonly<Record<string, string>> = texts.backup.why;
  // The error of the copying program has its reason within a stack.
  return known[code] ?? /Error: (.*)/.exec(message)?.[1] ?? message;
}

const refusal = (why: string): ProgramExit => new ProgramExit(exitCodes.unavailable, why);
