import { accessSync, constants, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Installation } from "../../shared/process/installation.ts";
import type { Clock } from "../../shared/time.ts";
import { defaultDataDirectory, programFile } from "../../shared/version-files.ts";
import { launchDetached } from "../processes/launch-process.ts";
import { poll } from "../processes/poll.ts";
import { type ProcessSpec, programSpecs } from "../processes/process-spec.ts";
import { findProcesses } from "../processes/process-table.ts";
import { demoFiles, readDemoSetup } from "./settings.ts";

const READY_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 50;

/** A simulator writes its ready file when it can be used, and is stopped by a signal. */
interface SimulatorSpec extends ProcessSpec {
  readonly readyFile: string;
}

/** The simulators of a demo's data folder; none for a real installation. */
export function simulatorSpecs(dataDirectory: string): SimulatorSpec[] {
  const setup = readDemoSetup(dataDirectory);
  if (!setup) return [];
  const { protocol, ...ports } = setup;
  const files = demoFiles(dataDirectory);
  const spec = (
    name: "terminal-simulator" | "gateway-sandbox",
    mark: string,
    args: readonly string[],
  ): SimulatorSpec => {
    const readyFile = join(dataDirectory, "run", `${name}.ready`);
    const all = [...args, "--ready-file", readyFile];
    return { name, script: programFile(name), args: all, mark, presence: readyFile, readyFile };
  };
  return [
    spec("terminal-simulator", files.terminalState, [
      // A terminal of ZVT for goods; the others know no two-phase sale, and no such switch.
      ...(protocol === undefined ? ["--vending"] : ["--protocol", protocol]),
      "--tcp",
      `127.0.0.1:${ports.terminal}`,
      "--control",
      String(ports.terminalControl),
      "--state",
      files.terminalState,
    ]),
    spec("gateway-sandbox", files.gatewayAccount, [
      "--port",
      String(ports.gateway),
      "--database",
      files.gatewayDatabase,
      // A file, not switches: the password would show in the list of processes.
      "--account",
      files.gatewayAccount,
    ]),
  ];
}

/** Where a person and a shell find the running terminal; undefined: none runs. */
export function terminalControl(dataDirectory: string): string | undefined {
  const terminal = simulatorSpecs(dataDirectory).find(({ name }) => name === "terminal-simulator");
  if (!terminal || !existsSync(terminal.readyFile)) return undefined;
  const ready = z.object({ control: z.url() });
  return ready.parse(JSON.parse(readFileSync(terminal.readyFile, "utf8"))).control;
}

/** Starts one simulator and waits until it can be used; answers its pid. */
export async function startSimulator(
  { readyFile, ...spec }: SimulatorSpec,
  { logDirectory }: Installation,
  clock: Clock,
): Promise<number> {
  // A file left by a process that was killed would be taken for the new one's.
  rmSync(readyFile, { force: true });
  const launched = await launchDetached(spec, logDirectory);
  await poll(clock, "simulator ready", ASK_EVERY_MS, READY_WITHIN_MS, () =>
    existsSync(readyFile) || launched.ended ? true : undefined,
  );
  if (existsSync(readyFile)) return launched.pid;
  const why = launched.ended ? "has stopped" : `is not ready after ${READY_WITHIN_MS / 1_000} s`;
  throw new ProgramExit(
    exitCodes.unavailable,
    `${spec.name} ${why}:\n${launched.output().trim() || "it gave no reason"}`,
  );
}

/**
 * Whether a command without `--data` means that folder: a demo that runs while the installation
 * itself does not. The demo of another user cannot be examined: where nothing else is set up it is
 * meant all the same, so that nobody is told of an installation that stands still.
 */
export function isDemoMeant(folder: string, installation = defaultDataDirectory): boolean {
  if (isForbidden(folder)) return !existsSync(join(installation, "config.txt"));
  return readDemoSetup(folder) !== undefined && !anyRuns(installation) && anyRuns(folder);
}

function isForbidden(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

function anyRuns(dataDirectory: string): boolean {
  const specs = [...programSpecs(dataDirectory), ...simulatorSpecs(dataDirectory)];
  return specs.some((spec) => findProcesses(spec).length > 0);
}
