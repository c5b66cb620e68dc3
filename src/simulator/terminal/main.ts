import { exitCodes } from "../../shared/process/exit-codes.ts";
import { systemClock } from "../../shared/time.ts";
import { announceReady } from "../ready-file.ts";
import { readCommandLine, type Start } from "./command-line.ts";
import { completed } from "./options.ts";
import { openTerminal, type TerminalSimulator } from "./terminal-simulator.ts";

const asked = readCommandLine(process.argv.slice(2));
switch (asked.ask) {
  case "help":
    process.stdout.write(asked.text);
    break;
  case "wrong":
    process.stderr.write(`${asked.problem}\nTry --help.\n`);
    process.exitCode = exitCodes.usage;
    break;
  case "start":
    await run(asked.options, asked.readyFile);
    break;
}

async function run({ protocol, options }: Start, readyFile: string | null): Promise<void> {
  let simulator: TerminalSimulator | undefined;
  try {
    simulator = await openTerminal(protocol, completed(protocol.defaults, systemClock, options));
    const { ways } = simulator;
    const { tcp: listening, pty, serial, control } = ways;
    for (const [name, way] of Object.entries({ listening, pty, serial, control })) {
      if (way) process.stdout.write(`${name} ${way}\n`);
    }
    announceReady(readyFile, { pid: process.pid, ...ways }, () => simulator?.close());
  } catch (error) {
    process.stderr.write(`cannot start: ${(error as Error).message}\n`);
    process.exitCode = exitCodes.unavailable;
    await simulator?.close();
  }
}
