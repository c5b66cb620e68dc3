import {
  type Apdu,
  codeOfCharset,
  container,
  encodeMessage,
  fromHex,
  type MessageInput,
  type MessageName,
  tag,
  withTag,
  ZvtCodecError,
} from "../../../../zvt/index.ts";
import type { LastTransaction, PaymentOrder, ReversalOrder } from "../../terminal.ts";
import type { ZvtOptions, ZvtTimers } from "../zvt-options.ts";

/** One command of the register: the message to send, and the messages that may come back. */
export interface Command {
  readonly name: MessageName;
  readonly apdu: Apdu;
  /**
   * The messages that the terminal may send while it carries out the command, besides completion
   * (06 0F) and abort (06 1E); others are refused (docs/zvt.md 5.2).
   */
  readonly replies: readonly MessageName[];
  /** What ends the command: the answer 80 00, or a completion 06 0F or abort 06 1E. */
  readonly ends: "answer" | "completion";
  /** Whether a result 04 0F is stored before its ACK, and may be refused (payment, reversal). */
  readonly judged: boolean;
  /** Present in a two-phase sale: how long it waits for the goods (docs/zvt.md 8.1). */
  readonly goods?: Readonly<ReturnType<typeof goodsWindow>>;
}

/** Messages that the terminal may send during any command (docs/zvt.md 6.5, 7.4). */
const anyTime: readonly MessageName[] = [
  "intermediate-status",
  "print-line",
  "print-text-block",
  "set-register-time",
];

function command(name: MessageName, input: MessageInput = {}): Command {
  const apdu = encodeMessage(name, input);
  return { name, apdu, replies: anyTime, ends: "completion", judged: false };
}

/** Returns a command during which the terminal may send a result 04 0F. */
function reporting(name: MessageName, input: MessageInput, judged = false): Command {
  return { ...command(name, input), replies: ["status-information", ...anyTime], judged };
}

/** Tag 1F04 of a registration: only customer receipts are wanted (docs/zvt.md 11.2). */
const CUSTOMER_RECEIPTS = 0xc0;

/** Returns Registration (06 00, docs/zvt.md 6.1), with the currency as two bare bytes. */
export function registration(options: ZvtOptions): Command {
  const { password, configByte, registrationCurrency: currency, charset } = options;
  const tags = [
    tag("printerWidth", String(options.printerWidth).padStart(2, "0")),
    container("permittedCommands", [tag("command", fromHex("06d3"))]),
    // A registration without a character set means CP437.
    ...(charset === "cp437" || charset === "zvt7"
      ? []
      : [container("charsets", [tag("charset", codeOfCharset(charset))])]),
    tag("receiptsWanted", Uint8Array.of(CUSTOMER_RECEIPTS)),
    ...(options.messageIds ? [tag("messageSequence", "000000")] : []),
  ];
  return command("registration", { parts: { password, configByte, currency }, tags });
}

/** Returns a registration without container, for terminals that refuse the full form. */
export function bareRegistration(options: ZvtOptions, named: "currency" | "nothing"): Command {
  const { password, configByte, registrationCurrency: currency } = options;
  const parts = { password, configByte, ...(named === "currency" ? { currency } : {}) };
  return command("registration", { parts });
}

/** Service byte of a status enquiry: with container, without version (docs/zvt.md 6.5). */
const STATUS_AND_CONTAINER = 0x06;

/** The form of a status enquiry; every terminal knows "plain". */
export type StatusForm = "container" | "plain";

/** Returns Status Enquiry (05 01, docs/zvt.md 6.5), on which a terminal may begin its own jobs. */
export function statusEnquiry(password: string, form: StatusForm): Command {
  const fields = form === "container" ? { serviceByte: STATUS_AND_CONTAINER } : {};
  return command("status-enquiry", { parts: { password }, fields });
}

/** Service byte of Repeat Receipt: send the last 04 0F, print nothing (docs/zvt.md 6.4). */
const STATUS_ONLY = 0x03;

/** Returns Repeat Receipt (06 20) in its recovery form, which changes nothing (docs/zvt.md 9.2). */
export function repeatReceipt(password: string): Command {
  const fields = { serviceByte: STATUS_ONLY };
  return reporting("repeat-receipt", { parts: { password }, fields });
}

/**
 * Returns Reversal (06 30, docs/zvt.md 6.3) of the stored payment with this receipt number and
 * amount. A financial command: it is sent once, and its result is stored before ACK.
 */
export function reversal(order: ReversalOrder, password: string): Command {
  const fields = {
    receiptNumber: order.receiptNumber.padStart(4, "0"),
    amount: order.amountMinor,
    currency: order.currencyNumeric.padStart(4, "0"),
  };
  return reporting("reversal", { parts: { password }, fields }, true);
}

/** Returns End of Day (06 50, docs/zvt.md 6.4), which settles the turnover and reports totals. */
export function endOfDay(password: string): Command {
  return reporting("end-of-day", { parts: { password } });
}

/** Returns Turnover Totals (06 10, docs/zvt.md 6.4), which closes nothing. */
export function turnoverTotals(password: string): Command {
  return reporting("turnover-totals", { parts: { password } });
}

/** Returns Initialisation (06 93, docs/zvt.md 6.4), which a terminal with status 51 demands. */
export function initialisation(password: string): Command {
  return reporting("initialisation", { parts: { password } });
}

