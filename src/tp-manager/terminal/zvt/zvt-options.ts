import type { Logger } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { Charset } from "../../../zvt/index.ts";
import type { Language } from "../../../zvt/tables/result-codes.ts";
import type { TerminalEvent } from "../terminal.ts";
import type { ByteTransport } from "../transport/byte-transport.ts";

/** The timers T1 to T4 (docs/zvt.md 5.1). Only tests use shorter times than the protocol. */
const timers = {
  /** The longest silence between two bytes of a frame (serial line only). */
  t1Ms: 200,
  /** The longest time from a frame to its ACK (serial line only). */
  t2Ms: 5_000,
  /** The longest time from a command to its answer, and over TCP for all pieces of a message. */
  t3Ms: 5_000,
  /** The longest silence of a terminal that carries out a command. */
  t4Ms: 180_000,
};

export type ZvtTimers = Readonly<typeof timers>;

/** The options that hold unless the profile or the setup file has other values. */
export const defaultZvtOptions = {
  password: "000000",
  /** BE: the terminal sends the receipts; 3E: the driver makes them (docs/zvt.md 6.1). */
  configByte: 0xbe,
  /** The currency of the registration: ISO 4217 numeric, with a leading zero. */
  registrationCurrency: "0978",
  timers,
  /** The time between two status enquiries to an idle terminal (docs/zvt.md 6.5). */
  pollIntervalMs: 30_000,
  /** The time between two enquiries while the terminal is busy or demands maintenance. */
  busyPollIntervalMs: 3_000,
  /** The pause before a failed maintenance is tried again; doubles from `minMs` to `maxMs`. */
  housekeepingPause: { minMs: 60_000, maxMs: 3_600_000 },
  /**
   * The silence on a serial line before a lost command is probed: 2 x T2 (docs/zvt.md 9.2). A
   * restarting terminal may still answer for as long before it goes down (docs/zvt.md 10.4).
   */
  silenceMs: 10_000,
  /** How long a terminal that refused a sale may take to show that it runs no command. */
  refusalCheckMs: 10_000,
  /** The pause between two attempts to connect; doubles from `minMs` to `maxMs`. */
  reconnect: { minMs: 500, maxMs: 30_000 },
  /** The character set of the terminal's texts when the terminal names none. */
  charset: "cp437" as Charset,
  /** The number of characters in a line of a ticket. */
  printerWidth: 40,
  /** Whether messages are numbered (tag 1F73) if the terminal agrees (docs/zvt.md 9.4). */
  messageIds: true,
  /**
   * Whether a payment names the last receipt number that we know (tag 1F1F): the terminal then
   * reverses a later sale (docs/zvt.md 9.4), so nobody may pay by its own keys.
   */
  sendLastReceipt: false,
  /**
   * Whether the terminal reverses a sale unless its print, too, got its ACK (docs/zvt.md 9.1).
   * When false, the ACK of the report (04 0F) makes the sale final.
   */
  printsCount: false,
  /**
   * Whether Log-Off is sent when the driver is closed (docs/zvt.md 6.4). Log-Off enables the
   * terminal's own keys until the next registration, which is wrong at an unattended terminal.
   */
  logOffOnClose: false,
  language: "en" as Language,
  /** Whether the terminal understands 84 9D, the partial issue of goods (docs/zvt.md 8.4). */
  partialIssue: true,
  /** Whether the terminal reports the totals of all cards as the first group (docs/zvt.md 7.1). */
  totalsInFirstGroup: false,
};

export type ZvtOptions = Readonly<typeof defaultZvtOptions>;

/** Options by kind of terminal (docs/zvt.md 12.2 to 12.6); the setup file overrides them. */
export const profiles: Readonly<Record<string, Partial<ZvtOptions>>> = {
  standard: {},
  /** card complete: texts are always Latin-1, no partial issue, all totals in the first group. */
  "card-complete": { charset: "iso8859-1", partialIssue: false, totalsInFirstGroup: true },
  hobex: { partialIssue: false },
  /** PAX A80: print blocks name their character set; a text without a named set is Latin-2. */
  "pax-a80": { charset: "iso8859-2" },
  feig: {},
  /** CCV terminals want a status enquiry every three seconds (docs/zvt.md 10.1). */
  ccv: { pollIntervalMs: 3_000 },
};

export interface ZvtContext {
  readonly transport: ByteTransport;
  readonly clock: Clock;
  readonly log: Logger;
  readonly options: ZvtOptions;
  readonly emit: (event: TerminalEvent) => void;
}

/** Bit of the configuration byte: the terminal's keys start no payment (docs/zvt.md 6.1). */
export const REGISTER_CONTROLS_PAYMENTS = 0x10;
