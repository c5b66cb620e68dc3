import { defaultOptions, type TerminalOptions } from "../options.ts";
import texts from "../texts.json" with { type: "json" };

/** The times of the protocol, in milliseconds (docs/zvt.md 5.1). */
const timers = {
  /** The longest pause between two bytes of a frame. */
  t1Ms: 200,
  /** The longest time from the end of a frame to its ACK or NAK. */
  t2Ms: 5_000,
  /** The longest time from a message to its answer; on TCP also between the parts of a message. */
  t3Ms: 5_000,
  t4Ms: 180_000,
};
export type Timers = Readonly<typeof timers>;

const pace = {
  ...defaultOptions.pace,
  /** The pause before the report is repeated while the register issues goods (docs/zvt.md 8.3). */
  goodsPauseMs: 2_000,
  /** The time from the answer to 08 40 until the new speed applies (docs/zvt.md 2.6). */
  speedChangeMs: 2_000,
};

const behaviour = {
  ...defaultOptions.behaviour,
  /** The copies of a receipt that are printed if the register does not choose. */
  receipts: "both" as "both" | "customer" | "merchant",
  /** Whether the completion of a registration reports a vending machine (docs/zvt.md 6.1). */
  vending: false,
  /** Whether sales without an ACK are reversed (docs/zvt.md 9.1); newer terminals keep them. */
  autoReversal: true,
  /** Whether Repeat Receipt reports a transaction that never got its ACK. */
  repeatsWithoutAck: true,
  /** Whether a payment without a registration is refused with 84 6B. */
  registrationRequired: false,
  /** Whether the terminal knows message ids, tag 1F73 (docs/zvt.md 9.4). */
  messageIds: false,
  /** The deviations of this terminal from the protocol (docs/zvt.md 12.2 to 12.8). */
  quirks: [] as readonly QuirkName[],
  /** The terminal's requests in each payment, if tag 26 permits them (docs/zvt.md 7.4). */
  asks: [] as readonly AskKind[],
  /** Whether the terminal knows tag 1F1F, the register's last receipt number (docs/zvt.md 9.4). */
  receiptNumberCheck: false,
};
type ZvtBehaviour = Readonly<typeof behaviour>;

export const zvtDefaults = {
  ...defaultOptions,
  /** The speeds that command 08 40 can set; others are refused with 84 7D (docs/zvt.md 2.6). */
  speeds: [9_600, 19_200, 57_600, 115_200] as readonly number[],
  timers,
  pace,
  behaviour,
};

export type ZvtOptions = TerminalOptions & Readonly<typeof zvtDefaults>;

/** Deviations of real terminals from ZVT (docs/zvt.md 12.2 to 12.8). */
export const { quirks } = texts;
export type QuirkName = keyof typeof quirks;
export const quirkNames = Object.keys(quirks) as QuirkName[];

/** A model of real terminals, described by its known deviations (docs/zvt.md 12.2 to 12.8). */
interface DeviceProfile {
  readonly name: string;
  readonly quirks: readonly QuirkName[];
  readonly behaviour?: Partial<ZvtBehaviour>;
}

/** The names of `--device`; the driver's profiles have the same names. */
type DeviceName = keyof typeof texts.devices;
export const devices = texts.devices as Readonly<Record<DeviceName, DeviceProfile>>;
export const deviceNames = Object.keys(devices) as DeviceName[];

/** The terminal's requests to the register, each with its control field (docs/zvt.md 6.1, 7.4). */
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

/** The register's answer to a request, for `GET /state`. */
export interface Asked {
  readonly kind: AskKind;
  /** The answer as four hexadecimal digits, or `not permitted` or `silent` if none came. */
  readonly answer: string;
  /** What was chosen in a menu: tag 19 of the answer. */
  readonly chosen?: number;
  /** The number of characters that were typed; the text itself is not kept. */
  readonly typedCharacters?: number;
}
