import { systemClock } from "../../shared/time.ts";
import { type FaultRequest, parseFault } from "./faults/fault-request.ts";
import {
  type Behaviour,
  type Device,
  defaultOptions,
  type Pace,
  type TerminalSimulatorOptions,
  type Timers,
} from "./options.ts";
import { TerminalSimulator } from "./terminal-simulator.ts";

/** What may be set for {@link startTerminalSimulator}; all else as on the command line. */
export type StartOptions = Partial<
  Omit<TerminalSimulatorOptions, "timers" | "pace" | "device" | "behaviour" | "faults">
> & {
  readonly timers?: Partial<Timers>;
  readonly pace?: Partial<Pace>;
  readonly device?: Partial<Device>;
  readonly behaviour?: Partial<Behaviour>;
  /** As in `--fault`, or checked already. */
  readonly faults?: readonly (string | FaultRequest)[];
};

/** Starts a terminal in this process; `main.ts` does the same as a program of its own. */
export async function startTerminalSimulator(given: StartOptions = {}): Promise<TerminalSimulator> {
  const simulator = new TerminalSimulator(complete(given));
  try {
    await simulator.open();
    return simulator;
  } catch (error) {
    await simulator.close();
    throw error;
  }
}

function complete(given: StartOptions): TerminalSimulatorOptions {
  return {
    ...defaultOptions,
    clock: systemClock,
    ...given,
    timers: { ...defaultOptions.timers, ...given.timers },
    pace: { ...defaultOptions.pace, ...given.pace },
    device: { ...defaultOptions.device, ...given.device },
    behaviour: { ...defaultOptions.behaviour, ...given.behaviour },
    faults: (given.faults ?? []).map((fault) =>
      typeof fault === "string" ? parseFault(fault) : fault,
    ),
  };
}
