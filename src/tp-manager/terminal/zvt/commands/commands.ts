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
   * Messages that the terminal may send while the command runs and the terminal is master, besides
   * completion (06 0F) and abort (06 1E; docs/zvt.md 5.2). Others are refused with 84 83.
   */
  readonly replies: readonly MessageName[];
  /** What ends the command: 80 00 ("answer"), or 06 0F (done) or 06 1E (abort) ("completion"). */
  readonly ends: "answer" | "completion";
  /** Whether a result 04 0F is stored before ACK, and may be refused (docs/architecture.md 1.2). */
  readonly judged: boolean;
  /** Present in a two-phase sale: the times of its wait for the goods (docs/zvt.md 8.1). */
  readonly goods?: GoodsWindow;
}

interface GoodsWindow {
  /** How long a result (04 0F) stays unanswered before we ask the terminal to repeat it. */
  readonly holdMs: number;
  /** The most times the terminal may repeat its 04 0F (result): field 02 of the payment. */
  readonly asksMax: number;
  /** How long the terminal waits for our answer before it reverses the sale (field 01). */
  readonly windowMs: number;
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

/** Returns a command during which the terminal may send a result (04 0F). */
function reporting(name: MessageName, input: MessageInput, judged = false): Command {
  return { ...command(name, input), replies: ["status-information", ...anyTime], judged };
}

/** Tag 1F04 of a registration, docs/zvt.md 11.2: the terminal prints no merchant's receipt. */
const CUSTOMER_RECEIPTS = 0xc0;

/** Returns Registration (06 00, docs/zvt.md 6.1); the currency is two bytes, no field number. */
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

/** Returns a registration without container, for terminals that refuse the full registration. */
export function bareRegistration(options: ZvtOptions, named: "currency" | "nothing"): Command {
  const { password, configByte, registrationCurrency: currency } = options;
  const parts = { password, configByte, ...(named === "currency" ? { currency } : {}) };
  return command("registration", { parts });
}

/** Service byte of an enquiry, docs/zvt.md 6.5: status with container, without version; safest. */
const STATUS_AND_CONTAINER = 0x06;

/** The form of a status enquiry; every terminal knows "plain", which also returns the version. */
export type StatusForm = "container" | "plain";

/** Status-Enquiry 05 01 (docs/zvt.md 6.5), during which the terminal may run jobs of its own. */
export function statusEnquiry(password: string, form: StatusForm): Command {
  const fields = form === "container" ? { serviceByte: STATUS_AND_CONTAINER } : {};
  return command("status-enquiry", { parts: { password }, fields });
}

/** Service byte of Repeat Receipt: send the last result 04 0F, print nothing (docs/zvt.md 6.4). */
const STATUS_ONLY = 0x03;

/** Returns Repeat Receipt (06 20) in its recovery form, which changes nothing (docs/zvt.md 9.2). */
export function repeatReceipt(password: string): Command {
  const fields = { serviceByte: STATUS_ONLY };
  return reporting("repeat-receipt", { parts: { password }, fields });
}

/**
 * Returns Reversal (06 30, docs/zvt.md 6.3) of the stored payment with this receipt number and
 * amount. A reversal is a financial command: it is sent once, and its report is stored before its
 * ACK. Some terminals print before the 04 0F (Feig, docs/zvt.md 12.5).
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

/** Returns Turnover Totals (06 10, docs/zvt.md 6.4): totals of an end of day, closing nothing. */
export function turnoverTotals(password: string): Command {
  return reporting("turnover-totals", { parts: { password } });
}

/** Returns Initialisation (06 93, docs/zvt.md 6.4), which ends status 51, initialisation needed. */
export function initialisation(password: string): Command {
  return reporting("initialisation", { parts: { password } });
}

/** The values of tag 1B, the type of a diagnosis (docs/zvt.md 6.4). */
const diagnosisTypes = { line: 1, extended: 2, configuration: 3, emv: 4 } as const;

/** Returns Diagnosis (06 70, docs/zvt.md 6.4) with its type: card complete terminals require it. */
export function diagnosis(type: keyof typeof diagnosisTypes): Command {
  return reporting("diagnosis", { tags: [tag("diagnosisType", diagnosisTypes[type])] });
}

/** Returns the command Set Date and Time (06 91, docs/zvt.md 6.4) with the local time. */
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

/** Returns Log-Off (06 02, docs/zvt.md 6.4): no completion; others may use the terminal then. */
export function logOff(): Command {
  return { ...command("log-off"), replies: [], ends: "answer" };
}

/** The value of a receipt number's field when there is no number (docs/zvt.md 6.3). */
export const NO_RECEIPT_NUMBER = "FFFF";

/**
 * Returns the question for open pre-authorisations: a partial reversal 06 23 without a receipt
 * number (docs/zvt.md 6.3), which is normally answered 06 1E with code B8. The empty TLV container
 * asks for the whole list.
 */
export function openPreAuths(): Command {
  return command("partial-reversal", { fields: { receiptNumber: NO_RECEIPT_NUMBER }, tags: [] });
}

const ANSWER_SECONDS_MIN = 10;
/** How often a terminal may repeat its 04 0F (result): field 02, always sent (docs/zvt.md 8.2). */
const STATUS_INFORMATIONS_MAX = 3;

/**
 * Returns field 01 of a sale without goods (docs/zvt.md 8.2): how long the terminal waits for our
 * answer to its 04 0F before it reverses. The time must outlast two repeats on a serial line, T2
 * apart (docs/zvt.md 2.4), and T3 for the disk and a slow network. A longer time would keep the
 * terminal, its card and recovery waiting after a lost answer.
 */
export function answerSeconds({ t2Ms, t3Ms }: ZvtTimers): number {
  const seconds = Math.ceil((2 * t2Ms + t3Ms) / 1_000);
  return Math.min(Math.max(seconds, ANSWER_SECONDS_MIN), WINDOW_SECONDS_MAX);
}

/** The longest goods decision window in seconds: field 01 is one byte. */
const WINDOW_SECONDS_MAX = 255;

/**
 * Returns the goods decision window of a two-phase sale (docs/zvt.md 8.2). A terminal ends the
 * window at the time of field 01 after its first or last 04 0F, after 30 s of its own, or after the
 * repeats of field 02 (by default at least 3). Therefore field 01 is the whole window, field 02 is
 * 3, and each of the four 04 0F stays unanswered for a quarter of the window: below 30 s for
 * windows up to two minutes. A decision is sent at once, or at the repeat two seconds after 84 9C.
 */
function goodsWindow(seconds: number): GoodsWindow {
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > WINDOW_SECONDS_MAX) {
    throw new ZvtCodecError("value", `the window for goods is 1 to ${WINDOW_SECONDS_MAX} seconds`);
  }
  const holdMs = Math.ceil(seconds / (STATUS_INFORMATIONS_MAX + 1)) * 1_000;
  return { holdMs, asksMax: STATUS_INFORMATIONS_MAX, windowMs: seconds * 1_000 };
}

/** Bit of field 19: the terminal decides how the card is checked (docs/zvt.md 6.2). */
const TERMINAL_DECIDES = 0x40;
/** Bit of field 19: the register accepts print messages, for receipts (docs/zvt.md 10.2). */
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
 * Returns the command with the terminal's last receipt number in tag 1F1F (docs/zvt.md 9.4). The
 * tag is empty when the terminal stores no transaction, and missing when its last one is not known.
 */
export function namingLastReceipt(command: Command, last: LastTransaction): Command {
  const number = last.kind === "transaction" ? last.report.receiptNumber : "";
  const usable = last.kind === "none" || (/^\d{4}$/.test(number ?? "") && number !== "0000");
  if (!usable) return command;
  return { ...command, apdu: withTag(command.apdu, tag("lastReceiptNumber", number ?? "")) };
}
