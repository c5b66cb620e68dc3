import { randomBytes, randomInt } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { settingsIn } from "../../shared/process/installation.ts";
import { poll } from "../../shared/time.ts";
import {
  assetFile,
  defaultDataDirectory,
  programFile,
  projectRoot,
} from "../../shared/version-files.ts";
import { type CommandContext, filled } from "../output.ts";
import { launchDetached } from "../processes/launch-process.ts";
import { listenFault } from "../processes/network.ts";
import { findProcesses, isForbidden, programSpecs } from "../processes/process-table.ts";

/** The ports that a demo asks for; another port is taken where one of them is in use. */
const usualPorts = {
  localApi: 8765,
  console: 8767,
  kiosk: 8768,
  terminal: 20_007,
  terminalControl: 20_008,
  gateway: 8766,
};
export type DemoPorts = typeof usualPorts;

/** What the folder of a demo keeps; without a protocol the terminal speaks ZVT. */
const setupSchema = z.object({
  localApi: z.int(),
  /** Missing in the folder of a version without the console. */
  console: z.int().default(usualPorts.console),
  /** Missing in the folder of a version without the kiosk's own pages. */
  kiosk: z.int().default(usualPorts.kiosk),
  terminal: z.int(),
  terminalControl: z.int(),
  gateway: z.int(),
  protocol: z.string().optional(),
});
export type DemoSetup = z.infer<typeof setupSchema>;

export const API_LOGIN = "kiosk";
export const OPERATOR_LOGIN = "operator";
const GATEWAY_LOGIN = "demo";
const WEBSITE_ID = 1000;

export function demoFiles(dataDirectory: string) {
  const file = (name: string): string => join(dataDirectory, name);
  return {
    config: file("config.txt"),
    ports: file("demo.json"),
    netrc: file("netrc"),
    gatewayAccount: file("gateway-account.json"),
    gatewayDatabase: file("gateway-sandbox.sqlite"),
    terminalState: file("terminal-simulator.sqlite"),
  };
}

/** undefined when the folder is no demo's. */
export function readDemoSetup(dataDirectory: string): DemoSetup | undefined {
  const file = demoFiles(dataDirectory).ports;
  if (!existsSync(file)) return undefined;
  const parsed = setupSchema.safeParse(JSON.parse(readFileSync(file, "utf8")));
  if (parsed.success) return parsed.data;
  throw new ProgramExit(exitCodes.configuration, `${file} is damaged: remove ${dataDirectory}`);
}

/**
 * Writes the demo's files. Passwords are made once per machine and kept; so is the whole setup file
 * (`keepConfig`), with whatever a reader has tried in it, while ports and protocol are the same.
 */
export function writeDemoFiles(dataDirectory: string, setup: DemoSetup, keepConfig: boolean): void {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const { ports, config, netrc, gatewayAccount } = demoFiles(dataDirectory);
  writePrivate(ports, `${JSON.stringify(setup)}\n`);
  if (!keepConfig || !existsSync(config)) {
    writePrivate(config, configText(setup, keptPasswords(config)));
  }
  const passwords = keptPasswords(config);
  writePrivate(netrc, netrcText(passwords));
  const websites = [{ id: WEBSITE_ID, currency: "EUR" }];
  const account = { login: GATEWAY_LOGIN, password: passwords.gateway, websites };
  writePrivate(gatewayAccount, `${JSON.stringify(account)}\n`);
}

/** The password of the kiosk's login, for the sample payment, or of the operator's. */
export function apiPassword(dataDirectory: string, login = API_LOGIN): string {
  const { api, operator } = keptPasswords(demoFiles(dataDirectory).config);
  const password = login === OPERATOR_LOGIN ? operator : api;
  if (password) return password;
  throw new ProgramExit(exitCodes.configuration, `no passwords in ${dataDirectory}/config.txt`);
}

type Passwords = ReturnType<typeof keptPasswords>;

/** The passwords of a setup file; empty where it has none. */
function keptPasswords(configFile: string) {
  const value = settingsIn(configFile);
  return {
    api: value("TERMINAL_MANAGER_PWD") ?? "",
    gateway: value("GATEWAY_PWD") ?? "",
    operator: value("OPERATOR_PWD") ?? "",
  };
}

/** The netrc file; curl takes a host's first line, or that of the login that the address names. */
function netrcText({ api, operator }: Passwords): string {
  const logins = { [API_LOGIN]: api, [OPERATOR_LOGIN]: operator };
  const lines = Object.entries(logins).filter(([, password]) => password !== "");
  return ["127.0.0.1", "localhost"]
    .flatMap((host) =>
      lines.map(([login, password]) => `machine ${host} login ${login} password ${password}\n`),
    )
    .join("");
}

/** A password of 24 characters; the gateway takes at most 32. */
const newPassword = (): string => randomBytes(18).toString("base64url");

/**
 * The setup file, from config.txt; a password that is kept stays, any other one is made. The
 * gateway's category 5 is "Vending machine" in the sandbox's own list.
 */
