import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Finding, Verdict } from "../../shared/catalog/findings.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { type Installation, versionNumber } from "../../shared/process/installation.ts";
import type { Clock } from "../../shared/time.ts";
import type { LauncherArguments } from "../arguments.ts";
import { type CommandContext, forThisSystem, type Mood, type Output } from "../output.ts";
import { dataArguments } from "../schedule/entry.ts";
import { quoted } from "../schedule/schedule.ts";
import { writeBundle } from "./bundle.ts";
import { CONFIG_CHECK, checkConfig, type ReadConfigs } from "./check-config.ts";
import { checkGateway } from "./check-gateway.ts";
import { checkLocalPort, checkPages, checkSerialPort } from "./check-ports.ts";
import {
  checkJournal,
  checkPrograms,
  readProgramStates,
  tpManagerStatus,
} from "./check-programs.ts";
import {
  checkBrowsers,
  checkClock,
  checkDataAccess,
  checkDataFolder,
  checkNode,
  checkSchedule,
} from "./check-surroundings.ts";
import { checkUpdates } from "./check-updates.ts";

/** Looks at everything an installation needs, changes nothing. Answers the exit code. */
export async function runDoctor(
  { installation, clock, output }: CommandContext,
  { json, bundle }: Pick<LauncherArguments, "json" | "bundle">,
): Promise<number> {
  const file = bundle === undefined ? undefined : newFile(bundle);
  const findings = await examine(installation, clock);
  const well = findings.every(({ verdict }) => verdict !== "fail");
  const report = { version: versionNumber, well, findings };
  if (json) output.text(JSON.stringify(report, null, 2));
  else print(findings, output);
  if (file !== undefined) {
    writeBundle(file, installation, report, clock);
    const note = `${file} holds no passwords and no card numbers; read it before you send it on.`;
    if (!json) output.note(note);
  }
  if (well) return exitCodes.ok;
  const config = findings.some(
    ({ check, verdict }) => check === CONFIG_CHECK && verdict === "fail",
  );
  return config ? exitCodes.configuration : exitCodes.unavailable;
}

/** Before the examination: nobody wants to wait for it twice. */
function newFile(path: string): string {
  const file = resolve(path);
  if (existsSync(file)) {
    throw new ProgramExit(exitCodes.usage, `${file} exists already; name another file`);
  }
  if (!existsSync(dirname(file))) {
    throw new ProgramExit(exitCodes.usage, `there is no folder ${dirname(file)}`);
  }
  return file;
}

export async function examine(installation: Installation, clock: Clock): Promise<Finding[]> {
  const configs = checkConfig(installation);
  const { terminal, gateway } = configs;
  // Together: each may have to wait for an answer that does not come.
  const [conditions, asked, updates] = await Promise.all([
    readProgramStates(installation.dataDirectory, clock),
    gateway && checkGateway(gateway, clock),
    gateway ? checkUpdates(gateway, installation, clock) : [],
  ]);
  const status = tpManagerStatus(conditions);
  const ports = terminal
    ? [
        await checkSerialPort(terminal.SERIAL_PORT, status?.pid),
        await checkLocalPort(terminal.LOCAL_PORT, conditions.tpManager),
        ...(await checkPages(terminal, conditions.tpManager)),
      ]
    : [];
  const findings = [
    checkNode(),
    ...checkDataFolder(installation),
    ...(await checkDataAccess(installation)),
    ...configs.findings,
    ...ports,
    ...checkPrograms(conditions, installation.dataDirectory),
    ...(await checkJournal(installation.dataDirectory)),
    ...(asked ? [asked.finding] : []),
    checkClock(clock, asked?.nowMs),
    await checkSchedule(installation),
    ...updates,
    ...browsers(configs),
  ];
  return findings.map((finding) => toBeCopied(finding, installation.dataDirectory));
}

const launched = "(?:start|restart|audit|status|systemd-unit|update(?: --(?:now|check))?)\\b";
/** Commands of the shell files that mean one data folder. */
const commandForm = new RegExp(
  `\\./(?:launch\\.sh ${launched}|always-up\\.sh --uninstall\\b)`,
  "g",
);

/**
 * A command that is advised names the data folder, where it is not the one meant without it. The
 * first one is a value too, for the sentences in other languages.
 */
function toBeCopied(one: Finding, dataDirectory: string): Finding {
  if (one.todo === null) return one;
  const windows = process.platform === "win32";
  const args = dataArguments(dataDirectory).map((arg) => (windows ? `"${arg}"` : quoted(arg)));
  const whole = (command: string): string => [command, ...args].join(" ");
  const [command] = one.todo.match(commandForm) ?? [];
  const values = command ? { command: forThisSystem(whole(command)) } : {};
  return {
    ...one,
    todo: one.todo.replace(commandForm, whole),
    values: { ...one.values, ...values },
  };
}

function browsers({ terminal }: ReadConfigs): Finding[] {
  return terminal ? [checkBrowsers(terminal.ALLOWED_ORIGINS)] : [];
}

const moods: Record<Verdict, Mood> = { ok: "good", warn: "warn", fail: "bad" };

function print(findings: readonly Finding[], output: Output): void {
  for (const { check, verdict, says, todo } of findings) {
    output.finding(check, moods[verdict], verdict, todo === null ? says : `${says} -> ${todo}`);
  }
}
