import { nexoKey } from "../../../src/nexo/index.ts";
import type { NexoTerminal } from "../../../src/simulator/terminal/nexo/machine/terminal.ts";
import {
  keyOf,
  type NexoOptions as Simulated,
} from "../../../src/simulator/terminal/nexo/options.ts";
import type { TerminalSimulator } from "../../../src/simulator/terminal/terminal-simulator.ts";
import type { NexoOptions } from "../../../src/tp-manager/terminal/nexo/nexo-options.ts";

/** The settings of a register that has the key and the root certificate of a simulated terminal. */
export function nexoOptions(
  simulator: TerminalSimulator<Simulated, NexoTerminal>,
  changes: Partial<NexoOptions> = {},
): NexoOptions {
  const { terminal, options, endpoints } = simulator;
  const { poiId } = terminal.parts;
  return {
    address: {
      host: "127.0.0.1",
      port: endpoints.tcp?.port ?? 0,
      roots: [terminal.rootCertificate],
      environment: options.behaviour.environment,
      serialNumber: options.device.serialNumber,
    },
    saleId: "kiosk",
    poiId,
    key: keyOf(options),
    paymentLimitMs: 2_000,
    busyWaitMs: 200,
    pollMs: 5_000,
    reconnectMs: 20,
    ...changes,
  };
}

/** Another key than that of the simulated terminal. */
export const anotherKey = (changes: { identifier?: string; version?: number; phrase?: string }) =>
  nexoKey(changes.identifier ?? "simulator", changes.version ?? 1, changes.phrase ?? "another");
