import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { commands, type Finding, type Verdict } from "../../shared/catalog/findings.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { versionNumber } from "../../shared/program/installation.ts";
import { projectRoot } from "../../shared/version-files.ts";
import type { LauncherArguments } from "../arguments.ts";
import { type CommandContext, forThisSystem, type Mood, shellArgument } from "../output.ts";
import { programStates, reportOf } from "../processes/programs.ts";
import { dataArguments } from "../schedule/entry.ts";
import { writeBundle } from "./bundle.ts";
import { checkConfig } from "./check-config.ts";
import { checkGateway, checkIds } from "./check-gateway.ts";
import { checkLocalPort, checkPages, checkSerialPort } from "./check-ports.ts";
import { checkJournal, checkPrograms } from "./check-programs.ts";
import {
  checkBrowsers,
  checkClock,
  checkDataAccess,
  checkDataFolder,
  checkNode,
  checkSchedule,
} from "./check-surroundings.ts";
import { checkUpdates } from "./check-updates.ts";

const ANSWER_WITHIN_MS = 3_000;
const moods: Record<Verdict, Mood> = { ok: "good", warn: "warn", fail: "bad" };

/** Checks everything that an installation needs, changes nothing, and returns the exit code. */
export async function runDoctor(
  context: CommandContext,
  { json, bundle, acceptance }: Pick<LauncherArguments, "json" | "bundle" | "acceptance">,
): Promise<number> {
  if (acceptance) return acceptTerminal(context);
  const { output } = context;
  const file = bundle === undefined ? undefined : newFile(bundle);
  const findings = await examine(context);
  const failed = findings.filter(({ verdict }) => verdict === "fail");
  const report = { version: versionNumber, well: failed.length === 0, findings };
  if (json) output.text(JSON.stringify(report, null, 2));
  else {
    for (const { check, verdict, says, todo } of findings) {
      output.finding(check, moods[verdict], verdict, todo === null ? says : `${says} -> ${todo}`);
    }
  }
  if (file !== undefined) {
    await writeBundle(file, context, report);
    const note = `${file} holds no passwords and no card numbers; read it before you send it on.`;
    if (!json) output.note(note);
  }
  if (report.well) return exitCodes.ok;
  const isSetup = failed.some(({ check }) => check === "config");
  return isSetup ? exitCodes.configuration : exitCodes.unavailable;
}

/** Runs the payments of docs/terminals.md with the terminal, and returns the exit code. */
function acceptTerminal({ configFile, dataDirectory }: CommandContext): number {
  const program = join(projectRoot, "examples", "terminal-acceptance", "acceptance.js");
  const command = [program, configFile, dataDirectory, versionNumber];
  return spawnSync(process.execPath, command, { stdio: "inherit" }).status ?? exitCodes.internal;
}

/** Returns the path of a file that can be made. Throws otherwise, before the long checks begin. */
function newFile(path: string): string {
  const file = resolve(path);
  if (existsSync(file)) {
    throw new ProgramExit(exitCodes.usage, `${file} exists already; name another file`);
  }
  if (existsSync(dirname(file))) return file;
  throw new ProgramExit(exitCodes.usage, `there is no folder ${dirname(file)}`);
}

async function examine(context: CommandContext): Promise<Finding[]> {
  const { dataDirectory, clock } = context;
  const { terminal, gateway, findings } = checkConfig(context);
  // The checks run at the same time, because each may wait for an answer that does not come.
  const [states, asked, ids, updates] = await Promise.all([
    programStates(dataDirectory, clock, ANSWER_WITHIN_MS),
    gateway && checkGateway(gateway, clock),
    gateway && checkIds(gateway, clock, context.configFile),
    gateway ? checkUpdates(gateway, context) : [],
  ]);
  const ports = terminal
    ? [
        await checkSerialPort(terminal.SERIAL_PORT, reportOf(states.tpManager)?.pid),
        await checkLocalPort(terminal.LOCAL_PORT, states),
        ...(await checkPages(terminal, states)),
      ]
    : [];
  const all = [
    checkNode(),
    ...checkDataFolder(dataDirectory),
    ...(await checkDataAccess(dataDirectory)),
    ...findings,
    ...ports,
    ...checkPrograms(states, dataDirectory),
    ...(await checkJournal(dataDirectory)),
    ...(asked ? [asked.finding] : []),
    ...(ids && (ids.verdict === "warn" || asked?.finding.verdict !== "fail") ? [ids] : []),
    checkClock(clock, asked?.nowMs),
    await checkSchedule(dataDirectory),
    ...updates,
    ...(terminal ? [checkBrowsers(terminal.ALLOWED_ORIGINS)] : []),
  ];
  return all.map((one) => toBeCopied(one, dataDirectory));
}

/**
 * Returns the finding with its commands ready to be copied: with `--data`, if the data folder is
 * not the default one. The first command also becomes a value, for texts in other languages.
 */
function toBeCopied(one: Finding, dataDirectory: string): Finding {
  if (one.todo === null) return one;
  const args = dataArguments(dataDirectory).map(shellArgument);
  const whole = (bare: string): string => [bare, ...args].join(" ");
  const [first] = one.todo.match(commands) ?? [];
  const values = { ...one.values, ...(first ? { command: forThisSystem(whole(first)) } : {}) };
  return { ...one, todo: one.todo.replace(commands, whole), values };
}