function configText({ protocol, ...ports }: DemoSetup, kept: Passwords): string {
  const spoken = protocol === undefined ? "" : `TERMINAL_PROTOCOL=${protocol}\n`;
  const made = Object.entries(kept).map(([name, value]) => [name, value || newPassword()]);
  const app = join(projectRoot, "examples", "kiosk");
  const logins = { login: API_LOGIN, operatorLogin: OPERATOR_LOGIN, gatewayLogin: GATEWAY_LOGIN };
  const gateway = { gatewayPort: ports.gateway, website: WEBSITE_ID, ...logins };
  const values = { ...ports, ...gateway, spoken, app, ...Object.fromEntries(made) };
  const template = readFileSync(assetFile("launcher/demo/config.txt"), "utf8");
  return filled(template, (name) => String(values[name as keyof typeof values]));
}

/** The range for any free port: no system gives these to a program that asks for a free one. */
const FIRST_PORT = 20_100;
const END_OF_PORTS = 32_000;

/** The earlier ports where they are still free, else the usual ones, else any. */
export async function choosePorts(earlier: DemoPorts | undefined): Promise<DemoPorts> {
  const chosen = { ...usualPorts };
  const taken = new Set<number>();
  for (const name of Object.keys(usualPorts) as Array<keyof DemoPorts>) {
    let port = (earlier ?? usualPorts)[name];
    // Any free port, but not one that another part was just given.
    while (taken.has(port) || !(await isFree(port))) port = randomInt(FIRST_PORT, END_OF_PORTS);
    taken.add(port);
    chosen[name] = port;
  }
  return chosen;
}

/** Whether a port is free on both loopback addresses, or on the one that the machine has. */
async function isFree(port: number): Promise<boolean> {
  for (const host of ["127.0.0.1", "::1"]) {
    if (/EADDRINUSE|EACCES/.test((await listenFault(host, port)) ?? "")) return false;
  }
  return true;
}

/** Writes a file that is complete or missing, and never readable by others. */
function writePrivate(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

const READY_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 50;

/** A simulator writes its ready file when it can be used, and is stopped by a signal. */
type SimulatorSpec = ReturnType<typeof simulatorSpec>;

function simulatorSpec(
  dataDirectory: string,
  name: "terminal-simulator" | "gateway-sandbox",
  mark: string,
  options: Readonly<Record<string, string | number | true>>,
) {
  const readyFile = join(dataDirectory, "run", `${name}.ready`);
  const all = Object.entries<string | number | true>({ ...options, "ready-file": readyFile });
  const args = all.flatMap(([option, value]) =>
    value === true ? [`--${option}`] : [`--${option}`, String(value)],
  );
  return { name, script: programFile(name), args, mark, presence: readyFile, readyFile };
}

/** The simulators of a demo's data folder; none for a real installation. */
export function simulatorSpecs(dataDirectory: string): SimulatorSpec[] {
  const setup = readDemoSetup(dataDirectory);
  if (!setup) return [];
  const { protocol, terminal, terminalControl, gateway } = setup;
  const { terminalState, gatewayDatabase, gatewayAccount } = demoFiles(dataDirectory);
  return [
    simulatorSpec(dataDirectory, "terminal-simulator", terminalState, {
      // A terminal of ZVT for goods; the others know no two-phase sale, and no such switch.
      ...(protocol === undefined ? { vending: true } : { protocol }),
      tcp: `127.0.0.1:${terminal}`,
      control: terminalControl,
      state: terminalState,
    }),
    simulatorSpec(dataDirectory, "gateway-sandbox", gatewayAccount, {
      port: gateway,
      database: gatewayDatabase,
      // A file, because a password would show in the list of processes.
      account: gatewayAccount,
    }),
  ];
}

/** The address of the running terminal's control pages; undefined: no terminal runs. */
export function terminalControl(dataDirectory: string): string | undefined {
  const terminal = simulatorSpecs(dataDirectory).find(({ name }) => name === "terminal-simulator");
  if (!terminal || !existsSync(terminal.readyFile)) return undefined;
  const ready = z.object({ control: z.url() });
  return ready.parse(JSON.parse(readFileSync(terminal.readyFile, "utf8"))).control;
}

/** Starts one simulator and waits until it can be used; answers its pid. */
export async function startSimulator(
  { readyFile, ...spec }: SimulatorSpec,
  { logDirectory, clock }: CommandContext,
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
    `${spec.name} ${why}:\n${launched.output() || "it gave no reason"}`,
  );
}

/**
 * Whether a command without `--data` means that folder: a demo that runs while the installation
 * itself does not. The demo of another user cannot be examined: where nothing else is set up it is
 * the target all the same, so that no answer is about an installation that does not run.
 */
export function isDemoTarget(folder: string, installation = defaultDataDirectory): boolean {
  if (isForbidden(folder)) return !existsSync(join(installation, "config.txt"));
  return readDemoSetup(folder) !== undefined && !anyRuns(installation) && anyRuns(folder);
}

function anyRuns(dataDirectory: string): boolean {
  const specs = [...programSpecs(dataDirectory), ...simulatorSpecs(dataDirectory)];
  return specs.some((spec) => findProcesses(spec).length > 0);
}
