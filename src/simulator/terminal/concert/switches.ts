import { flag, oneOf, option, type SwitchTable, whole } from "../../switch-table.ts";
import type { Draft, SerialLine } from "../options.ts";
import { durations, groupOption } from "../switches.ts";
import { type ConcertOptions, fixedDefaults, reports, variants } from "./options.ts";

type Table = SwitchTable<Draft<ConcertOptions>>;

const behaviour = groupOption<ConcertOptions, "behaviour">("behaviour");
const pause = durations<ConcertOptions, "timers">("timers", fixedDefaults);

/** docs/concert.md 2.1 */
export const serialLines = {
  "7E1": { baudRate: 9_600, dataBits: 7, parity: "even", stopBits: 1 },
  "8N1": { baudRate: 9_600, dataBits: 8, parity: "none", stopBits: 1 },
} as const satisfies Record<string, SerialLine>;
const usualLine = serialLines["7E1"];

/** Switches that terminals of both families have, in the order of `--help`. */
const common: Table = {
  line: option(
    "SETTING",
    "data bits, parity and stop bits of --serial: 7E1 (default), 8N1",
    (value, { serial = { path: "", ...usualLine } }) => {
      const { dataBits, parity } = serialLines[oneOf(value, ["7E1", "8N1"] as const)];
      return { serial: { path: "", ...usualLine, ...serial, dataBits, parity } };
    },
  ),
  report: behaviour(
    "HOW",
    "card number in the reply: masked (default), clear (made up), blank",
    (value) => ({ report: oneOf(value, reports) }),
  ),
  "enq-tries": option(
    "N",
    `how often ENQ asks to tell, 0 without end; default ${fixedDefaults.enqTries}`,
    (value) => ({ enqTries: whole(value) }),
  ),
  "answer-ms": pause("answerMs", "how long ACK to our ENQ and to our frame is waited for"),
  "session-ms": pause("sessionMs", "a register's session that stands still is over"),
  "silence-ms": pause("silenceMs", "a frame that stands still is cut"),
  "enq-pause-ms": pause("enqPauseMs", "between two tries of ENQ"),
};

export const fixedSwitches: Table = {
  variant: behaviour(
    "NAME",
    "requests beside those of E: e (none), e-plus (default), e-ticket",
    (value) => ({ variant: oneOf(value, variants) }),
  ),
  ...common,
};

export const taggedSwitches: Table = {
  session: flag(
    "speak in sessions of ENQ, frames and EOT, on TCP too; default bare messages",
    () => ({ sessions: true }),
  ),
  ...common,
  "gap-ms": pause("gapMs", "without sessions: silence that ends a message"),
};
