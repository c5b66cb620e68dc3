import { flag, oneOf, option, type SwitchTable, ValueError } from "../../switch-table.ts";
import type { HelpSection, TerminalProtocol } from "../machine.ts";
import type { Draft } from "../options.ts";
import { members } from "../switches.ts";
import { demands } from "./demands.ts";
import { zvtFaults } from "./faults.ts";
import { Parts } from "./machine/parts.ts";
import { Terminal } from "./machine/terminal.ts";
import {
  askKinds,
  askNames,
  deviceNames,
  devices,
  quirkNames,
  quirks,
  type ZvtOptions,
  zvtDefaults,
} from "./options.ts";

const behaviour = members<ZvtOptions, "behaviour">("behaviour", zvtDefaults);
const pace = members<ZvtOptions, "pace">("pace", zvtDefaults);
const timer = members<ZvtOptions, "timers">("timers", zvtDefaults);

function does(change: Partial<ZvtOptions["behaviour"]>) {
  return flag<Draft<ZvtOptions>>((draft) => ({ behaviour: { ...draft.behaviour, ...change } }));
}

const zvtSwitches: SwitchTable<Draft<ZvtOptions>> = {
  speeds: option("LIST", (value) => ({
    speeds: value.split(",").map((speed) => {
      if (zvtDefaults.speeds.includes(Number(speed))) return Number(speed);
      throw new ValueError("a right value is 9600,19200, for example");
    }),
  })),
  "goods-pause-ms": pace("goodsPauseMs"),
  "speed-change-ms": pace("speedChangeMs"),
  "t1-ms": timer("t1Ms"),
  "t2-ms": timer("t2Ms"),
  "t3-ms": timer("t3Ms"),
  "t4-ms": timer("t4Ms"),
  receipts: behaviour("receipts", "WHICH", (value) =>
    oneOf(value, ["both", "customer", "merchant"]),
  ),
  vending: does({ vending: true }),
  "no-auto-reversal": does({ autoReversal: false }),
  "hides-unacknowledged": does({ repeatsWithoutAck: false }),
  "knows-1f1f": does({ receiptNumberCheck: true }),
  "knows-1f73": does({ messageIds: true }),
  device: option("NAME", (value, { behaviour: before }) => {
    const { quirks: own, behaviour: usual } = devices[oneOf(value, deviceNames)];
    return { behaviour: { ...usual, ...before, quirks: [...own, ...(before.quirks ?? [])] } };
  }),
  quirk: {
    ...behaviour("quirks", "NAME", (value, { quirks = [] }) => [
      ...quirks,
      oneOf(value, quirkNames),
    ]),
    multiple: true,
  },
  ask: {
    ...behaviour("asks", "KIND", (value, { asks = [] }) => [...asks, oneOf(value, askNames)]),
    multiple: true,
  },
  "require-registration": does({ registrationRequired: true }),
};

const help: readonly HelpSection[] = [
  {
    title: "Terminals (--device)",
    rows: Object.entries(devices).map(([key, { name, quirks: own }]) => [
      key,
      name,
      own.join(", "),
    ]),
  },
  { title: "Deviations of real terminals (--quirk)", rows: Object.entries(quirks) },
  {
    title: "Questions (--ask), each only where tag 26 of the registration permits it",
    rows: Object.entries(askKinds).map(([name, { description }]) => [name, description]),
  },
];

export const zvtProtocol: TerminalProtocol<ZvtOptions, Terminal> = {
  name: "zvt",
  title: "ZVT",
  defaults: zvtDefaults,
  // The usual settings of a serial line of ZVT (docs/zvt.md 2.1).
  serialLine: { baudRate: 9_600, dataBits: 8, parity: "none", stopBits: 2 },
  serialNumber: { form: /^(\d\d){1,10}$/, says: "an even number of digits, at most 20" },
  faults: zvtFaults,
  demands,
  switches: zvtSwitches,
  help,
  machine: (host) => new Terminal(new Parts(host)),
};
