import type { Clock } from "../../shared/time.ts";
import type { CardName } from "./bank/cards.ts";
import type { OutcomeRule } from "./bank/ledger.ts";
import type { FaultRequest } from "./faults/fault-kinds.ts";

/** How one payment goes; a missing member is as the switches say. */
export interface PaymentScript {
  readonly outcome?: OutcomeRule;
  readonly card?: CardName;
  readonly customerMs?: number;
  readonly hostMs?: number;
  readonly faults?: readonly FaultRequest[];
}

/** Options of every terminal; a protocol adds its own and supplies the defaults. */
export interface TerminalOptions {
  /** Where the terminal listens on TCP, port 0 for a free one; null: nowhere. */
  readonly tcp: { readonly host: string; readonly port: number } | null;
  /** The pseudo-terminal; null: none. `link` is a symbolic link that always points to it. */
  readonly pty: { readonly link: string | null } | null;
  readonly serial: SerialDevice | null;
  /** Bits per second that a serial line is slowed down to; null: as fast as it goes. */
  readonly lineSpeed: number | null;
  /** Port of the control API on 127.0.0.1, 0 for a free one; null: no control API. */
  readonly controlPort: number | null;
  /** File that keeps ledger and turnover; null: they are in memory only. */
  readonly stateFile: string | null;
  readonly pace: Pace;
  readonly device: Device;
  readonly behaviour: Behaviour;
  readonly faults: readonly FaultRequest[];
  /** Scripts of the first, second ... payment. */
  readonly payments: readonly PaymentScript[];
  /** How many wire events `GET /trace` keeps. */
  readonly traceEvents: number;
  readonly clock: Clock;
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

/** A pace without any delay but those of the protocol. */
export const instantPace: Partial<Pace> = {
  customerMs: 0,
  walkAwayMs: 0,
  hostMs: 0,
  reversalMs: 0,
  administrationMs: 0,
};

/** How long things take; `texts.json` explains each duration with its switch. */
const pace = {
  customerMs: 1_500,
  cardWaitMs: 60_000,
  walkAwayMs: 5_000,
  hostMs: 300,
  reversalMs: 300,
  administrationMs: 300,
  rebootMs: 3_000,
};
type Pace = Readonly<typeof pace>;

const device = {
  terminalId: "52500042",
  serialNumber: "0000000000123456",
  name: "TERMINAL SIMULATOR",
  version: "SIM 1.0.0",
  /** The merchant's contract with the bank, at most 15 characters. */
  contractNumber: "SIM0000000042",
  /** Six digits that commands must bring; null: any will do. */
  password: null as string | null,
  /** The terminal's clock minus that of the simulator. */
  clockOffsetMs: 0,
};
export type Device = Readonly<typeof device>;

/** The languages of the texts, in the order of their codes in ZVT (docs/zvt.md 6.4). */
export const languages = ["de", "en", "fr"] as const;
export type Language = (typeof languages)[number];

const behaviour = {
  outcome: "by-amount" as OutcomeRule,
  card: "mastercard" as CardName,
  customer: "auto" as "auto" | "manual",
  /** ISO 4217 numeric codes with a leading zero; the first is used when a command names none. */
  currencies: ["0978"] as readonly string[],
  language: "en" as Language,
  firstReceiptNumber: 1,
  firstTrace: 1,
  /** Local time HH:MM of the daily restart; null: none. */
  restartAt: null as string | null,
};
type Behaviour = Readonly<typeof behaviour>;

export const defaultOptions: Omit<TerminalOptions, "clock"> = {
  tcp: { host: "127.0.0.1", port: 20_007 },
  pty: null,
  serial: null,
  lineSpeed: null,
  controlPort: null,
  stateFile: null,
  pace,
  device,
  behaviour,
  faults: [],
  payments: [],
  traceEvents: 1_000,
};

/** Groups of options, of which some may be set and the others stay as they are. */
export type Group = "timers" | "pace" | "device" | "behaviour";

/** Options to start a terminal with; a missing one has its default. */
export type StartOptions<O extends TerminalOptions> = {
  readonly [K in keyof O]?: K extends Group ? Partial<O[K]> : O[K];
};

/** Options as switches fill them in; the groups and the list of faults are there at the start. */
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
