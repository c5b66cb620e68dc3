import { oneOf, type SwitchTable, whole } from "../../switch-table.ts";
import type { Draft, SerialLine } from "../options.ts";
import { type ConcertOptions, fixedDefaults, reports, variants } from "./options.ts";

type Table = SwitchTable<Draft<ConcertOptions>>;

/** docs/concert.md 2.1 */
export const serialLines = {
  "7E1": { baudRate: 9_600, dataBits: 7, parity: "even", stopBits: 1 },
  "8N1": { baudRate: 9_600, dataBits: 8, parity: "none", stopBits: 1 },
} as const satisfies Record<string, SerialLine>;
const usualLine = serialLines["7E1"];

/** Switches that terminals of both families have, in the order of `--help`. */
const common = {
  line: {
    argument: "SETTING",
    description: "data bits, parity and stop bits of --serial: 7E1 (default), 8N1",
    apply: (value, draft) => {
      const { dataBits, parity } = serialLines[oneOf(value, ["7E1", "8N1"] as const)];
      draft.serial = { ...(draft.serial ?? { path: "", ...usualLine }), dataBits, parity };
    },
  },
  report: {
    argument: "HOW",
    description: "card number in the reply: masked (default), clear (made up), blank",
    apply: (value, draft) => {
      draft.behaviour.report = oneOf(value, reports);
    },
  },
  "enq-tries": {
    argument: "N",
    description: `how often ENQ asks to tell, 0 without end; default ${fixedDefaults.enqTries}`,
    apply: (value, draft) => {
      draft.enqTries = whole(value);
    },
  },
  "answer-ms": pause("answerMs", "how long ACK to our ENQ and to our frame is waited for"),
  "session-ms": pause("sessionMs", "a register's session that stands still is over"),
  "silence-ms": pause("silenceMs", "a frame that stands still is cut"),
  "enq-pause-ms": pause("enqPauseMs", "between two tries of ENQ"),
} as const satisfies Table;

export const fixedSwitches = {
  variant: {
    argument: "NAME",
    description: "requests beside those of E: e (none), e-plus (default), e-ticket",
    apply: (value, draft) => {
      draft.behaviour.variant = oneOf(value, variants);
    },
  },
  ...common,
} as const satisfies Table;

export const taggedSwitches = {
  session: {
    description: "speak in sessions of ENQ, frames and EOT, on TCP too; default bare messages",
    apply: (_, draft) => {
      draft.sessions = true;
    },
  },
  ...common,
  "gap-ms": pause("gapMs", "without sessions: silence that ends a message"),
} as const satisfies Table;

function pause(key: keyof (typeof fixedDefaults)["timers"], what: string): Table[string] {
  return {
    argument: "N",
    description: `${what}; default ${fixedDefaults.timers[key]}`,
    apply: (value, draft) => {
      draft.timers[key] = whole(value);
    },
  };
}
