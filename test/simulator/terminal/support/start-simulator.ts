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

export type ZvtSimulator = TerminalSimulator<ZvtOptions, Terminal>;

export type StartOptions = Omit<Given<ZvtOptions>, "faults"> & {
  /** As in `--fault`, or checked already. */
  readonly faults?: readonly (string | FaultRequest)[];
};

/** Starts a ZVT terminal in this process; `main.ts` does the same as a program of its own. */
export function startTerminalSimulator(given: StartOptions = {}): Promise<ZvtSimulator> {
  const faults = (given.faults ?? []).map((fault) =>
    typeof fault === "string" ? parseFault(zvtFaults, fault) : fault,
  );
  const options = completed<ZvtOptions>(zvtProtocol.defaults, systemClock, { ...given, faults });
  return openTerminal(zvtProtocol, options);
}
