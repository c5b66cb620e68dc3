import { list, oneOf, option, type SwitchTable, ValueError } from "../../switch-table.ts";
import type { HelpSection, TerminalProtocol } from "../machine.ts";
import type { Draft } from "../options.ts";
import { durations, groupFlag, groupOption } from "../switches.ts";
import { demands } from "./demands.ts";
import { zvtFaults } from "./faults.ts";
import { Parts } from "./machine/parts.ts";
import { Terminal } from "./machine/terminal.ts";
import {
  askKinds,
  askNames,
  behaviourOf,
  deviceNames,
  devices,
  quirkNames,
  quirks,
  type ZvtOptions,
  zvtDefaults,
} from "./options.ts";

const behaviour = groupOption<ZvtOptions, "behaviour">("behaviour");
const does = groupFlag<ZvtOptions, "behaviour">("behaviour");
const pace = durations<ZvtOptions, "pace">("pace", zvtDefaults);
const timer = durations<ZvtOptions, "timers">("timers", zvtDefaults);

/** The switches that only a ZVT terminal has, in the order of `--help`. */
const zvtSwitches: SwitchTable<Draft<ZvtOptions>> = {
  speeds: option("LIST", "speeds that 08 40 can set; default 9600,19200,57600,115200", (value) => ({
    speeds: value.split(",").map((speed) => {
      if (zvtDefaults.speeds.includes(Number(speed))) return Number(speed);
      throw new ValueError("right would be 9600,19200");
    }),
  })),
  "goods-pause-ms": pace("goodsPauseMs", "pause before 04 0F is repeated after 84 9C"),
  "speed-change-ms": pace("speedChangeMs", "from the answer to 08 40 to the new speed"),
  "t1-ms": timer("t1Ms", "T1, between two bytes of a frame"),
  "t2-ms": timer("t2Ms", "T2, from frame to ACK"),
  "t3-ms": timer("t3Ms", "T3, from message to answer"),
  "t4-ms": timer("t4Ms", "T4, sent to the register in 04 FF when it is whole minutes"),
  receipts: behaviour(
    "WHICH",
    "copies for a register that does not say which: both (default), customer, merchant",
    (value) => ({ receipts: oneOf(value, ["both", "customer", "merchant"] as const) }),
  ),
  vending: does("say at registration that this is a vending machine's terminal", {
    vending: true,
  }),
  "no-auto-reversal": does(
    "keep unacknowledged payments, as newer terminals do (implies --knows-1f1f)",
    { autoReversal: false },
  ),
  "hides-unacknowledged": does(
    "Repeat Receipt leaves out what --no-auto-reversal keeps unacknowledged",
    { repeatsUnacknowledged: false },
  ),
  "knows-1f1f": does("reverse what the register missed by its tag 1F1F", {
    receiptNumberCheck: true,
  }),
  "knows-1f73": does("number messages when the register asks for it (tag 1F73)", {
    messageIds: true,
  }),
  device: behaviour(
    "NAME",
    "be a real terminal with what it does otherwise; see below",
    (value, before) => {
      const { quirks = [], ...others } = behaviourOf(oneOf(value, deviceNames));
      return { ...others, ...before, quirks: [...quirks, ...(before.quirks ?? [])] };
    },
  ),
  quirk: list(
    "NAME",
    "do one thing as real terminals do it; see below",
    (value, { behaviour: before }) => {
      const quirks = [...(before.quirks ?? []), oneOf(value, quirkNames)];
      return { behaviour: { ...before, quirks } };
    },
  ),
  ask: list(
    "KIND",
    "ask the register in every payment, where it permits that; see below",
    (value, { behaviour: before }) => {
      const asks = [...(before.asks ?? []), oneOf(value, askNames)];
      return { behaviour: { ...before, asks } };
    },
  ),
  "require-registration": does("refuse payments with 84 6B until the register has registered", {
    registrationRequired: true,
  }),
};

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
