import { tag, withTag, ZvtCodecError } from "../../../../zvt/index.ts";
import type { LastTransaction, PaymentOrder } from "../../terminal.ts";
import type { ZvtTimers } from "../zvt-options.ts";
import { type Command, type GoodsWindow, reporting } from "./commands.ts";

const ANSWER_SECONDS_MIN = 10;
/** Field 02, always sent: how often the terminal may ask again (docs/zvt.md 8.2). */
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

/** Field 01 is one byte. */
const WINDOW_SECONDS_MAX = 255;

/**
 * Returns the window for goods (docs/zvt.md 8.2). Terminals differ in what ends it: the time since
 * the first 04 0F or since the last one (field 01), their own 30 s, or the number of repeats (field
 * 02, by default at least 3). So field 01 has the whole window, field 02 is 3, and each of the four
 * 04 0F stays unanswered for a quarter of the window, below 30 s for windows up to two minutes. A
 * decision leaves at once, or after the two seconds between 84 9C and the repeat.
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
/** Bit of field 19: we take print messages, so that there is a receipt (docs/zvt.md 10.2). */
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
 * Returns the command with the terminal's last receipt number in tag 1F1F (docs/zvt.md 9.4): empty
 * when the terminal has reported that it stores none, left out when it has reported neither.
 */
export function namingLastReceipt(command: Command, last: LastTransaction): Command {
  const number = last.kind === "transaction" ? last.report.receiptNumber : "";
  const usable = last.kind === "none" || (/^\d{4}$/.test(number ?? "") && number !== "0000");
  if (!usable) return command;
  return { ...command, apdu: withTag(command.apdu, tag("lastReceiptNumber", number ?? "")) };
}
