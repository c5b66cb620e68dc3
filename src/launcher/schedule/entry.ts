import { statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { defaultDataDirectory, installationRoot } from "../../shared/version-files.ts";
import { shellArgument } from "../output.ts";

export type KeepAliveEntry = Readonly<ReturnType<typeof keepAliveEntry>>;

type Change = "installed" | "was installed already" | "removed" | "was not installed";

/** A scheduler of the system, which runs a command again and again: cron or the Task Scheduler. */
export interface Schedule {
  readonly name: string;
  install(entry: KeepAliveEntry): Promise<Change>;
  uninstall(entry: KeepAliveEntry): Promise<Change>;
  /** Returns the entry as the scheduler has it; undefined: the scheduler has no such entry. */
  find(entry: KeepAliveEntry): Promise<string | undefined>;
}

export function keepAliveEntry(dataDirectory: string) {
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

/** Returns `--data` and the folder; nothing for the default folder. */
export function dataArguments(dataDirectory: string): readonly string[] {
  return dataDirectory === defaultDataDirectory ? [] : ["--data", dataDirectory];
}

/** Returns the arguments as they follow a printed command: "" or ` --data 'FOLDER'`. */
export function dataAsTyped(dataDirectory: string): string {
  return ["", ...dataArguments(dataDirectory).map(shellArgument)].join(" ");
}

/** Returns the folder of this Node.js; undefined: launch.sh finds Node.js without PATH. */
export function runtimeFolder(): string | undefined {
  const delivered = relative(installationRoot, process.execPath).startsWith("runtime");
  const pinned = /node_modules[\\/]node-(linux|win)-/.test(process.execPath);
  return delivered || pinned ? undefined : dirname(process.execPath);
}

/** Throws for control characters: no scheduler can hold an argument of several lines. */
export function refuseControlCharacters(args: readonly string[]): void {
  if (!args.some((arg) => /\p{Cc}/u.test(arg))) return;
  const why = "the path holds a control character; move the installation to an ordinary folder";
  throw new ProgramExit(exitCodes.usage, why);
}

/** Throws if another user owns the data folder: the owner could not change files written here. */
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
