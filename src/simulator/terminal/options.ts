import type { Clock } from "../../shared/time.ts";
import type { CardName } from "./bank/cards.ts";
import type { OutcomeRule } from "./bank/ledger.ts";
import type { FaultRequest } from "./faults/fault-kinds.ts";

/** What happens in one payment; a missing member has the value of the simulator's options. */
export interface PaymentScript {
  readonly outcome?: OutcomeRule;
  readonly card?: CardName;
  readonly customerMs?: number;
  readonly hostMs?: number;
  readonly faults?: readonly FaultRequest[];
}

export interface SerialDevice extends SerialLine {
  readonly path: string;
}

export interface SerialLine {
  readonly baudRate: number;
  readonly dataBits: 7 | 8;
  readonly parity: "none" | "even";
  readonly stopBits: 1 | 2;
}

/** The pace that `--instant` sets: customer, bank and terminal answer without a delay. */
export const instantPace: Partial<typeof pace> = {
  customerMs: 0,
  walkAwayMs: 0,
  hostMs: 0,
  reversalMs: 0,
  administrationMs: 0,
};

/** Durations in milliseconds; `texts.json` explains each one with its switch. */
const pace = {
  customerMs: 1_500,
  cardWaitMs: 60_000,
  walkAwayMs: 5_000,
  hostMs: 300,
  reversalMs: 300,
  administrationMs: 300,
  rebootMs: 3_000,
};

const device = {
  terminalId: "52500042",
  serialNumber: "0000000000123456",
  name: "TERMINAL SIMULATOR",
  version: "SIM 1.0.0",
  /** The merchant's contract with the bank, at most 15 characters. */
  contractNumber: "SIM0000000042",
  /** The password of six digits that commands must contain; null: any password is accepted. */
  password: null as string | null,
  /** By how many milliseconds the terminal's clock is ahead of the simulator's clock. */
  clockOffsetMs: 0,
};
export type Device = Readonly<typeof device>;

/** The languages of the display. */
export const languages = ["de", "en", "es", "fr", "it"] as const;
export type Language = (typeof languages)[number];

const behaviour = {
  outcome: "by-amount" as OutcomeRule,
  card: "mastercard" as CardName,
  customer: "auto" as "auto" | "manual",
  /** ISO 4217 numeric codes with a leading zero; the first one is used if a command names none. */
  currencies: ["0978"] as readonly string[],
  /** null: English, but the display on the page has the language of the page. */
  language: null as Language | null,
  firstReceiptNumber: 1,
  firstTrace: 1,
  /** The local time HH:MM of the daily restart; null: the terminal has no daily restart. */
  restartAt: null as string | null,
};

export const defaultOptions = {
  /** The address that the terminal listens on, with port 0 for a free port; null: no TCP. */
  tcp: { host: "127.0.0.1", port: 20_007 } as {
    readonly host: string;
    readonly port: number;
  } | null,
  /** Whether several registers may be connected; otherwise a new one replaces the one before. */
  manyConnections: false,
  /** The pseudo-terminal, with a symbolic link to it or none; null: no pseudo-terminal. */
  pty: null as { readonly link: string | null } | null,
  serial: null as SerialDevice | null,
  /** The speed to which a serial line is slowed down, in bits per second; null: not slowed down. */
  lineSpeed: null as number | null,
  /** The port of the control API on 127.0.0.1, 0 for a free port; null: no control API. */
  controlPort: null as number | null,
  /** The file with the ledger and the terminal's memory; null: both are lost at the end. */
  stateFile: null as string | null,
  pace,
  device,
  behaviour,
  faults: [] as readonly FaultRequest[],
  /** What happens in the first payment, in the second payment and so on. */
  payments: [] as readonly PaymentScript[],
  /** The number of events on the lines that are kept for `GET /trace`. */
  traceEvents: 1_000,
};

export type TerminalOptions = Readonly<typeof defaultOptions> & { readonly clock: Clock };

/** The groups of options; a member of a group that is not given has its default. */
export type Group = "timers" | "pace" | "device" | "behaviour";

export type StartOptions<O extends TerminalOptions> = {
  readonly [K in keyof O]?: K extends Group ? Partial<O[K]> : O[K];
};

export type Draft<O extends TerminalOptions> = StartOptions<O> &
  Required<Pick<StartOptions<O>, "faults" | (Group & keyof O)>> & { readonly readyFile?: string };

/** Returns the given options, completed with the defaults, group by group. */
export function completed<O extends TerminalOptions>(
  defaults: Omit<O, "clock">,
  clock: Clock,
  given: StartOptions<O>,
): O {
  const groups = (["timers", "pace", "device", "behaviour"] as const).flatMap((name) => {
    const [all, some] = [defaults, given].map((options) => (options as Groups)[name]);
    return all ? [[name, { ...all, ...some }] as const] : [];
  });
  return { ...defaults, clock, ...given, ...Object.fromEntries(groups) } as unknown as O;
}

type Groups = Readonly<Partial<Record<Group, object>>>;
