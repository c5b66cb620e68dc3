import { flag, oneOf, option, type SwitchTable, whole } from "../../switch-table.ts";
import { type Draft, defaultOptions, type SerialLine, type TerminalOptions } from "../options.ts";
import { members } from "../switches.ts";

/** The forms of fixed-field requests; every terminal knows the form E (docs/concert.md 3.1). */
const variants = ["e", "e-plus", "e-ticket"] as const;
type Variant = (typeof variants)[number];

/** The ways in which a reply shows the card number (docs/concert.md 3.2). */
export const reports = ["masked", "clear", "blank"] as const;
export type Report = (typeof reports)[number];

/** Times in ms, chosen by us: those of real terminals are not public (docs/concert.md 2.5). */
const timers = {
  answerMs: 3_000,
  /** The silence that ends a register's session or, without sessions, an incomplete message. */
  sessionMs: 3_000,
  silenceMs: 1_000,
  enqPauseMs: 1_000,
  /** Without sessions: the silence after which a message counts as complete. */
  gapMs: 100,
};
export type Timers = Readonly<typeof timers>;

const common = {
  ...defaultOptions,
  timers,
  /** How often the terminal sends ENQ to report a result; 0: until the register answers. */
  enqTries: 3,
  behaviour: {
    ...defaultOptions.behaviour,
    variant: "e-plus" as Variant,
    report: "masked" as Report,
  },
};

export const fixedDefaults = {
  ...common,
  tcp: { host: "127.0.0.1", port: 8_887 } as TerminalOptions["tcp"],
  /** Whether messages are sent in sessions of ENQ, frames and EOT; false: as bare messages. */
  sessions: true,
};

export type ConcertOptions = TerminalOptions & Readonly<typeof fixedDefaults>;

/** The defaults of Caisse-AP (docs/concert.md 4.7). */
export const taggedDefaults = {
  ...common,
  tcp: { host: "127.0.0.1", port: 8_888 },
  sessions: false,
};

type Table = SwitchTable<Draft<ConcertOptions>>;

const behaviour = members<ConcertOptions, "behaviour">("behaviour", fixedDefaults);
const pause = members<ConcertOptions, "timers">("timers", fixedDefaults);

/** The two settings of serial lines that are known (docs/concert.md 2.1). */
export const serialLines = {
  "7E1": { baudRate: 9_600, dataBits: 7, parity: "even", stopBits: 1 },
  "8N1": { baudRate: 9_600, dataBits: 8, parity: "none", stopBits: 1 },
} as const satisfies Record<string, SerialLine>;
const usualLine = serialLines["7E1"];

const commonSwitches: Table = {
  line: option("SETTING", (value, { serial = { path: "", ...usualLine } }) => {
    const { dataBits, parity } = serialLines[oneOf(value, ["7E1", "8N1"])];
    return { serial: { path: "", ...usualLine, ...serial, dataBits, parity } };
  }),
  report: behaviour("report", "HOW", (value) => oneOf(value, reports)),
  "enq-tries": option("N", (value) => ({ enqTries: whole(value) }), fixedDefaults.enqTries),
  "answer-ms": pause("answerMs"),
  "session-ms": pause("sessionMs"),
  "silence-ms": pause("silenceMs"),
  "enq-pause-ms": pause("enqPauseMs"),
};

export const fixedSwitches: Table = {
  variant: behaviour("variant", "NAME", (value) => oneOf(value, variants)),
  ...commonSwitches,
};

export const taggedSwitches: Table = {
  session: flag(() => ({ sessions: true })),
  ...commonSwitches,
  "gap-ms": pause("gapMs"),
};
