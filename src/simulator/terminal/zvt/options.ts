import { type Behaviour, defaultOptions, type Pace, type TerminalOptions } from "../options.ts";
import type { AskKind } from "./asks/ask-list.ts";
import type { QuirkName } from "./devices/quirks.ts";

/** Everything that can be set of a simulated ZVT terminal. */
export interface ZvtOptions extends TerminalOptions {
  /** Speeds that command 08 40 can set; another one is refused with 84 7D (docs/zvt.md 2.6). */
  readonly speeds: readonly number[];
  readonly timers: Timers;
  readonly pace: ZvtPace;
  readonly behaviour: ZvtBehaviour;
}

/** docs/zvt.md 5.1. */
interface Timers {
  readonly t1Ms: number;
  readonly t2Ms: number;
  readonly t3Ms: number;
  readonly t4Ms: number;
}

interface ZvtPace extends Pace {
  /** Pause before 04 0F is repeated while goods are on their way (docs/zvt.md 8.3). */
  readonly goodsPauseMs: number;
  /** From the answer to 08 40 until the new speed holds (docs/zvt.md 2.6). */
  readonly speedChangeMs: number;
}

export interface ZvtBehaviour extends Behaviour {
  /** Copies that the register prints. */
  readonly receipts: "both" | "customer" | "merchant";
  /** Says at registration that it is a vending machine's terminal (docs/zvt.md 6.1, bit 10). */
  readonly vending: boolean;
  /** Reverses what was not acknowledged (docs/zvt.md 9.1); false: keeps it, as newer ones do. */
  readonly autoReversal: boolean;
  /** Repeat Receipt reports unacknowledged transactions too; false: only acknowledged ones. */
  readonly tellsUnacknowledged: boolean;
  /** Refuses payments of a register that has not registered (84 6B). */
  readonly registrationRequired: boolean;
  /** Echoes tag 1F73 and numbers its messages (docs/zvt.md 9.4). */
  readonly messageIds: boolean;
  /** The terminal's departures from the text (docs/zvt.md 12.2 to 12.8). */
  readonly quirks: readonly QuirkName[];
  /** Asked of the register in every payment, where tag 26 permits it (docs/zvt.md 7.4). */
  readonly asks: readonly AskKind[];
  /** Knows tag 1F1F (docs/zvt.md 9.4). */
  readonly receiptNumberCheck: boolean;
}

export const zvtDefaults: Omit<ZvtOptions, "clock"> = {
  ...defaultOptions,
  speeds: [9_600, 19_200, 57_600, 115_200],
  timers: { t1Ms: 200, t2Ms: 5_000, t3Ms: 5_000, t4Ms: 180_000 },
  pace: { ...defaultOptions.pace, goodsPauseMs: 2_000, speedChangeMs: 2_000 },
  behaviour: {
    ...defaultOptions.behaviour,
    receipts: "both",
    vending: false,
    autoReversal: true,
    tellsUnacknowledged: true,
    registrationRequired: false,
    messageIds: false,
    quirks: [],
    asks: [],
    receiptNumberCheck: false,
  },
};
