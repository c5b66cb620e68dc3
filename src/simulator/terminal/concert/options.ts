import { type Behaviour, defaultOptions, type TerminalOptions } from "../options.ts";

/** Bodies of fixed fields that a terminal knows, besides those of E (docs/concert.md 3.1). */
export const variants = ["e", "e-plus", "e-ticket"] as const;
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

/** Chosen by this simulator: what terminals do is not public (docs/concert.md 2.5). */
interface Timers {
  readonly answerMs: number;
  readonly sessionMs: number;
  readonly silenceMs: number;
  /** Between two tries of ENQ. */
  readonly enqPauseMs: number;
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
