import type { Logger } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { Charset } from "../../../zvt/index.ts";
import type { Language } from "../../../zvt/tables/result-codes.ts";
import type { TerminalEvent } from "../terminal.ts";
import type { ByteTransport } from "../transport/byte-transport.ts";

/** The timers T1 to T4 (docs/zvt.md 5.1). Only tests use shorter times than the protocol. */
export interface ZvtTimers {
  /** The longest silence between two bytes of a frame; only on a serial line. */
  readonly t1Ms: number;
  /** The longest time from the end of a frame to its acknowledgement; only on a serial line. */
  readonly t2Ms: number;
  /** The longest time from a command to its answer; over TCP also for all pieces of a message. */
  readonly t3Ms: number;
  /** The longest silence of a terminal that carries out a command. */
  readonly t4Ms: number;
}

const timers: ZvtTimers = { t1Ms: 200, t2Ms: 5_000, t3Ms: 5_000, t4Ms: 180_000 };

/** The options of a terminal for which neither its profile nor the setup file names others. */
export const defaultZvtOptions = {
  /** The register's password: six digits. */
  password: "000000",
  /** BE: the terminal sends receipts line by line; 3E: we make the receipts (docs/zvt.md 6.1). */
  configByte: 0xbe,
  /** The currency of the registration: ISO 4217 numeric, with a leading zero. */
  registrationCurrency: "0978",
  timers,
  /** The time between two status enquiries to an idle terminal (docs/zvt.md 6.5). */
  pollIntervalMs: 30_000,
  /** The time between enquiries while the terminal is busy or makes demands (docs/zvt.md 6.5). */
  busyPollIntervalMs: 3_000,
  /** The pause between attempts at one maintenance demand; doubles from `minMs` to `maxMs`. */
  housekeepingPause: { minMs: 60_000, maxMs: 3_600_000 },
  /** How long a serial line is silent before a lost command is probed: 2 x T2 (docs/zvt.md 9.2). */
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
   * Whether a payment names the last receipt number (1F1F), so that the terminal reverses a sale
   * that we missed (docs/zvt.md 9.4). Only where nobody can pay by the terminal's own keys.
   */
  sendLastReceipt: false,
  /**
   * Whether the terminal reverses a sale unless its print was acknowledged to the end (docs/zvt.md
   * 9.1). When false, a sale counts as final as soon as its 04 0F is acknowledged.
   */
  printsCount: false,
  /**
   * Whether Log-Off is sent when the driver is closed (docs/zvt.md 6.4). Then the terminal's own
   * keys work until the next registration, which an unattended terminal must not allow.
   */
  logOffOnClose: false,
  language: "en" as Language,
  /** How long a restarting terminal may still answer before it goes down. */
  restartPauseMs: 5_000,
  /** Whether the terminal understands 84 9D, the partial issue of goods (docs/zvt.md 8.4). */
  partialIssue: true,
  /** Whether the terminal puts the totals of all cards into the first group (docs/zvt.md 7.1). */
  totalsInFirstGroup: false,
};

export type ZvtOptions = Readonly<typeof defaultZvtOptions>;

/** Options by kind of terminal (docs/zvt.md 12.2 to 12.6); settings of the setup file override. */
export const profiles: Readonly<Record<string, Partial<ZvtOptions>>> = {
  standard: {},
  /** card complete: Latin-1 texts whatever was agreed, no partial issue, all totals in group 1. */
  "card-complete": { charset: "iso8859-1", partialIssue: false, totalsInFirstGroup: true },
  hobex: { partialIssue: false },
  /** PAX A80: print blocks name their character set; a text without a named set is Latin-2. */
  "pax-a80": { charset: "iso8859-2" },
  feig: {},
  /** CCV terminals want a status enquiry every three seconds (docs/zvt.md 10.1). */
  ccv: { pollIntervalMs: 3_000 },
};

/** The options, clock, log and other services that all parts of the driver use. */
export interface ZvtContext {
  readonly transport: ByteTransport;
  readonly clock: Clock;
  readonly log: Logger;
  readonly options: ZvtOptions;
  readonly emit: (event: TerminalEvent) => void;
}

/** Bit of the configuration byte: the terminal's keys start no payment (docs/zvt.md 6.1). */
export const REGISTER_CONTROLS_PAYMENTS = 0x10;
