import { randomBytes, randomInt } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { settingsIn } from "../../shared/program/installation.ts";
import { replaceSynced } from "../../shared/store/store-file.ts";
import { poll } from "../../shared/time.ts";
import {
  assetFile,
  defaultDataDirectory,
  programFile,
  projectRoot,
} from "../../shared/version-files.ts";
import { type CommandContext, filled, type Output } from "../output.ts";
import { deliberateStop, isStoppedOnPurpose } from "../processes/deliberate-stop.ts";
import { launchDetached } from "../processes/launch-process.ts";
import { listenFault } from "../processes/network.ts";
import { findProcesses, isForbidden, programSpecs } from "../processes/process-table.ts";
import protocolNeeds from "./protocol-needs.json" with { type: "json" };

/**
 * The ports of a demo, as the demo's folder stores them. The defaults are the ports of a first
 * demo; they also fill in ports that a file of an older version lacks. A port in use is replaced.
 */
const portsSchema = z.object({
  localApi: z.int().default(8765),
  console: z.int().default(8767),
  kiosk: z.int().default(8768),
  terminal: z.int().default(20_007),
  terminalControl: z.int().default(20_008),
  gateway: z.int().default(8766),
  notifications: z.int().default(8843),
});
const portSettings = { localApi: "LOCAL_PORT", console: "CONSOLE_PORT", kiosk: "KIOSK_PORT" };
export type DemoPorts = z.infer<typeof portsSchema>;
const usualPorts: DemoPorts = portsSchema.parse({});

const setupSchema = portsSchema.extend({ protocol: z.string().optional() });
export type DemoSetup = z.infer<typeof setupSchema>;

/** What a protocol needs in addition: switches of its simulated terminal, and settings. */
const needs: Readonly<Record<string, Readonly<Record<"switches" | "settings", Texts>>>> =
  protocolNeeds;
type Texts = Readonly<Record<string, string>>;

/** Returns the texts that a demo's protocol needs, with the data folder and the port in them. */
function neededBy(setup: DemoSetup, what: "switches" | "settings", data: string) {
  const { protocol = "", notifications } = setup;
  const values: Texts = { data, notifications: `${notifications}` };
  const texts = Object.entries(needs[protocol]?.[what] ?? {});
  return texts.map(([name, text]) => [name, filled(text, (one) => values[one] ?? "")] as const);
}

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
    operatorNetrc: file("netrc-operator"),
    gatewayAccount: file("gateway-account.json"),
    gatewayDatabase: file("gateway-sandbox.sqlite"),
    terminalState: file("terminal-simulator.sqlite"),
  };
}

/** Returns a demo's setup, with its setup file's ports; undefined: no demo. Throws if damaged. */
export function readDemoSetup(dataDirectory: string): DemoSetup | undefined {
  const { config, ports: file } = demoFiles(dataDirectory);
  if (!existsSync(file)) return undefined;
  const setup = JSON.parse(readFileSync(file, "utf8"));
  for (const [port, name] of Object.entries(portSettings)) {
    setup[port] = Number.parseInt(settingsIn(config)(name) ?? "", 10) || setup[port];
  }
  const parsed = setupSchema.safeParse(setup);
  if (parsed.success) return parsed.data;
  throw new ProgramExit(exitCodes.configuration, `${file} is damaged: remove ${dataDirectory}`);
}

/** Writes the demo's files. In a setup file only what an earlier demo wrote is changed. */
export function writeDemoFiles(dataDirectory: string, setup: DemoSetup): void {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const { ports, config, gatewayAccount } = demoFiles(dataDirectory);
  const earlier = readDemoSetup(dataDirectory);
  const text = configText(setup, config);
  const isThere = earlier !== undefined && existsSync(config);
  replaceSynced(config, isThere ? changedText(config, configText(earlier, config), text) : text);
  replaceSynced(ports, `${JSON.stringify(setup)}\n`);
  writeNetrcFiles(dataDirectory);
  const websites = [{ id: WEBSITE_ID, currency: "EUR" }];
  const account = { login: GATEWAY_LOGIN, password: keptPasswords(config).gateway, websites };
  replaceSynced(gatewayAccount, `${JSON.stringify(account)}\n`);
}

