import { defaultOptions, type TerminalOptions } from "../options.ts";
import texts from "../texts.json" with { type: "json" };

/** Everything that can be set of a simulated ZVT terminal. */
export interface ZvtOptions extends TerminalOptions {
  /** Speeds that command 08 40 can set; another one is refused with 84 7D (docs/zvt.md 2.6). */
  readonly speeds: readonly number[];
  readonly timers: Timers;
  readonly pace: Readonly<typeof pace>;
  readonly behaviour: ZvtBehaviour;
}

/** Times of the protocol (docs/zvt.md 5.1). */
const timers = {
  /** Between two bytes of a frame. */
  t1Ms: 200,
  /** From the end of a frame to its ACK or NAK. */
  t2Ms: 5_000,
  /** From a message to its answer; over TCP also for a message that comes in pieces. */
  t3Ms: 5_000,
  t4Ms: 180_000,
};
export type Timers = Readonly<typeof timers>;

const pace = {
  ...defaultOptions.pace,
  /** Pause before 04 0F is repeated while goods are on their way (docs/zvt.md 8.3). */
  goodsPauseMs: 2_000,
  /** From the answer to 08 40 until the new speed holds (docs/zvt.md 2.6). */
  speedChangeMs: 2_000,
};

const behaviour = {
  ...defaultOptions.behaviour,
  /** Copies that the register prints. */
  receipts: "both" as "both" | "customer" | "merchant",
  /** Says at registration that it is a vending machine's terminal (docs/zvt.md 6.1, bit 10). */
  vending: false,
  /** Reverses what was not acknowledged (docs/zvt.md 9.1); false: keeps it, as newer ones do. */
  autoReversal: true,
  /** Repeat Receipt reports unacknowledged transactions too; false: only acknowledged ones. */
  repeatsUnacknowledged: true,
  /** Refuses payments of a register that has not registered (84 6B). */
  registrationRequired: false,
  /** Echoes tag 1F73 and numbers its messages (docs/zvt.md 9.4). */
  messageIds: false,
  /** The terminal's departures from the text (docs/zvt.md 12.2 to 12.8). */
  quirks: [] as readonly QuirkName[],
  /** Asked of the register in every payment, where tag 26 permits it (docs/zvt.md 7.4). */
  asks: [] as readonly AskKind[],
  /** Knows tag 1F1F (docs/zvt.md 9.4). */
  receiptNumberCheck: false,
};
export type ZvtBehaviour = Readonly<typeof behaviour>;

export const zvtDefaults: Omit<ZvtOptions, "clock"> = {
  ...defaultOptions,
  speeds: [9_600, 19_200, 57_600, 115_200],
  timers,
  pace,
  behaviour,
};

/** Deviations of real terminals from ZVT (docs/zvt.md 12.2 to 12.8). */
export const { quirks } = texts;
export type QuirkName = keyof typeof quirks;
export const quirkNames = Object.keys(quirks) as QuirkName[];

/** A real terminal by its known deviations (docs/zvt.md 12.2 to 12.8). */
interface DeviceProfile {
  readonly name: string;
  readonly quirks: readonly QuirkName[];
  readonly behaviour?: Partial<ZvtBehaviour>;
}

/** The terminals of `--device`; the driver's profiles have the same names. */
export type DeviceName = keyof typeof texts.devices;
export const devices = texts.devices as Readonly<Record<DeviceName, DeviceProfile>>;
export const deviceNames = Object.keys(devices) as DeviceName[];

/** Requests to the register, if tag 26 permits them (docs/zvt.md 6.1, 7.4). */
export const askKinds = {
  menu: { control: 0x040e, description: texts.asks.menu },
  input: { control: 0x040d, description: texts.asks.input },
  "blocked-list": { control: 0x06e4, description: texts.asks["blocked-list"] },
  signature: { control: 0x06d0, description: texts.asks.signature },
  "set-clock": { control: 0x0401, description: texts.asks["set-clock"] },
  "dial-up": { control: 0x06d8, description: texts.asks["dial-up"] },
};

export type AskKind = keyof typeof askKinds;
export const askNames = Object.keys(askKinds) as AskKind[];

/** A request that the terminal makes once, in the next payment or status enquiry. */
export interface AskOnce {
  readonly kind: AskKind;
  readonly occasion: "payment" | "status";
}

/** How the register answered a request, for `GET /state`. */
export interface Asked {
  readonly kind: AskKind;
  /** Four hexadecimal digits; "not permitted" and "silent" when there was no answer. */
  readonly answer: string;
  /** Tag 19 of the answer to a menu. */
  readonly chosen?: number;
  /** Number of characters; the text itself is not kept. */
  readonly typedCharacters?: number;
}
