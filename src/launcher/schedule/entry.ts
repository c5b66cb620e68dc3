import { statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { defaultDataDirectory, installationRoot } from "../../shared/version-files.ts";

/** The command for the machine's scheduler: always-up with the data folder it watches. */
export interface KeepAliveEntry {
  /** always-up.sh or always-up.cmd, absolute: a scheduler starts it from anywhere. */
  readonly script: string;
  readonly dataDirectory: string;
  /** --data, left out for the folder that is meant without it. */
  readonly args: readonly string[];
  /** Folder of a Node that only this shell's PATH knows; a scheduler has a PATH of its own. */
  readonly runtimeFolder: string | undefined;
}

export type Change = "installed" | "already-installed" | "removed" | "was-not-installed";

/** One place that can run something again and again: crontab, Task Scheduler. */
export interface Schedule {
  /** For people: `crontab of kiosk`. */
  readonly name: string;
  install(entry: KeepAliveEntry): Promise<Change>;
  uninstall(entry: KeepAliveEntry): Promise<Change>;
  /** The entry as it stands there, or undefined. */
  find(entry: KeepAliveEntry): Promise<string | undefined>;
}

export function keepAliveEntry(dataDirectory: string): KeepAliveEntry {
  return {
    script: scriptPath("always-up"),
    dataDirectory,
    args: dataArguments(dataDirectory),
    runtimeFolder: runtimeFolder(),
  };
}

export function scriptPath(name: "always-up" | "launch"): string {
  return join(installationRoot, process.platform === "win32" ? `${name}.cmd` : `${name}.sh`);
}

export function dataArguments(dataDirectory: string): readonly string[] {
  return dataDirectory === defaultDataDirectory ? [] : ["--data", dataDirectory];
}

/** undefined for the runtime that launch.sh finds by itself, whatever the PATH. */
export function runtimeFolder(): string | undefined {
  const delivered = relative(installationRoot, process.execPath).startsWith("runtime");
  const pinned = /node_modules[\\/]node-(linux|win)-/.test(process.execPath);
  return delivered || pinned ? undefined : dirname(process.execPath);
}

/** No scheduler and no unit file can hold one that spans lines. */
export function refuseControlCharacters(args: readonly string[]): void {
  if (!args.some((arg) => /\p{Cc}/u.test(arg))) return;
  throw new ProgramExit(
    exitCodes.usage,
    "the path holds a control character; move the installation to an ordinary folder",
  );
}

/** Root's schedule would make files that the programs' own user can no longer write. */
export function refuseOtherUser(dataDirectory: string): void {
  const owner = statSync(dataDirectory, { throwIfNoEntry: false })?.uid;
  const user = process.getuid?.();
  if (owner === undefined || user === undefined || owner === user) return;
  throw new ProgramExit(
    exitCodes.usage,
    `the data folder ${dataDirectory} belongs to user ${owner}, and this is user ${user}:\n` +
      "run this as the user to whom the data folder belongs",
  );
}