/** Returns the password of a login of the local API. Throws if the setup file has no password. */
export function apiPassword(dataDirectory: string, login = API_LOGIN): string {
  const { api, operator } = keptPasswords(demoFiles(dataDirectory).config);
  const password = login === OPERATOR_LOGIN ? operator : api;
  if (password) return password;
  throw new ProgramExit(exitCodes.configuration, `no passwords in ${dataDirectory}/config.txt`);
}

function keptPasswords(configFile: string) {
  const value = settingsIn(configFile);
  return {
    api: value("TERMINAL_MANAGER_PWD") ?? "",
    gateway: value("GATEWAY_PWD") ?? "",
    operator: value("OPERATOR_PWD") ?? "",
  };
}

/** Writes a netrc file for each login: of two for a host, curl takes the first, Python the last. */
export function writeNetrcFiles(dataDirectory: string): void {
  const { config, netrc, operatorNetrc } = demoFiles(dataDirectory);
  const { api, operator } = keptPasswords(config);
  replaceSynced(netrc, netrcText(API_LOGIN, api));
  replaceSynced(operatorNetrc, netrcText(OPERATOR_LOGIN, operator));
}

function netrcText(login: string, password: string): string {
  const line = (host: string) => `machine ${host} login ${login} password ${password}\n`;
  return password === "" ? "" : line("127.0.0.1") + line("localhost");
}

/** Returns a new password of 24 characters; the gateway accepts at most 32. */
export const newPassword = (): string => randomBytes(18).toString("base64url");

/** Returns the text of a demo's setup file; the passwords are those of an earlier file. */
function configText(setup: DemoSetup, earlierFile: string): string {
  const { protocol, ...ports } = setup;
  const needed = neededBy(setup, "settings", dirname(earlierFile));
  const spoken = [["TERMINAL_PROTOCOL", protocol], ...needed]
    .map(([name, value]) => (value === undefined ? "" : `${name}=${value}\n`))
    .join("");
  const kept = Object.entries(keptPasswords(earlierFile));
  const made = kept.map(([name, value]) => [name, value || newPassword()]);
  const app = join(projectRoot, "examples", "kiosk");
  const logins = { login: API_LOGIN, operatorLogin: OPERATOR_LOGIN, gatewayLogin: GATEWAY_LOGIN };
  const gateway = { gatewayPort: ports.gateway, website: WEBSITE_ID, ...logins };
  const values = { ...ports, ...gateway, spoken, app, ...Object.fromEntries(made) };
  const template = readFileSync(assetFile("launcher/demo/config.txt"), "utf8");
  return filled(template, (name) => String(values[name as keyof typeof values]));
}

/** Returns the setup file with new lines in place of those that the demo wrote for `before`. */
function changedText(file: string, before: string, after: string): string {
  const ofProtocol = Object.values(needs).flatMap(({ settings }) => Object.keys(settings));
  const names = ["TERMINAL_PROTOCOL", ...ofProtocol].join("|");
  const linesOf = (text: string): string[] => text.split(new RegExp(`\\n(?!${names})`));
  const next = linesOf(after);
  const text = readFileSync(file, "utf8");
  return linesOf(before).reduce((kept, line, at) => kept.replace(line, () => next[at] ?? ""), text);
}

/** A port in use is replaced by a random one of this range, which no system assigns by itself. */
const FIRST_PORT = 20_100;
const END_OF_PORTS = 32_000;

/** Returns the ports of an earlier demo, or else the usual ports; a port in use is replaced. */
export async function choosePorts(earlier = usualPorts, output: Output): Promise<DemoPorts> {
  const chosen = { ...usualPorts };
  const taken = new Set<number>();
  for (const name of Object.keys(usualPorts) as Array<keyof DemoPorts>) {
    const wanted = earlier[name];
    let port = wanted;
    while (taken.has(port) || !(await isFree(port))) port = randomInt(FIRST_PORT, END_OF_PORTS);
    taken.add(port);
    chosen[name] = port;
    const instead = `the demo uses ${port} from now on; other settings stay as they are`;
    if (port !== wanted) output.note(`Port ${wanted} is taken: ${instead}.`);
  }
  return chosen;
}

