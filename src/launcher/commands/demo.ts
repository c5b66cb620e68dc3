import { existsSync } from "node:fs";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { poll } from "../../shared/time.ts";
import { demoDataDirectory } from "../../shared/version-files.ts";
import { curlLine, paySample, quote } from "../demo/sample-payment.ts";
import {
  choosePorts,
  type DemoSetup,
  demoFiles,
  OPERATOR_LOGIN,
  readDemoSetup,
  writeDemoFiles,
} from "../demo/settings.ts";
import type { CommandContext, Output } from "../output.ts";
import { withLaunchLock } from "../processes/locks.ts";
import { programSpec } from "../processes/process-table.ts";
import { programState, type TpManagerStatus } from "../processes/programs.ts";
import { sayToTerminal } from "./simulate.ts";
import { startHere } from "./start.ts";
import { type InstallationStatus, readStatus } from "./status.ts";
import { stopHere } from "./stop.ts";

const CONNECTED_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 2_000;
const PORT_TRIES = 5;

/**
 * Everything on this machine, simulated terminal and gateway included, and one payment through it.
 * May be repeated: what runs well is left running, anything else is set up again. Without a
 * protocol the terminal speaks the usual one. Throws {@link ProgramExit}.
 */
export async function runDemo(context: CommandContext, name: string | undefined): Promise<number> {
  const { dataDirectory } = context.installation;
  const { output } = context;
  // The doctor knows the values of the setup file.
  const protocol = name && (await import("../doctor/check-config.ts")).readProtocol(name);
  output.text(`Demo in ${dataDirectory}`);
  const exitCode = await withLaunchLock(context, () => setUp(context, protocol));
  const setup = readDemoSetup(dataDirectory);
  if (exitCode !== exitCodes.ok || setup === undefined) return exitCode;
  // However a person has left it, the sample is paid: with power, cable, paper and a customer.
  await sayToTerminal(dataDirectory, "reset");
  await terminalConnected(context);
  await paySample(dataDirectory, setup, context.clock, output);
  printNext(dataDirectory, setup, context);
  return exitCodes.ok;
}

/** Leaves everything running; answers the exit code. */
async function setUp(context: CommandContext, protocol: string | undefined): Promise<number> {
  const { installation, clock, output } = context;
  const { dataDirectory } = installation;
  const files = demoFiles(dataDirectory);
  const earlier = readDemoSetup(dataDirectory);
  if (!earlier && existsSync(files.config)) {
    throw new ProgramExit(
      exitCodes.usage,
      `${files.config} belongs to an installation, not to a demo: choose another folder`,
    );
  }
  if (earlier) {
    const complete = Object.values({ ...files, gatewayDatabase: "", terminalState: "" })
      .filter((file) => file !== "")
      .every((file) => existsSync(file));
    const status = await readStatus(installation, clock);
    const same = earlier.protocol === protocol;
    if (complete && status.well && same) {
      output.text("It runs already.");
      return exitCodes.ok;
    }
    if (same) reportIncomplete(status, output);
    else output.note("The terminal is to speak another protocol: all of it is started again.");
    await stopHere(context, true);
  }
  return await startOnFreePorts(context, earlier, protocol);
}

/** Another program may take a port between the choice and its use: others are chosen then. */
async function startOnFreePorts(
  context: CommandContext,
  earlier: DemoSetup | undefined,
  protocol: string | undefined,
): Promise<number> {
  const { dataDirectory } = context.installation;
  let ports = await choosePorts(earlier);
  for (let tries = 1; ; tries++) {
    const faults: string[] = [];
    const held = { ...context.output, fault: (text: string) => void faults.push(text) };
    const setup = { ...ports, ...(protocol === undefined ? {} : { protocol }) };
    const kept = earlier !== undefined && JSON.stringify(setup) === JSON.stringify(earlier);
    writeDemoFiles(dataDirectory, setup, kept);
    const started = await startHere({ ...context, output: held }).catch((error: unknown) => {
      if (error instanceof ProgramExit) return error;
      throw error;
    });
    if (started === exitCodes.ok) return started;
    // A simulator that did start is no other program.
    await stopHere(context, true);
    const next = await choosePorts(ports);
    // Free again by now: the other program had it for a moment, as another demo that starts does.
    const why = started instanceof ProgramExit ? [...faults, started.message] : faults;
    const wasTaken = why.some((text) => text.includes("EADDRINUSE"));
    const isSame = JSON.stringify(next) === JSON.stringify(ports);
    if (tries === PORT_TRIES || (isSame && !wasTaken)) {
      for (const fault of faults) context.output.fault(fault);
      if (started instanceof ProgramExit) throw started;
      return started;
    }
    const ways = isSame ? "it starts once more" : "it starts on others";
    context.output.note(`Another program took a port of the demo meanwhile: ${ways}.`);
    ports = next;
  }
}

