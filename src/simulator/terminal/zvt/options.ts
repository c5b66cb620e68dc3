import { type Behaviour, defaultOptions, type Pace, type TerminalOptions } from "../options.ts";

/** Everything that can be set of a simulated ZVT terminal. */
export interface ZvtOptions extends TerminalOptions {
  /** Speeds that command 08 40 can set; another one is refused with 84 7D (docs/zvt.md 2.6). */
  readonly speeds: readonly number[];
  readonly timers: Timers;
  readonly pace: ZvtPace;
  readonly behaviour: ZvtBehaviour;
}

/** docs/zvt.md 5.1. */
export interface Timers {
  /** Between two bytes of a frame. */
  readonly t1Ms: number;
  /** From the end of a frame to its ACK or NAK. */
  readonly t2Ms: number;
  /** From a message to its answer; over TCP also for a message that comes in pieces. */
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
  readonly repeatsUnacknowledged: boolean;
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
    repeatsUnacknowledged: true,
    registrationRequired: false,
    messageIds: false,
    quirks: [],
    asks: [],
    receiptNumberCheck: false,
  },
};

/** Deviations of real terminals from ZVT (docs/zvt.md 12.2 to 12.8). */
export const quirks = {
  "container-unasked": "sends containers that nobody asked for",
  "print-blocks-only": "prints with 06 D3, permitted or not",
  "print-lines-only": "prints with 06 D1, the receipt type in a container after the text",
  "print-first-in-reversal": "prints before 04 0F in a reversal",
  "end-attribute-8f": "ends a receipt with attribute 8F in occasion of 81",
  "no-end-mark": "prints its configuration without an end mark",
  latin1: "texts in ISO 8859-1, whatever was agreed",
  "blocks-in-latin2": "06 D3 in ISO 8859-2, named in tag 14",
  "no-partial-issue": "takes 84 9D for goods that were not issued",
  "asks-three-times": "asks again three times at most when field 02 is missing",
  "five-digit-password": "compares five digits, and none at registration",
  "t4-byte-zero": "04 FF with time-out byte 00",
  "no-t4-byte": "04 FF with a container and without a time-out byte",
  "no-texts": "04 FF without texts",
  "no-pin-status": "sends no status while the PIN is entered",
  "statuses-a0": "reports the end of a payment with 04 FF A1 or A2",
  "ignores-abort": "does not answer Abort (06 B0)",
  "silent-after-cancel": "does not answer the status enquiry after a customer's stop key",
  "reverses-last-only": "reverses the last payment only",
  "wrong-amount-on-reversal": "prints 0.00 on the receipt of a reversal",
  "empty-repeat-receipt": "answers Repeat Receipt (06 20) with a bare 06 0F",
  "long-trace": "trace number 000000 in field 0B and the true one in tag 1F2B",
  "short-report": "04 0F as a bare result byte and few fields",
  "private-tags": "tags C0, D0, D1 and DF01 in 04 0F",
  "opaque-tags": "tags FF40 and FF41, marked as containers, with plain content",
  "binary-serial": "serial number in tag 1F42 as a binary number",
  "no-currency-field": "refuses field 49 in Registration with 84 9A",
  "diagnosis-needs-type": "refuses a diagnosis without tag 1B",
  "totals-in-first-group": "all cards in the first group of field 60",
  "log-off-be": "configuration byte BE after Log-Off",
  "no-update": "refuses a software update with 06 1E E0",
  "refuses-after-update": "answers the first command after an update with 84 1E 01 7D",
  "zvt-off-after-update": "ZVT is off after an update: 15 03 69",
  "update-after-end-of-day": "ends an end of day with 06 0F 27 E0 and restarts",
} as const satisfies Record<string, string>;

export type QuirkName = keyof typeof quirks;
export const quirkNames = Object.keys(quirks) as QuirkName[];

/** A real terminal by its known deviations (docs/zvt.md 12.2 to 12.8). */
interface DeviceProfile {
  readonly name: string;
  readonly quirks: readonly QuirkName[];
  readonly behaviour?: Partial<ZvtBehaviour>;
}

