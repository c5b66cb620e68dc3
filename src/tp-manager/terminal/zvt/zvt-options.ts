import type { Logger } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { Charset } from "../../../zvt/index.ts";
import type { Language } from "../../../zvt/tables/result-codes.ts";
import type { TerminalEvent } from "../terminal.ts";
import type { ByteTransport } from "../transport/byte-transport.ts";

/** Timers of docs/zvt.md 5.1. Production never goes below the protocol's values, tests do. */
export interface ZvtTimers {
  /** Between two bytes of a frame; serial only. */
  readonly t1Ms: number;
  /** From the end of a frame to its acknowledgement; serial only. */
  readonly t2Ms: number;
  /** From a command to its answer; over TCP also for all pieces of one message. */
  readonly t3Ms: number;
  /** From the answer to the completion; every message of the terminal starts it anew. */
  readonly t4Ms: number;
}

export interface ZvtOptions {
  /** Six digits. */
  readonly password: string;
  /** docs/zvt.md 6.1: with BE the terminal sends receipts line by line, with 3E we build them. */
  readonly configByte: number;
  /** ISO 4217 numeric with a leading zero. */
  readonly registrationCurrency: string;
  readonly timers: ZvtTimers;
  /** How often an idle terminal is asked for its status, and runs its jobs (docs/zvt.md 6.5). */
  readonly pollIntervalMs: number;
  /** The interval while the terminal runs jobs of its own or demands one (docs/zvt.md 6.5). */
  readonly busyPollIntervalMs: number;
  /** Between two attempts to meet a demand of the terminal: doubles, up to the second. */
  readonly housekeepingPause: { readonly minMs: number; readonly maxMs: number };
  /** Silence on a serial line before a lost payment is asked about: 2 x T2 (docs/zvt.md 9.2). */
  readonly silenceMs: number;
  /** How long a terminal that refused a sale may take to show that it runs nothing. */
  readonly refusalCheckMs: number;
  /** Between two attempts to connect: doubles from the first to the second, for ever. */
  readonly reconnect: { readonly minMs: number; readonly maxMs: number };
  /** How the terminal writes its texts when it does not say so itself. */
  readonly charset: Charset;
  /** Characters in a line of a ticket. */
  readonly printerWidth: number;
  /** docs/zvt.md 9.4: number the messages (1F73) when the terminal agrees to it. */
  readonly messageIds: boolean;
  /**
   * docs/zvt.md 9.4: a payment names the last receipt number (1F1F), so that the terminal reverses
   * a sale that we have missed. Only where nobody can pay by the terminal's own keys.
   */
  readonly sendLastReceipt: boolean;
  /**
   * docs/zvt.md 9.1: the terminal reverses a sale whose print was not acknowledged to its end.
   * Without this option an acknowledged 04 0F counts as final.
   */
  readonly printsCount: boolean;
  /**
   * docs/zvt.md 6.4: Log-Off when the driver is closed. Log-Off makes the terminal's own keys work
   * until the next registration, which an unattended terminal must not allow.
   */
  readonly logOffOnClose: boolean;
  readonly language: Language;
  /** How long a restarting terminal may still answer before it goes down. */
  readonly restartPauseMs: number;
  /** docs/zvt.md 8.4: the terminal understands 84 9D. */
  readonly partialIssue: boolean;
  /** docs/zvt.md 7.1: the terminal puts the totals of all cards into the first group. */
  readonly totalsInFirstGroup: boolean;
}

export const defaultZvtOptions: ZvtOptions = {
  password: "000000",
  configByte: 0xbe,
  registrationCurrency: "0978",
  timers: { t1Ms: 200, t2Ms: 5_000, t3Ms: 5_000, t4Ms: 180_000 },
  pollIntervalMs: 30_000,
  busyPollIntervalMs: 3_000,
  housekeepingPause: { minMs: 60_000, maxMs: 3_600_000 },
  silenceMs: 10_000,
  refusalCheckMs: 10_000,
  reconnect: { minMs: 500, maxMs: 30_000 },
  charset: "cp437",
  printerWidth: 40,
  messageIds: true,
  sendLastReceipt: false,
  printsCount: false,
  logOffOnClose: false,
  language: "en",
  restartPauseMs: 5_000,
  partialIssue: true,
  totalsInFirstGroup: false,
};

/**
 * Terminals whose readings exclude each other (docs/zvt.md 12.2 to 12.6), by name. All profiles
 * tolerate the other differences. Options that the setup file names itself take precedence.
 */
export const profiles: Readonly<Record<string, Partial<ZvtOptions>>> = {
  standard: {},
  /** Texts in Latin-1 whatever was agreed, no partial issue, all totals in the first group. */
  "card-complete": { charset: "iso8859-1", partialIssue: false, totalsInFirstGroup: true },
  hobex: { partialIssue: false },
  /** Print blocks name their own set; a text that names none is Latin-2. */
  "pax-a80": { charset: "iso8859-2" },
  feig: {},
  /** docs/zvt.md 10.1: wants to be asked every three seconds. */
  ccv: { pollIntervalMs: 3_000 },
};

export interface ZvtDependencies {
  readonly transport: ByteTransport;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What each part of the driver works with. */
export interface ZvtContext extends ZvtDependencies {
  readonly options: ZvtOptions;
  readonly emit: (event: TerminalEvent) => void;
}

/** docs/zvt.md 6.1: no payment is begun at the terminal. */
export const REGISTER_CONTROLS_PAYMENTS = 0x10;

/** Throws with what is wrong and what to write instead. */
export function checkedZvtOptions(given: Partial<ZvtOptions>): ZvtOptions {
  const options = { ...defaultZvtOptions, ...given };
  if (!/^\d{6}$/.test(options.password)) {
    throw new Error("the terminal password has six digits, for example 000000");
  }
  if (!/^0\d{3}$/.test(options.registrationCurrency)) {
    throw new Error("the registration currency has four digits, for example 0978 for euro");
  }
  const { configByte, printerWidth } = options;
  if (options.sendLastReceipt && (configByte & REGISTER_CONTROLS_PAYMENTS) === 0) {
    throw new Error(
      "the last receipt number can be sent only with bit 10 of the configuration byte, BE for " +
        "example: a payment at the terminal's own keys would be reversed",
    );
  }
  if (!Number.isInteger(configByte) || configByte < 0 || configByte > 0xff) {
    throw new Error("the configuration byte is a number from 0x00 to 0xFF, for example 0xBE");
  }
  if (!Number.isInteger(printerWidth) || printerWidth < 1 || printerWidth > 99) {
    throw new Error("the printer width is a number of characters from 1 to 99, for example 40");
  }
  return options;
}
