import { oneOf, type SwitchTable, ValueError, whole } from "../../switch-table.ts";
import type { Draft } from "../options.ts";
import { behaviourOf, deviceNames } from "./devices/devices.ts";
import { quirkNames } from "./devices/quirks.ts";
import { askNames } from "./machine/ask-list.ts";
import { type ZvtOptions, zvtDefaults } from "./options.ts";

type Table = SwitchTable<Draft<ZvtOptions>>;

/** The switches that only a ZVT terminal has, in the order of `--help`. */
export const zvtSwitches = {
  speeds: {
    argument: "LIST",
    description: "speeds that 08 40 can set; default 9600,19200,57600,115200",
    apply: (value, draft) => {
      const known = zvtDefaults.speeds;
      draft.speeds = value.split(",").map((speed) => {
        if (!known.includes(Number(speed))) throw new ValueError("right would be 9600,19200");
        return Number(speed);
      });
    },
  },
  "goods-pause-ms": milliseconds(
    "pace",
    "goodsPauseMs",
    "pause before 04 0F is repeated after 84 9C",
  ),
  "speed-change-ms": milliseconds(
    "pace",
    "speedChangeMs",
    "from the answer to 08 40 to the new speed",
  ),
  "t1-ms": milliseconds("timers", "t1Ms", "T1, between two bytes of a frame"),
  "t2-ms": milliseconds("timers", "t2Ms", "T2, from frame to ACK"),
  "t3-ms": milliseconds("timers", "t3Ms", "T3, from message to answer"),
  "t4-ms": milliseconds(
    "timers",
    "t4Ms",
    "T4, told to the register in 04 FF when it is whole minutes",
  ),
  receipts: {
    argument: "WHICH",
    description:
      "copies for a register that does not say which: both (default), customer, merchant",
    apply: (value, draft) => {
      draft.behaviour.receipts = oneOf(value, ["both", "customer", "merchant"] as const);
    },
  },
  vending: {
    description: "say at registration that this is a vending machine's terminal",
    apply: (_, draft) => {
      draft.behaviour.vending = true;
    },
  },
  "no-auto-reversal": {
    description: "keep unacknowledged payments, as newer terminals do (implies --knows-1f1f)",
    apply: (_, draft) => {
      draft.behaviour.autoReversal = false;
    },
  },
  "hides-unacknowledged": {
    description: "Repeat Receipt leaves out what --no-auto-reversal keeps unacknowledged",
    apply: (_, draft) => {
      draft.behaviour.tellsUnacknowledged = false;
    },
  },
  "knows-1f1f": {
    description: "reverse what the register missed by its tag 1F1F",
    apply: (_, draft) => {
      draft.behaviour.receiptNumberCheck = true;
    },
  },
  "knows-1f73": {
    description: "number messages when the register asks for it (tag 1F73)",
    apply: (_, draft) => {
      draft.behaviour.messageIds = true;
    },
  },
  device: {
    argument: "NAME",
    description: "be a real terminal with what it does otherwise; see below",
    apply: (value, draft) => {
      const { quirks = [], ...behaviour } = behaviourOf(oneOf(value, deviceNames));
      draft.behaviour = { ...behaviour, ...draft.behaviour };
      draft.behaviour.quirks = [...quirks, ...(draft.behaviour.quirks ?? [])];
    },
  },
  quirk: {
    argument: "NAME",
    multiple: true,
    description: "do one thing as real terminals do it; see below",
    apply: (value, draft) => {
      const others = draft.behaviour.quirks ?? [];
      draft.behaviour.quirks = [...others, oneOf(value, quirkNames)];
    },
  },
  ask: {
    argument: "KIND",
    multiple: true,
    description: "ask the register in every payment, where it permits that; see below",
    apply: (value, draft) => {
      const asks = draft.behaviour.asks ?? [];
      draft.behaviour.asks = [...asks, oneOf(value, askNames)];
    },
  },
  "require-registration": {
    description: "refuse payments with 84 6B until the register has registered",
    apply: (_, draft) => {
      draft.behaviour.registrationRequired = true;
    },
  },
} as const satisfies Table;

/** A duration among the timers or the pace of the simulated world. */
function milliseconds<G extends "timers" | "pace">(
  group: G,
  key: keyof (typeof zvtDefaults)[G],
  what: string,
): Table[string] {
  return {
    argument: "N",
    description: `${what}; default ${String(zvtDefaults[group][key])}`,
    apply: (value, draft) => {
      const values = draft[group] as Partial<Record<PropertyKey, number>>;
      values[key] = whole(value);
    },
  };
}