/** The driver's profiles have the same names. */
export const devices = {
  "card-complete": {
    name: "card complete, Ingenico iWL250 and Worldline Valina",
    quirks: [
      "latin1",
      "print-lines-only",
      "asks-three-times",
      "no-partial-issue",
      "five-digit-password",
      "no-pin-status",
      "private-tags",
      "diagnosis-needs-type",
      "totals-in-first-group",
      "log-off-be",
      "no-update",
    ],
  },
  hobex: {
    name: "hobex, Ingenico Desk/3500",
    quirks: ["print-blocks-only", "container-unasked", "long-trace", "no-partial-issue"],
  },
  "pax-a80": {
    name: "Global Payments, PAX A80",
    quirks: [
      "ignores-abort",
      "reverses-last-only",
      "empty-repeat-receipt",
      "wrong-amount-on-reversal",
      "blocks-in-latin2",
      "end-attribute-8f",
    ],
  },
  feig: {
    name: "Feig cVEND",
    quirks: [
      "print-first-in-reversal",
      "opaque-tags",
      "binary-serial",
      "t4-byte-zero",
      "no-texts",
      "no-end-mark",
    ],
  },
  ccv: {
    name: "CCV OPM-C60 and IM30",
    quirks: ["refuses-after-update"],
    behaviour: { vending: true },
  },
  ingenico: {
    name: "Ingenico Link, Move and i5310",
    quirks: ["statuses-a0", "silent-after-cancel", "zvt-off-after-update"],
  },
  clover: {
    name: "Clover Flex: wants the signature judged where 06 D0 is permitted",
    quirks: [],
    behaviour: { asks: ["signature"] },
  },
  "nexi-a960": { name: "Nexi A960", quirks: ["no-currency-field", "short-report"] },
} as const satisfies Record<string, DeviceProfile>;

export type DeviceName = keyof typeof devices;
export const deviceNames = Object.keys(devices) as DeviceName[];

/** Returns the behaviour of a device; other switches change it. */
export function behaviourOf(name: DeviceName): Partial<ZvtBehaviour> {
  const { quirks, behaviour }: DeviceProfile = devices[name];
  return { ...behaviour, quirks };
}

/** Requests to the register, if tag 26 permits them (docs/zvt.md 6.1, 7.4). */
export const askKinds = {
  menu: { control: 0x040e, description: "menu request 04 0E: which application of the card" },
  input: { control: 0x040d, description: "input request 04 0D: the mileage" },
  "blocked-list": { control: 0x06e4, description: "06 E4: is this card on the blocked list" },
  signature: { control: 0x06d0, description: "menu with image 06 D0: is the signature right" },
  "set-clock": { control: 0x0401, description: "set the register's clock 04 01" },
  "dial-up": { control: 0x06d8, description: "dial through the register 06 D8" },
} as const satisfies Record<string, { control: number; description: string }>;

export type AskKind = keyof typeof askKinds;
export const askNames = Object.keys(askKinds) as AskKind[];

/** When: in a payment, or on the occasion of a status enquiry (docs/zvt.md 6.5). */
export type AskOccasion = "payment" | "status";

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

const ASKED_MAX = 100;

/** The requests that the terminal has yet to make, and the answers to those it made. */
export class AskList {
  readonly #always: readonly AskKind[];
  #once: { readonly kind: AskKind; readonly occasion: AskOccasion }[] = [];
  #asked: Asked[] = [];

  /** `always`: in every payment. */
  constructor(always: readonly AskKind[]) {
    this.#always = always;
  }

  get asked(): readonly Asked[] {
    return this.#asked;
  }

  /** Asks once, in the next payment or status enquiry. */
  add(kind: AskKind, occasion: AskOccasion): void {
    this.#once.push({ kind, occasion });
  }

  /** Returns the due ones of `kinds`, and forgets those that are asked once. */
  take(kinds: readonly AskKind[], occasion: AskOccasion): readonly AskKind[] {
    return kinds.filter((kind) => {
      const at = this.#once.findIndex(
        (entry) => entry.kind === kind && entry.occasion === occasion,
      );
      if (at >= 0) this.#once.splice(at, 1);
      return at >= 0 || (occasion === "payment" && this.#always.includes(kind));
    });
  }

  note(asked: Asked): void {
    this.#asked = [...this.#asked, asked].slice(-ASKED_MAX);
  }
}
