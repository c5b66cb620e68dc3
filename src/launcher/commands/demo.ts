import { existsSync } from "node:fs";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { poll } from "../../shared/time.ts";
import { demoDataDirectory } from "../../shared/version-files.ts";
import { curlLine, paySample } from "../demo/sample-payment.ts";
import {
  choosePorts,
  type DemoSetup,
  demoFiles,
  OPERATOR_LOGIN,
  readDemoSetup,
  writeDemoFiles,
  writeNetrcFiles,
} from "../demo/settings.ts";
import { type CommandContext, type Output, shellArgument } from "../output.ts";
import { withLaunchLock } from "../processes/locks.ts";
import { programSpec } from "../processes/process-table.ts";
import { programState, reportOf, type TpManagerStatus } from "../processes/programs.ts";
import texts from "../texts-en.json" with { type: "json" };
import { sayToTerminal } from "./simulate.ts";
import { startHere } from "./start.ts";
import { type InstallationStatus, readStatus } from "./status.ts";
import { stopHere } from "./stop.ts";

const CONNECTED_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 2_000;
const PORT_TRIES = 5;

/**
 * Starts both programs with a simulated terminal and gateway, makes one payment, and returns the
 * exit code. A demo whose parts all run is left running; any other demo is set up again. Without a
 * protocol the terminal speaks ZVT. Throws {@link ProgramExit}.
 */
export async function runDemo(context: CommandContext, name: string | undefined): Promise<number> {
  const { dataDirectory, output } = context;
  // The doctor's code is loaded because it knows which protocols the setup file accepts.
  const protocol = name && (await import("../doctor/check-config.ts")).readProtocol(name);
  output.text(`Demo in ${dataDirectory}`);
  const exitCode = await withLaunchLock(context, () => setUp(context, protocol));
  const setup = readDemoSetup(dataDirectory);
  if (exitCode !== exitCodes.ok || setup === undefined) return exitCode;
  // The simulated terminal may still be without power, cable, paper or customer from earlier use.
  await sayToTerminal(dataDirectory, "reset");
  await terminalConnected(context);
  await paySample(context, setup);
  printNext(context, setup);
  return exitCodes.ok;
}

async function setUp(context: CommandContext, protocol: string | undefined): Promise<number> {
  const { dataDirectory, clock, output } = context;
  const files = demoFiles(dataDirectory);
  const earlier = readDemoSetup(dataDirectory);
  if (!earlier && existsSync(files.config)) {
    const why = `${files.config} belongs to an installation, not to a demo: choose another folder`;
    throw new ProgramExit(exitCodes.usage, why);
  }
  if (earlier) {
    const complete = [files.config, files.gatewayAccount].every((file) => existsSync(file));
    const status = await readStatus(dataDirectory, clock);
    const same = earlier.protocol === protocol;
    if (complete && status.well && same) {
      // An older version wrote both logins into one file.
      writeNetrcFiles(dataDirectory);
      output.text("It runs already.");
      return exitCodes.ok;
    }
    if (same) reportIncomplete(status, output);
    else output.note("The protocol has changed, so the whole demo is started again.");
    await stopHere(context, true);
  }
  return await startOnFreePorts(context, earlier, protocol);
}

/** Starts the demo; starts it again, on other ports, if another program took one of its ports. */
async function startOnFreePorts(
  context: CommandContext,
  earlier: DemoSetup | undefined,
  protocol: string | undefined,
): Promise<number> {
  const { dataDirectory, output } = context;
  let ports = await choosePorts(earlier, output);
  for (let tries = 1; ; tries++) {
    const faults: string[] = [];
    const held = { ...output, fault: (text: string) => void faults.push(text) };
    const setup = { ...ports, ...(protocol === undefined ? {} : { protocol }) };
    writeDemoFiles(dataDirectory, setup);
    const started = await startHere({ ...context, output: held }).catch((error: unknown) => {
      if (error instanceof ProgramExit) return error;
      throw error;
    });
    if (started === exitCodes.ok) return started;
    // The simulators that have started are stopped, because the next attempt needs their ports.
    await stopHere(context, true);
    const next = await choosePorts(ports, output);
    // After EADDRINUSE the same ports may be free again, because another demo held them briefly.
    const why = started instanceof ProgramExit ? [...faults, started.message] : faults;
    const wasTaken = why.some((text) => text.includes("EADDRINUSE"));
    const isSame = JSON.stringify(next) === JSON.stringify(ports);
    if (tries === PORT_TRIES || (isSame && !wasTaken)) {
      for (const fault of faults) output.fault(fault);
      if (started instanceof ProgramExit) throw started;
      return started;
    }
    output.note("Another program has begun to use a port of the demo: it is started once more.");
    ports = next;
  }
}

