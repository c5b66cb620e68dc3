import { systemClock } from "../../../../src/shared/time.ts";
import {
  type FaultRequest,
  parseFault,
} from "../../../../src/simulator/terminal/faults/fault-kinds.ts";
import {
  completed,
  type StartOptions as Given,
} from "../../../../src/simulator/terminal/options.ts";
import {
  openTerminal,
  type TerminalSimulator,
} from "../../../../src/simulator/terminal/terminal-simulator.ts";
import { zvtFaults } from "../../../../src/simulator/terminal/zvt/faults.ts";
import type { Terminal } from "../../../../src/simulator/terminal/zvt/machine/terminal.ts";
import type { ZvtOptions } from "../../../../src/simulator/terminal/zvt/options.ts";
import { zvtProtocol } from "../../../../src/simulator/terminal/zvt/zvt-protocol.ts";
import { freePort } from "../../../support/programs/installation.ts";

export type ZvtSimulator = TerminalSimulator<ZvtOptions, Terminal>;

export type StartOptions = Omit<Given<ZvtOptions>, "faults"> & {
  /** As in `--fault`, or checked already. */
  readonly faults?: readonly (string | FaultRequest)[];
};

/**
 * Starts a ZVT terminal in this process; `main.ts` does the same as a program of its own. Where any
 * port will do, it is one that nobody else is given while the terminal is unplugged.
 */
export async function startTerminalSimulator(given: StartOptions = {}): Promise<ZvtSimulator> {
  const faults = (given.faults ?? []).map((fault) =>
    typeof fault === "string" ? parseFault(zvtFaults, fault) : fault,
  );
  const tcp = given.tcp?.port === 0 && { tcp: { ...given.tcp, port: await freePort() } };
  const start = { ...given, ...tcp, faults };
  const options = completed<ZvtOptions>(zvtProtocol.defaults, systemClock, start);
  return await openTerminal(zvtProtocol, options);
}
