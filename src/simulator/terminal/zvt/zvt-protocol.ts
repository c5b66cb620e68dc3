import type { HelpSection, TerminalProtocol } from "../protocol.ts";
import { askKinds } from "./asks/ask-list.ts";
import { demands } from "./demands.ts";
import { devices } from "./devices/devices.ts";
import { quirks } from "./devices/quirks.ts";
import { zvtFaults } from "./faults/fault-table.ts";
import { Parts } from "./machine/parts.ts";
import { Terminal } from "./machine/terminal.ts";
import { type ZvtOptions, zvtDefaults } from "./options.ts";
import { zvtSwitches } from "./switches.ts";

const help: readonly HelpSection[] = [
  {
    title: "Terminals (--device)",
    rows: Object.entries(devices).map(([name, { name: title, quirks: those }]) => [
      name,
      title,
      those.join(", "),
    ]),
  },
  { title: "What they do otherwise (--quirk)", rows: Object.entries(quirks) },
  {
    title: "Questions (--ask), each only where tag 26 of the registration permits it",
    rows: Object.entries(askKinds).map(([name, { description }]) => [name, description]),
  },
];

export const zvtProtocol: TerminalProtocol<ZvtOptions, Terminal> = {
  name: "zvt",
  defaults: zvtDefaults,
  // docs/zvt.md 2.1
  serialLine: { baudRate: 9_600, dataBits: 8, parity: "none", stopBits: 2 },
  faults: zvtFaults,
  demands,
  switches: zvtSwitches,
  help,
  machine: (host) => new Terminal(new Parts(host)),
};