/** The values of tag 1B, the type of a diagnosis (docs/zvt.md 6.4). */
const diagnosisTypes = { line: 1, extended: 2, configuration: 3, emv: 4 } as const;

/** Returns Diagnosis (06 70, docs/zvt.md 6.4), always with its type, as card complete demands. */
export function diagnosis(type: keyof typeof diagnosisTypes): Command {
  return reporting("diagnosis", { tags: [tag("diagnosisType", diagnosisTypes[type])] });
}

/** Returns Set Date and Time (06 91, docs/zvt.md 6.4), with the local time. */
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

/** Returns Reset Terminal (06 18, docs/zvt.md 6.4); the terminal restarts after 80 00 and 06 0F. */
export function resetTerminal(): Command {
  return command("reset-terminal");
}

/** Returns Log-Off (06 02, docs/zvt.md 6.4): then the terminal's own keys work again. */
export function logOff(): Command {
  return { ...command("log-off"), replies: [], ends: "answer" };
}

/** The receipt number that stands for "none" (docs/zvt.md 6.3). */
export const NO_RECEIPT_NUMBER = "FFFF";

/**
 * Returns the question for open pre-authorisations: a partial reversal 06 23 without receipt
 * number, normally answered by 06 1E B8 (docs/zvt.md 6.3). An empty container asks for all.
 */
export function openPreAuths(): Command {
  return command("partial-reversal", { fields: { receiptNumber: NO_RECEIPT_NUMBER }, tags: [] });
}

const ANSWER_SECONDS_MIN = 10;
/** How often a terminal may repeat its result 04 0F: field 02 of a sale (docs/zvt.md 8.2). */
const STATUS_INFORMATIONS_MAX = 3;

/**
 * Returns field 01 of a sale without goods (docs/zvt.md 8.2): how many seconds the terminal waits
 * for our answer to its 04 0F before it reverses. Enough for two repeats on a serial line (T2 each)
 * and T3 for disk and network. A longer time would delay recovery after a lost answer.
 */
export function answerSeconds({ t2Ms, t3Ms }: ZvtTimers): number {
  const seconds = Math.ceil((2 * t2Ms + t3Ms) / 1_000);
  return Math.min(Math.max(seconds, ANSWER_SECONDS_MIN), WINDOW_SECONDS_MAX);
}

/** The longest window for goods in seconds: field 01 is one byte. */
const WINDOW_SECONDS_MAX = 255;

/**
 * Returns the window for goods of a two-phase sale (docs/zvt.md 8.2). Field 01 is the whole window,
 * as terminals count it from their first or last 04 0F; field 02 allows three repeats. Each of the
 * four 04 0F stays unanswered for a quarter of the window. Some terminals wait only 30 s: a quarter
 * is below that for windows up to two minutes. A decision is sent at once, or at the repeat two
 * seconds after 84 9C.
 */
function goodsWindow(seconds: number) {
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > WINDOW_SECONDS_MAX) {
    throw new ZvtCodecError("value", `the window for goods is 1 to ${WINDOW_SECONDS_MAX} seconds`);
  }
  return {
    /** How long a result (04 0F) stays unanswered before we ask the terminal to repeat it. */
    holdMs: Math.ceil(seconds / (STATUS_INFORMATIONS_MAX + 1)) * 1_000,
    /** The most times the terminal may repeat its result 04 0F: field 02. */
    asksMax: STATUS_INFORMATIONS_MAX,
    /** How long the terminal waits for our answer before it reverses the sale: field 01. */
    windowMs: seconds * 1_000,
  };
}

/** Bit of field 19: the terminal decides how the card is checked (docs/zvt.md 6.2). */
const TERMINAL_DECIDES = 0x40;
/** Bit of field 19: the register prints receipts (docs/zvt.md 10.2). */
const PRINTER_READY = 0x04;

/** Returns the authorisation 06 01 (docs/zvt.md 6.2). */
export function authorisation(
  { amountMinor, currencyNumeric, goodsWindowSeconds }: PaymentOrder,
  {
    printerReady,
    answerSeconds: answerWithin = ANSWER_SECONDS_MIN,
  }: { readonly printerReady: boolean; readonly answerSeconds?: number },
): Command {
  const fields = {
    amount: amountMinor,
    currency: currencyNumeric.padStart(4, "0"),
    typeByte: TERMINAL_DECIDES | (printerReady ? PRINTER_READY : 0),
    timeoutSeconds: goodsWindowSeconds ?? answerWithin,
    maxStatusInfos: STATUS_INFORMATIONS_MAX,
  };
  const command = reporting("authorisation", { fields }, true);
  if (goodsWindowSeconds === undefined) return command;
  return { ...command, goods: goodsWindow(goodsWindowSeconds) };
}

/**
 * Returns the command with the last receipt number in tag 1F1F (docs/zvt.md 9.4): empty if the
 * terminal stores no transaction, and left out if the last one is not known.
 */
export function namingLastReceipt(command: Command, last: LastTransaction): Command {
  const number = last.kind === "transaction" ? last.report.receiptNumber : "";
  const usable = last.kind === "none" || (/^\d{4}$/.test(number ?? "") && number !== "0000");
  if (!usable) return command;
  return { ...command, apdu: withTag(command.apdu, tag("lastReceiptNumber", number ?? "")) };
}
