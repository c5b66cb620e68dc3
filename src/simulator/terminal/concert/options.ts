import { flag, oneOf, option, type SwitchTable, whole } from "../../switch-table.ts";
import {
  type Behaviour,
  type Draft,
  defaultOptions,
  type SerialLine,
  type TerminalOptions,
} from "../options.ts";
import { durations, groupOption } from "../switches.ts";

/** Bodies of fixed fields that a terminal knows, besides those of E (docs/concert.md 3.1). */
const variants = ["e", "e-plus", "e-ticket"] as const;
export type Variant = (typeof variants)[number];

/** How a terminal shows the card number in its reply (docs/concert.md 3.2). */
export const reports = ["masked", "clear", "blank"] as const;
export type Report = (typeof reports)[number];

/** Everything that can be set of a simulated terminal of these protocols. */
export interface ConcertOptions extends TerminalOptions {
  /** The dialogue of ENQ, frames and EOT; false: messages as they are. */
  readonly sessions: boolean;
  readonly timers: Timers;
  /** How often the terminal sends ENQ to report a result; 0 without end. */
  readonly enqTries: number;
  readonly behaviour: ConcertBehaviour;
}

/** Times of this simulator: those of real terminals are not public (docs/concert.md 2.5). */
export interface Timers {
  /** For the answer to the terminal's ENQ and to its frame. */
  readonly answerMs: number;
  /** A register's session that stands still so long is over, and so is an incomplete message. */
  readonly sessionMs: number;
  /** A frame that stands still so long is cut. */
  readonly silenceMs: number;
  /** Between two tries of ENQ. */
  readonly enqPauseMs: number;
  /** Without sessions: the silence that ends a message with all members that it needs. */
  readonly gapMs: number;
}

interface ConcertBehaviour extends Behaviour {
  readonly variant: Variant;
  readonly report: Report;
}

const common: Omit<ConcertOptions, "clock" | "sessions"> = {
  ...defaultOptions,
  timers: { answerMs: 3_000, sessionMs: 3_000, silenceMs: 1_000, enqPauseMs: 1_000, gapMs: 100 },
  enqTries: 3,
  behaviour: { ...defaultOptions.behaviour, variant: "e-plus", report: "masked" },
};

export const fixedDefaults: Omit<ConcertOptions, "clock"> = {
  ...common,
  tcp: { host: "127.0.0.1", port: 8_887 },
  sessions: true,
};

/** docs/concert.md 4.7 */
export const taggedDefaults: Omit<ConcertOptions, "clock"> = {
  ...common,
  tcp: { host: "127.0.0.1", port: 8_888 },
  sessions: false,
};

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
const commonSwitches: Table = {
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
    `how often ENQ asks to speak, 0 without end; default ${fixedDefaults.enqTries}`,
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
    "requests in addition to those of E: e (none), e-plus (default), e-ticket",
    (value) => ({ variant: oneOf(value, variants) }),
  ),
  ...commonSwitches,
};

export const taggedSwitches: Table = {
  session: flag(
    "speak in sessions of ENQ, frames and EOT, on TCP too; default bare messages",
    () => ({ sessions: true }),
  ),
  ...commonSwitches,
  "gap-ms": pause("gapMs", "without sessions: silence that ends a message"),
};