/** Says why what runs of it is stopped; says nothing when nothing runs. */
function reportIncomplete({ programs, simulators }: InstallationStatus, output: Output): void {
  const stopped = [
    ...programs.filter(({ state }) => state === "stopped").map(({ program }) => program),
    ...simulators.filter(({ pid }) => pid === null).map(({ name }) => name),
  ];
  if (stopped.length === programs.length + simulators.length) return;
  const why = stopped.length > 0 ? `${stopped.join(", ")} had stopped` : "a part does not answer";
  output.note(`Not all of it ran (${why}): all of it is stopped and started again.`);
}

/** A payment before that would be refused: a kiosk would ask /check first. */
async function terminalConnected({ installation, clock }: CommandContext): Promise<void> {
  const spec = programSpec("tp-manager", installation.dataDirectory);
  let terminal: TpManagerStatus["terminal"] | undefined;
  await poll(clock, "terminal connected", ASK_EVERY_MS, CONNECTED_WITHIN_MS, async () => {
    const now = await programState(spec, clock, ANSWER_WITHIN_MS);
    const status = now.state === "running" ? now.status : undefined;
    terminal = status?.program === "tp-manager" ? status.terminal : undefined;
    return terminal?.link === "connected" || undefined;
  });
  if (terminal?.link === "connected") return;
  const why = terminal ? `${terminal.link}: ${terminal.problem ?? "no reason"}` : "no answer";
  throw new ProgramExit(
    exitCodes.unavailable,
    `tp-manager has not reached the simulated terminal (${why}); see ${installation.logDirectory}`,
  );
}

function printNext(dataDirectory: string, setup: DemoSetup, { output }: CommandContext): void {
  const netrcFile = demoFiles(dataDirectory).netrc;
  const api = `http://127.0.0.1:${setup.localApi}`;
  const pay = (json: string): string => curlLine({ url: `${api}/payment`, netrcFile, json });
  const get = (path: string): string => curlLine({ url: `${api}${path}`, netrcFile });
  output.heading(`A terminal to touch, in a browser: http://127.0.0.1:${setup.terminalControl}/`);
  output.text(`The gateway's orders: http://127.0.0.1:${setup.gateway}/`);
  output.text(`The operator's console: http://localhost:${setup.console}/`);
  output.text(`Its login is ${OPERATOR_LOGIN}, its password stands in ${netrcFile}`);
  const orders = curlLine({ url: `http://127.0.0.1:${setup.gateway}/sandbox/orders` });
  const windows = process.platform === "win32";
  const folder = dataDirectory === demoDataDirectory ? "" : ` --data ${quote(dataDirectory)}`;
  const launch = (args: string) => `${windows ? "launch.cmd" : "./launch.sh"} ${args}${folder}`;
  const cancelled = windows
    ? `start /b ${pay('{"amount":15.00}')} & ${get("/cancel")}`
    : `${pay('{"amount":15.00}')} & sleep 1; ${get("/cancel")}; wait`;
  output.heading("It all keeps running. What to try next");
  const lines: ReadonlyArray<readonly [string, string]> = [
    ["Declined by the bank: the cents are its response code", pay('{"amount":12.05}')],
    ["Declined, not enough money", pay('{"amount":12.51}')],
    ["A customer who walks away (takes 5 seconds)", pay('{"amount":12.68}')],
    // Not every other protocol has a command for it.
    ...(setup.protocol === undefined
      ? [["Cancelled by the kiosk while the customer looks for a card", cancelled] as const]
      : []),
    ["An order; once more: the same answer, no second charge", pay('{"amount":9,"orderId":"A-1"}')],
    ["What became of an order", get("/payment/A-1")],
    ["The terminal's status", get("/check")],
    [
      "Its health; the address names the operator's login",
      curlLine({ url: `${api.replace("//", `//${OPERATOR_LOGIN}@`)}/health`, netrcFile }),
    ],
    ["A sample kiosk: prints an address for the browser, good once", launch("kiosk")],
    [
      "You are the customer; the card of the next payment; every other word",
      launch("simulate by-hand"),
    ],
    ["", launch("simulate approve --within 60")],
    ["", launch("simulate")],
    ["The orders that the gateway sandbox has", orders],
    ["The state of everything; the end", launch("status")],
    ["", launch("stop")],
  ];
  for (const [what, command] of lines) output.text(what ? `# ${what}\n${command}` : command);
  output.text(`# Logs and databases: ${dataDirectory}`);
  output.text(`# The demo's own passwords, made for this machine: ${netrcFile}`);
}