function reportIncomplete({ programs, simulators }: InstallationStatus, output: Output): void {
  const stopped = [
    ...programs.filter(({ state }) => state === "stopped").map(({ program }) => program),
    ...simulators.filter(({ pid }) => pid === null).map(({ name }) => name),
  ];
  if (stopped.length === programs.length + simulators.length) return;
  const why = stopped.length > 0 ? `${stopped.join(", ")} had stopped` : "a part does not answer";
  output.note(`The demo was incomplete (${why}), so the whole demo is stopped and started again.`);
}

/** Waits until tp-manager has reached the terminal, because it refuses payments before that. */
async function terminalConnected(context: CommandContext): Promise<void> {
  const { dataDirectory, logDirectory, clock } = context;
  const spec = programSpec("tp-manager", dataDirectory);
  let terminal: TpManagerStatus["terminal"] | undefined;
  await poll(clock, "terminal connected", ASK_EVERY_MS, CONNECTED_WITHIN_MS, async () => {
    terminal = reportOf(await programState(spec, clock, ANSWER_WITHIN_MS))?.terminal;
    return terminal?.link === "connected" || undefined;
  });
  if (terminal?.link === "connected") return;
  const why = terminal ? `${terminal.link}: ${terminal.problem ?? "no reason"}` : "no answer";
  const says = `tp-manager has not reached the simulated terminal (${why}); see ${logDirectory}`;
  throw new ProgramExit(exitCodes.unavailable, says);
}

function printNext({ dataDirectory, output }: CommandContext, setup: DemoSetup): void {
  const { netrc: netrcFile, operatorNetrc } = demoFiles(dataDirectory);
  const api = `http://127.0.0.1:${setup.localApi}`;
  const pay = (json: string): string => curlLine({ url: `${api}/payment`, netrcFile, json });
  const get = (path: string): string => curlLine({ url: `${api}${path}`, netrcFile });
  const cancel = get("/cancel").replace("-s", "-s -X POST");
  output.heading(`A terminal to touch, in a browser: http://127.0.0.1:${setup.terminalControl}/`);
  output.text(`The gateway's orders: http://127.0.0.1:${setup.gateway}/`);
  output.text(`The operator's console: http://localhost:${setup.console}/`);
  output.text(`Its login is ${OPERATOR_LOGIN}, its password stands in ${operatorNetrc}`);
  const windows = process.platform === "win32";
  const folder =
    dataDirectory === demoDataDirectory ? "" : ` --data ${shellArgument(dataDirectory)}`;
  const launch = (args: string) => `${windows ? "launch.cmd" : "./launch.sh"} ${args}${folder}`;
  const cancelled = windows
    ? `start /b ${pay('{"amount":15.00}')} & ${cancel}`
    : `${pay('{"amount":15.00}')} & sleep 1; ${cancel}; wait`;
  const simulated = ["simulate by-hand", "simulate approve --within 60", "simulate"];
  const commands: Record<keyof typeof texts.demoNext, string | undefined> = {
    declined: pay('{"amount":12.05}'),
    noMoney: pay('{"amount":12.51}'),
    walksAway: pay('{"amount":12.68}'),
    // ZVT, the default protocol, can cancel a payment; some other protocols cannot.
    cancelled: setup.protocol === undefined ? cancelled : undefined,
    twice: pay('{"amount":9,"orderId":"A-1"}'),
    became: get("/payment/A-1"),
    terminal: get("/check"),
    health: curlLine({ url: `${api}/health`, netrcFile: operatorNetrc }),
    kiosk: launch("kiosk"),
    customer: simulated.map(launch).join("\n"),
    orders: curlLine({ url: `http://127.0.0.1:${setup.gateway}/sandbox/orders` }),
    end: [launch("status"), launch("stop")].join("\n"),
  };
  output.heading("It all keeps running. What to try next");
  for (const [name, what] of Object.entries(texts.demoNext)) {
    const command = commands[name as keyof typeof commands];
    if (command !== undefined) output.text(`# ${what}\n${command}`);
  }
  output.text(`# Logs and databases: ${dataDirectory}`);
  output.text(`# The demo's own passwords, made for this machine: ${netrcFile}, ${operatorNetrc}`);
}
