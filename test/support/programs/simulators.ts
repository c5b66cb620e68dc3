import { existsSync, rmSync } from "node:fs";
import { systemClock } from "../../../src/shared/time.ts";
import { startGatewaySandbox } from "../../../src/simulator/gateway/sandbox.ts";
import { readCommandLine as readSandbox } from "../../../src/simulator/gateway/switches.ts";
import type { Asked } from "../../../src/simulator/switch-table.ts";
import { readCommandLine as readTerminal } from "../../../src/simulator/terminal/command-line.ts";
import { completed } from "../../../src/simulator/terminal/options.ts";
import { openTerminal } from "../../../src/simulator/terminal/terminal-simulator.ts";
import { ChildProgram } from "./child-program.ts";

export interface TerminalEndpoints {
  /** tcp://host:port */
  readonly tcp: string | null;
  readonly tcpPort: number | null;
  readonly pty: string | null;
  readonly control: string;
}

/** A simulator that listens. Only a program can be ended by a signal; the other one closes. */
export interface Simulator<Ways> {
  readonly ways: Ways;
  end(signal?: NodeJS.Signals): Promise<unknown>;
}

/** The terminal's or the gateway's `main.ts` with these switches, as a process of its own. */
export async function simulatorProgram<Ways>(
  of: "terminal" | "gateway",
  switches: readonly string[],
  readyFile: string,
): Promise<Simulator<Ways>> {
  if (existsSync(readyFile)) rmSync(readyFile);
  const given = [...switches, "--ready-file", readyFile];
  const program = new ChildProgram(`simulator/${of}/main.ts`, given);
  const ways = await program.readyFile<Ways>(readyFile);
  return { ways, end: (signal) => program.end(signal) };
}

/** A simulated terminal in this process, with the switches and the bank of its program. */
export async function terminalHere(
  switches: readonly string[],
): Promise<Simulator<TerminalEndpoints>> {
  const { protocol, options } = toStart(readTerminal(switches));
  const simulator = await openTerminal(
    protocol,
    completed(protocol.defaults, systemClock, options),
  );
  const ways = { ...simulator.ways, control: simulator.controlUrl ?? "" };
  return { ways, end: () => simulator.close() };
}

/** A sandbox of the gateway in this process, with the switches and the database of its program. */
export async function sandboxHere(
  switches: readonly string[],
): Promise<Simulator<{ url: string }>> {
  const sandbox = await startGatewaySandbox(toStart(readSandbox(switches)));
  return { ways: { url: sandbox.url }, end: () => sandbox.close() };
}

function toStart<T>(asked: Asked<T>): T {
  if (asked.ask === "start") return asked.options;
  throw new Error(asked.ask === "wrong" ? asked.problem : asked.text);
}
