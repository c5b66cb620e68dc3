import type { Clock } from "../../shared/time.ts";
import type { CardName } from "./bank/cards.ts";
import type { OutcomeRule } from "./bank/outcome.ts";
import type { FaultRequest } from "./faults/fault-request.ts";
import type { PaymentScript } from "./scenario.ts";
import type { QuirkName } from "./zvt/devices/quirks.ts";
import type { AskKind } from "./zvt/machine/ask-list.ts";

/** Everything that can be set; `switches.ts` has the switches, {@link defaultOptions} the rest. */
export interface TerminalSimulatorOptions {
  /** null: no TCP. Port 0 takes a free one. */
  readonly tcp: { readonly host: string; readonly port: number } | null;
  /** null: no pseudo-terminal. `link` is a symbolic link that always points to it. */
  readonly pty: { readonly link: string | null } | null;
  readonly serial: SerialDevice | null;
  /** Bits per second that a serial line is slowed down to; null: as fast as it goes. */
  readonly lineSpeed: number | null;
  /** Speeds that command 08 40 can set; another one is refused with 84 7D (docs/zvt.md 2.6). */
  readonly speeds: readonly number[];
  /** null: no control API. Always on 127.0.0.1; port 0 takes a free one. */
  readonly controlPort: number | null;
  /** Keeps ledger and turnover; null: in memory only. */
  readonly stateFile: string | null;
  readonly timers: Timers;
  readonly pace: Pace;
  readonly device: Device;
  readonly behaviour: Behaviour;
  readonly faults: readonly FaultRequest[];
  /** What the first, second ... payment shall be like. */
  readonly payments: readonly PaymentScript[];
  /** Wire events that `GET /trace` keeps. */
  readonly traceEvents: number;
  readonly clock: Clock;
}

export interface SerialDevice {
  readonly path: string;
  readonly baudRate: number;
  readonly stopBits: 1 | 2;
}

/** docs/zvt.md 5.1. */
export interface Timers {
  readonly t1Ms: number;
  readonly t2Ms: number;
  readonly t3Ms: number;
  readonly t4Ms: number;
}

/** How long things take in the simulated world. */
export interface Pace {
  /** Until the customer presents a card. */
  readonly customerMs: number;
  /** How long the terminal waits for a card, when the control API plays the customer. */
  readonly cardWaitMs: number;
  /** The same for the customer of the amounts that end in 68, who never presents a card. */
  readonly walkAwayMs: number;
  /** The bank's answer. */
  readonly hostMs: number;
  /** Automatic reversal. */
  readonly reversalMs: number;
  /** Pause before 04 0F is repeated while goods are on their way (docs/zvt.md 8.3). */
  readonly goodsPauseMs: number;
  /** Initialisation, diagnosis, end of day. */
  readonly administrationMs: number;
  readonly rebootMs: number;
  /** From the answer to 08 40 until the new speed holds (docs/zvt.md 2.6). */
  readonly speedChangeMs: number;
}

/** Nothing is waited for that a protocol does not ask for. */
export const instantPace: Partial<Pace> = {
  customerMs: 0,
  walkAwayMs: 0,
  hostMs: 0,
  reversalMs: 0,
  administrationMs: 0,
};

export interface Device {
  /** Eight digits. */
  readonly terminalId: string;
  /** Digits, tag 1F42. */
  readonly serialNumber: string;
  readonly name: string;
  readonly version: string;
  /** The merchant's contract with the bank, at most 15 characters. */
  readonly contractNumber: string;
  /** Six digits that commands must bring; null: any will do (docs/zvt.md 6.1). */
  readonly password: string | null;
  /** Terminal clock minus ours. */
  readonly clockOffsetMs: number;
}

type ReceiptCopies = "both" | "customer" | "merchant";

export interface Behaviour {
  readonly outcome: OutcomeRule;
  readonly card: CardName;
  /** "manual": nothing happens until the control API says so. */
  readonly customer: "auto" | "manual";
  /** ISO 4217 numeric codes; the first is used when a command names none. */
  readonly currencies: readonly string[];
  readonly receipts: ReceiptCopies;
  readonly language: "de" | "en" | "fr";
  /** Says at registration that it is a vending machine's terminal (docs/zvt.md 6.1, bit 10). */
  readonly vending: boolean;
  /**
   * Reverses what was not acknowledged (docs/zvt.md 9.1); false: keeps it, as newer terminals do.
   */
  readonly autoReversal: boolean;
  /** Repeat Receipt tells what was not acknowledged too; false: only what was. */
  readonly tellsUnacknowledged: boolean;
  /** Refuses payments of a register that has not registered (84 6B). */
  readonly registrationRequired: boolean;
  /** Echoes tag 1F73 and numbers its messages (docs/zvt.md 9.4). */
  readonly messageIds: boolean;
  /** What it does otherwise than the text (docs/zvt.md 12.2 to 12.8). */
  readonly quirks: readonly QuirkName[];
  /** Asked of the register in every payment, where tag 26 permits it (docs/zvt.md 7.4). */
  readonly asks: readonly AskKind[];
  /** Knows tag 1F1F (docs/zvt.md 9.4). */
  readonly receiptNumberCheck: boolean;
  readonly firstReceiptNumber: number;
  readonly firstTrace: number;
  /** Local time HH:MM of the daily restart; null: none. */
  readonly restartAt: string | null;
}

export const defaultOptions: Omit<TerminalSimulatorOptions, "clock"> = {
  tcp: { host: "127.0.0.1", port: 20_007 },
  pty: null,
  serial: null,
  lineSpeed: null,
  speeds: [9_600, 19_200, 57_600, 115_200],
  controlPort: null,
  stateFile: null,
  timers: { t1Ms: 200, t2Ms: 5_000, t3Ms: 5_000, t4Ms: 180_000 },
  pace: {
    customerMs: 1_500,
    cardWaitMs: 60_000,
    walkAwayMs: 5_000,
    hostMs: 300,
    reversalMs: 300,
    goodsPauseMs: 2_000,
    administrationMs: 300,
    rebootMs: 3_000,
    speedChangeMs: 2_000,
  },
  device: {
    terminalId: "52500042",
    serialNumber: "0000000000123456",
    name: "TERMINAL SIMULATOR",
    version: "SIM 1.0.0",
    contractNumber: "SIM0000000042",
    password: null,
    clockOffsetMs: 0,
  },
  behaviour: {
    outcome: "by-amount",
    card: "mastercard",
    customer: "auto",
    currencies: ["0978"],
    receipts: "both",
    language: "en",
    vending: false,
    autoReversal: true,
    tellsUnacknowledged: true,
    registrationRequired: false,
    messageIds: false,
    quirks: [],
    asks: [],
    receiptNumberCheck: false,
    firstReceiptNumber: 1,
    firstTrace: 1,
    restartAt: null,
  },
  faults: [],
  payments: [],
  traceEvents: 1_000,
};
