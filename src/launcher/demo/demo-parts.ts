import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { programFile } from "../../shared/version-files.ts";
import type { Part } from "../processes/part.ts";
import { demoFiles, readDemoSetup } from "./demo-settings.ts";

/** A simulator: writes its ready file when it can be used, and is stopped by a signal. */
export interface SimulatorPart extends Part {
  readonly readyFile: string;
}

/** Where a person and a shell find the running terminal; undefined: none runs. */
export function terminalControl(dataDirectory: string): string | undefined {
  const terminal = demoParts(dataDirectory).find(({ name }) => name === "terminal-simulator");
  if (!terminal || !existsSync(terminal.readyFile)) return undefined;
  const ready = z.object({ control: z.url() });
  return ready.parse(JSON.parse(readFileSync(terminal.readyFile, "utf8"))).control;
}

/** The simulators of a demo's data folder; none for a real installation. */
export function demoParts(dataDirectory: string): SimulatorPart[] {
  const setup = readDemoSetup(dataDirectory);
  if (!setup) return [];
  const { protocol, ...ports } = setup;
  const files = demoFiles(dataDirectory);
  const terminalReady = join(dataDirectory, "run", "terminal-simulator.ready");
  const gatewayReady = join(dataDirectory, "run", "gateway-sandbox.ready");
  return [
    {
      name: "terminal-simulator",
      script: programFile("terminal-simulator"),
      args: [
        // A terminal of ZVT for goods; the others know no two-phase sale, and no such switch.
        ...(protocol === undefined ? ["--vending"] : ["--protocol", protocol]),
        "--tcp",
        `127.0.0.1:${ports.terminal}`,
        "--control",
        String(ports.terminalControl),
        "--state",
        files.terminalState,
        "--ready-file",
        terminalReady,
      ],
      mark: files.terminalState,
      presence: terminalReady,
      readyFile: terminalReady,
    },
    {
      name: "gateway-sandbox",
      script: programFile("gateway-sandbox"),
      args: [
        "--port",
        String(ports.gateway),
        "--database",
        files.gatewayDatabase,
        // A file, not switches: the password would show in the list of processes.
        "--account",
        files.gatewayAccount,
        "--ready-file",
        gatewayReady,
      ],
      mark: files.gatewayAccount,
      presence: gatewayReady,
      readyFile: gatewayReady,
    },
  ];
}
