import {
  type Apdu,
  codeOfCharset,
  container,
  encodeMessage,
  fromHex,
  type MessageInput,
  type MessageName,
  tag,
} from "../../../../zvt/index.ts";
import type { ReversalOrder } from "../../terminal.ts";
import type { ZvtOptions } from "../zvt-options.ts";

/** One command of the register: what leaves, and the closed set of what may come back. */
export interface Command {
  readonly name: MessageName;
  readonly apdu: Apdu;
  /**
   * Messages that the terminal may send while the command runs and the terminal is master, besides
   * 06 0F and 06 1E (docs/zvt.md 5.2). Anything else is refused with 84 83.
   */
  readonly replies: readonly MessageName[];
  /** "answer": 80 00 ends it. Else 06 0F or 06 1E, until which the terminal is master. */
  readonly ends: "answer" | "completion";
  /** Whether a 04 0F is stored before its ACK, and may be refused (docs/architecture.md 1.2). */
  readonly judged: boolean;
  /** A sale that may wait for its goods (docs/zvt.md 8.1). */
  readonly goods?: GoodsWindow;
}

export interface GoodsWindow {
  /** How long one 04 0F is left unanswered before the terminal has to ask again. */
  readonly holdMs: number;
  /** How often the terminal may be made to ask again, field 02. */
  readonly asksMax: number;
  /** How long the terminal waits for an answer before it reverses, field 01. */
  readonly windowMs: number;
}

/** Sent by the terminal on every occasion it likes (docs/zvt.md 6.5, 7.4). */
export const anyTime: readonly MessageName[] = [
  "intermediate-status",
  "print-line",
  "print-text-block",
  "set-register-time",
];

function command(name: MessageName, input: MessageInput = {}): Command {
  const apdu = encodeMessage(name, input);
  return { name, apdu, replies: anyTime, ends: "completion", judged: false };
}

/** A command during which the terminal may send a 04 0F. */
export function reporting(name: MessageName, input: MessageInput, judged = false): Command {
  return { ...command(name, input), replies: ["status-information", ...anyTime], judged };
}

/** Tag 1F04 of a registration, docs/zvt.md 11.2: the terminal prints no merchant's receipt. */
const CUSTOMER_RECEIPTS = 0xc0;

/** Registration 06 00, docs/zvt.md 6.1. The currency is two bare bytes, never field 49. */
export function registration(options: ZvtOptions): Command {
  const { password, configByte, registrationCurrency: currency, charset } = options;
  const tags = [
    tag("printerWidth", String(options.printerWidth).padStart(2, "0")),
    container("permittedCommands", [tag("command", fromHex("06d3"))]),
    // CP437 holds when nothing else is asked for.
    ...(charset === "cp437" || charset === "zvt7"
      ? []
      : [container("charsets", [tag("charset", codeOfCharset(charset))])]),
    tag("receiptsWanted", Uint8Array.of(CUSTOMER_RECEIPTS)),
    ...(options.messageIds ? [tag("messageSequence", "000000")] : []),
  ];
  return command("registration", { parts: { password, configByte, currency }, tags });
}

/** For terminals that take nothing else: without a container, and perhaps without a currency. */
export function bareRegistration(options: ZvtOptions, named: "currency" | "nothing"): Command {
  const { password, configByte, registrationCurrency: currency } = options;
  const parts = { password, configByte, ...(named === "currency" ? { currency } : {}) };
  return command("registration", { parts });
}

/** docs/zvt.md 6.5: leave the version out and send the container; the safest form of the answer. */
const STATUS_AND_CONTAINER = 0x06;

/** Every terminal understands the plain form, which asks for the software version too. */
export type StatusForm = "container" | "plain";

/**
 * Status-Enquiry 05 01, docs/zvt.md 6.5. The terminal uses the occasion for jobs of its own, an end
 * of day with its totals among them.
 */
export function statusEnquiry(password: string, form: StatusForm): Command {
  const fields = form === "container" ? { serviceByte: STATUS_AND_CONTAINER } : {};
  return command("status-enquiry", { parts: { password }, fields });
}

/** docs/zvt.md 6.4: send the 04 0F of the last transaction, print nothing. */
const STATUS_ONLY = 0x03;

/** Repeat Receipt 06 20 in its recovery form, docs/zvt.md 9.2. Changes nothing at the terminal. */
export function repeatReceipt(password: string): Command {
  const fields = { serviceByte: STATUS_ONLY };
  return reporting("repeat-receipt", { parts: { password }, fields });
}

/**
 * Reversal 06 30, docs/zvt.md 6.3: only of a stored payment with that receipt number and amount. As
 * financial as a payment: it leaves once and its report is stored before it is acknowledged. Some
 * terminals print before the 04 0F (Feig, docs/zvt.md 12.5).
 */
export function reversal(order: ReversalOrder, password: string): Command {
  const fields = {
    receiptNumber: order.receiptNumber.padStart(4, "0"),
    amount: order.amountMinor,
    currency: order.currencyNumeric.padStart(4, "0"),
  };
  return reporting("reversal", { parts: { password }, fields }, true);
}

/** End of Day 06 50, docs/zvt.md 6.4: the terminal settles its turnover and reports the totals. */
export function endOfDay(password: string): Command {
  return reporting("end-of-day", { parts: { password } });
}

/** Turnover Totals 06 10, docs/zvt.md 6.4: the totals of an end of day, and nothing is closed. */
export function turnoverTotals(password: string): Command {
  return reporting("turnover-totals", { parts: { password } });
}

/** Initialisation 06 93, docs/zvt.md 6.4; the cure of status 51 (docs/zvt.md 11.5). */
export function initialisation(password: string): Command {
  return reporting("initialisation", { parts: { password } });
}

/** Tag 1B, docs/zvt.md 6.4. */
const diagnosisTypes = { line: 1, extended: 2, configuration: 3, emv: 4 } as const;

/** Diagnosis 06 70, docs/zvt.md 6.4. Always with its type: card complete terminals require it. */
export function diagnosis(type: keyof typeof diagnosisTypes): Command {
  return reporting("diagnosis", { tags: [tag("diagnosisType", diagnosisTypes[type])] });
}

/** Set Date and Time 06 91, docs/zvt.md 6.4: local time. */
export function setDateTime(password: string, nowMs: number): Command {
  const now = new Date(nowMs);
  const digits = (...numbers: readonly number[]): string =>
    numbers.map((number) => String(number).padStart(2, "0")).join("");
  const fields = {
    dateYYMMDD: digits(now.getFullYear() % 100, now.getMonth() + 1, now.getDate()),
    time: digits(now.getHours(), now.getMinutes(), now.getSeconds()),
  };
  return command("set-date-time", { parts: { password }, fields });
}

/** Reset Terminal 06 18, docs/zvt.md 6.4: 80 00, 06 0F, then it restarts. */
export function resetTerminal(): Command {
  return command("reset-terminal");
}

/** Log-Off 06 02, docs/zvt.md 6.4: no completion; the terminal may be used by others then. */
export function logOff(): Command {
  return { ...command("log-off"), replies: [], ends: "answer" };
}

/** Instead of a receipt number, docs/zvt.md 6.3. In an answer it means: none. */
export const NO_RECEIPT_NUMBER = "FFFF";

/**
 * Open pre-authorisations: a partial reversal 06 23 that names none (docs/zvt.md 6.3). The normal
 * answer is 06 1E B8. The empty container asks for the whole list.
 */
export function openPreAuths(): Command {
  return command("partial-reversal", { fields: { receiptNumber: NO_RECEIPT_NUMBER }, tags: [] });
}
