import type { TerminalProtocol } from "../machine.ts";
import { nexoFaultTable } from "./faults.ts";
import { NexoParts } from "./machine/parts.ts";
import { NexoTerminal } from "./machine/terminal.ts";
import { type NexoOptions, nexoDefaults, nexoSwitches } from "./options.ts";

/** nexo Retailer as JSON over HTTPS, with or without a shared key. */
export const nexoProtocol: TerminalProtocol<NexoOptions, NexoTerminal> = {
  name: "nexo",
  title: "nexo",
  defaults: nexoDefaults,
  serialLine: { baudRate: 9_600, dataBits: 8, parity: "none", stopBits: 1 },
  serialNumber: { form: /^\d{1,20}$/, says: "at most 20 digits, the end of the terminal's POIID" },
  faults: nexoFaultTable,
  demands: [],
  switches: nexoSwitches,
  help: [],
  machine: (host) => new NexoTerminal(new NexoParts(host)),
};