/** Whether a port is free on both loopback addresses, or on the only one of this machine. */
async function isFree(port: number): Promise<boolean> {
  for (const host of ["127.0.0.1", "::1"]) {
    if (/EADDRINUSE|EACCES/.test((await listenFault(host, port)) ?? "")) return false;
  }
  return true;
}

const READY_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 50;

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

/** Returns the simulators of a demo's data folder; an empty list for a real installation. */
export function simulatorSpecs(dataDirectory: string): SimulatorSpec[] {
  const setup = readDemoSetup(dataDirectory);
  if (!setup) return [];
  const { protocol, terminal, terminalControl, gateway } = setup;
  const { terminalState, gatewayDatabase, gatewayAccount } = demoFiles(dataDirectory);
  return [
    simulatorSpec(dataDirectory, "terminal-simulator", terminalState, {
      // Only the simulated ZVT terminal knows two-phase sales and their switch `vending`.
      ...(protocol === undefined ? { vending: true } : { protocol }),
      ...Object.fromEntries(neededBy(setup, "switches", dataDirectory)),
      tcp: `127.0.0.1:${terminal}`,
      control: terminalControl,
      state: terminalState,
    }),
    simulatorSpec(dataDirectory, "gateway-sandbox", gatewayAccount, {
      port: gateway,
      database: gatewayDatabase,
      // The account is passed in a file, because the list of processes would show the password.
      account: gatewayAccount,
    }),
  ];
}

/** Returns the address of the simulated terminal's control pages; undefined: no terminal runs. */
export function terminalControl(dataDirectory: string): string | undefined {
  const terminal = simulatorSpecs(dataDirectory).find(({ name }) => name === "terminal-simulator");
  if (!terminal || !existsSync(terminal.readyFile)) return undefined;
  const ready = z.object({ control: z.url() });
  return ready.parse(JSON.parse(readFileSync(terminal.readyFile, "utf8"))).control;
}

/** Starts a simulator, waits until it is ready, and returns its pid. Throws {@link ProgramExit}. */
export async function startSimulator(
  { readyFile, ...spec }: SimulatorSpec,
  { logDirectory, clock }: CommandContext,
): Promise<number> {
  // A killed simulator leaves its ready file, which would seem to be the new process's file.
  rmSync(readyFile, { force: true });
  const launched = await launchDetached(spec, logDirectory);
  await poll(clock, "simulator ready", ASK_EVERY_MS, READY_WITHIN_MS, () =>
    existsSync(readyFile) || launched.ended ? true : undefined,
  );
  if (existsSync(readyFile)) return launched.pid;
  const why = launched.ended ? "has stopped" : `is not ready after ${READY_WITHIN_MS / 1_000} s`;
  const says = `${spec.name} ${why}:\n${launched.output() || "it gave no reason"}`;
  throw new ProgramExit(exitCodes.unavailable, says);
}

/**
 * Whether a command without `--data` is for this folder's demo: it runs, and the installation does
 * not. If neither runs, for example after a failed restart, a command is for the demo until that is
 * stopped, if no installation is set up or it was stopped before the demo was set up. Another
 * user's demo has no known state: a command is for it if no installation is set up.
 */
export function isDemoTarget(folder: string, installation = defaultDataDirectory): boolean {
  const isSetUp = existsSync(join(installation, "config.txt"));
  if (isForbidden(folder)) return !isSetUp;
  if (readDemoSetup(folder) === undefined || anyRuns(installation)) return false;
  if (anyRuns(folder) || isStoppedOnPurpose(folder)) return anyRuns(folder);
  const stoppedMs = Date.parse(deliberateStop(installation) ?? "");
  return !isSetUp || stoppedMs < statSync(demoFiles(folder).ports).mtimeMs;
}

function anyRuns(dataDirectory: string): boolean {
  const specs = [...programSpecs(dataDirectory), ...simulatorSpecs(dataDirectory)];
  return specs.some((spec) => findProcesses(spec).length > 0);
}
