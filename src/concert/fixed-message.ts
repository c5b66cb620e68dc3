import { ConcertCodecError } from "./errors.ts";
import { bytesOf, textOf } from "./latin-text.ts";

/** A request of the cash register, with the options of its variant (docs/concert.md 3.1). */
export interface FixedRequest {
  /** The number of the cash register: two characters, not always digits. */
  readonly posNumber: string;
  readonly amountMinor: number;
  /** What the reply has to contain: `0` no report, `1` a report with the card number, `2` tags. */
  readonly answerFlag: string;
  readonly paymentMode: string;
  /** The kind of transaction: `0` debit, `1` credit, `2` cancellation, `4` pre-authorisation. */
  readonly transactionType: string;
  /** ISO 4217, three digits. */
  readonly currency: string;
  /** Ten characters that the terminal sends back; encoding fills up a shorter text with blanks. */
  readonly private: string;
  readonly options: RequestOptions;
}

/** The options of a request, each a letter, the length 01 and a character (docs/concert.md 3.1). */
type RequestOptions =
  | { readonly variant: "e" }
  | { readonly variant: "e-plus"; readonly delay: string; readonly authorization: string }
  | { readonly variant: "e-ticket"; readonly ticket: string };

export const PRIVATE_CHARACTERS = 10;
/** The largest amount in minor units: the field has eight digits. */
export const FIXED_AMOUNT_MAX = 99_999_999;
const BASE_CHARACTERS = 26;
const OPTION_CHARACTERS = 4;

/** Returns the body of a request, without its frame. Throws {@link ConcertCodecError} "value". */
export function encodeFixedRequest(request: FixedRequest): Uint8Array {
  const text = [
    checked("posNumber", request.posNumber, /^[!-~]{2}$/),
    amountDigits(request.amountMinor),
    checked("answerFlag", request.answerFlag, /^[!-~]$/),
    checked("paymentMode", request.paymentMode, /^[!-~]$/),
    checked("transactionType", request.transactionType, /^[!-~]$/),
    checked("currency", request.currency, /^\d{3}$/),
    checked("private", request.private.padEnd(PRIVATE_CHARACTERS), /^[ -~]{10}$/),
    ...optionsOf(request.options),
  ].join("");
  return bytesOf(text);
}

/** Reads a body of 26, 30 or 34 characters. Throws {@link ConcertCodecError}. */
export function decodeFixedRequest(body: Uint8Array): FixedRequest {
  const text = textOf(body);
  const options = readOptions(text.slice(BASE_CHARACTERS), text.length);
  return {
    posNumber: text.slice(0, 2),
    amountMinor: readAmount(text.slice(2, 10)),
    answerFlag: text.slice(10, 11),
    paymentMode: text.slice(11, 12),
    transactionType: text.slice(12, 13),
    currency: readCurrency(text.slice(13, 16)),
    private: text.slice(16, BASE_CHARACTERS),
    options,
  };
}

function optionsOf(options: RequestOptions): string[] {
  switch (options.variant) {
    case "e":
      return [];
    case "e-plus":
      return [
        checked("delay", options.delay, /^A01[ -~]$/),
        checked("authorization", options.authorization, /^B01[ -~]$/),
      ];
    case "e-ticket":
      return [checked("ticket", options.ticket, /^T01[ -~]$/)];
  }
}

function readOptions(text: string, length: number): RequestOptions {
  const [first, second] = [text.slice(0, OPTION_CHARACTERS), text.slice(OPTION_CHARACTERS)];
  if (length === BASE_CHARACTERS) return { variant: "e" };
  if (length === BASE_CHARACTERS + OPTION_CHARACTERS) {
    return { variant: "e-ticket", ticket: readOption("T", first) };
  }
  if (length === BASE_CHARACTERS + 2 * OPTION_CHARACTERS) {
    const [delay, authorization] = [readOption("A", first), readOption("B", second)];
    return { variant: "e-plus", delay, authorization };
  }
  throw new ConcertCodecError("length", `a request has 26, 30 or 34 characters, not ${length}`);
}

function readOption(letter: string, text: string): string {
  if (text.startsWith(`${letter}01`)) return text;
  throw new ConcertCodecError("field", `an option ${letter}01 was expected`);
}

function checked(field: string, text: string, form: RegExp): string {
  if (form.test(text)) return text;
  throw new ConcertCodecError("value", `${field} does not have the form ${form}`);
}

function amountDigits(amountMinor: number): string {
  if (!Number.isInteger(amountMinor) || amountMinor < 0 || amountMinor > FIXED_AMOUNT_MAX) {
    throw new ConcertCodecError("value", `${amountMinor} does not fit into eight digits`);
  }
  return String(amountMinor).padStart(8, "0");
}

function readAmount(digits: string): number {
  if (/^\d{8}$/.test(digits)) return Number(digits);
  throw new ConcertCodecError("amount", "the amount is not eight digits");
}

function readCurrency(digits: string): string {
  if (/^\d{3}$/.test(digits)) return digits;
  throw new ConcertCodecError("field", "the currency is not three digits");
}

/** The terminal's reply to one request (docs/concert.md 3.2). */
export interface FixedReply {
  readonly posNumber: string;
  /** The result, a digit: `0` accepted, `7` not accepted (docs/concert.md 3.3). */
  readonly status: string;
  readonly amountMinor: number;
  readonly paymentMode: string;
  /** The report of 55 characters, which can contain an unmasked card number; null: no report. */
  readonly report: string | null;
  readonly currency: string;
  readonly private: string;
  /** The lines of the ticket, which follow all other fields; null: the reply has no ticket. */
  readonly ticket: string | null;
}

export const REPORT_CHARACTERS = 55;
const HEAD_CHARACTERS = 12;
const SHORT_CHARACTERS = 25;
const LONG_CHARACTERS = SHORT_CHARACTERS + REPORT_CHARACTERS;

/** Returns the body of a reply, without its frame. Throws {@link ConcertCodecError} "value". */
export function encodeFixedReply(reply: FixedReply): Uint8Array {
  const { posNumber, status, paymentMode, report, currency, ticket } = reply;
  const text = `${posNumber}${status}${amountDigits(reply.amountMinor)}${paymentMode}`;
  if (text.length !== HEAD_CHARACTERS || (report ?? "").length > REPORT_CHARACTERS) {
    throw new ConcertCodecError("value", "a field of the reply has another length");
  }
  const filled = report === null ? "" : report.padEnd(REPORT_CHARACTERS);
  const own = reply.private.padEnd(PRIVATE_CHARACTERS);
  return bytesOf(`${text}${filled}${currency}${own}${ticket ?? ""}`);
}

/** What the request asked for; a reply can still come without the report (docs/concert.md 2.7). */
interface AskedReply {
  /** Whether the request asked for a ticket; the reply may then have any length. */
  readonly ticket: boolean;
  readonly report: boolean;
  /** The currency of the request: its position in the reply shows where a ticket begins. */
  readonly currency: string;
}

const strict: AskedReply = { ticket: false, report: true, currency: "" };

/** Reads the body of a reply, without its frame. Throws {@link ConcertCodecError}. */
export function decodeFixedReply(body: Uint8Array, asked: AskedReply = strict): FixedReply {
  const text = textOf(body);
  const length = baseLength(text, asked);
  const hasReport = length === LONG_CHARACTERS;
  const status = text.slice(2, 3);
  if (!/^\d$/.test(status)) throw new ConcertCodecError("status", "the status is no digit");
  const currencyAt = hasReport ? HEAD_CHARACTERS + REPORT_CHARACTERS : HEAD_CHARACTERS;
  return {
    posNumber: text.slice(0, 2),
    status,
    amountMinor: readAmount(text.slice(3, 11)),
    paymentMode: text.slice(11, HEAD_CHARACTERS),
    report: hasReport ? text.slice(HEAD_CHARACTERS, currencyAt) : null,
    currency: readCurrency(text.slice(currencyAt, currencyAt + 3)),
    private: text.slice(currencyAt + 3, length),
    ticket: text.length > length ? text.slice(length) : null,
  };
}

function baseLength(text: string, { ticket, report, currency }: AskedReply): number {
  if (text.length === SHORT_CHARACTERS) return SHORT_CHARACTERS;
  if (text.length === LONG_CHARACTERS && !ticket) return LONG_CHARACTERS;
  if (!ticket || text.length < SHORT_CHARACTERS) {
    throw new ConcertCodecError("length", `a reply has 25 or 80 characters, not ${text.length}`);
  }
  const lengths = report
    ? [LONG_CHARACTERS, SHORT_CHARACTERS]
    : [SHORT_CHARACTERS, LONG_CHARACTERS];
  const currencyOf = (length: number): string => text.slice(length - 13, length - 10);
  const found =
    lengths.find((length) => currencyOf(length) === currency) ??
    lengths.find((length) => /^\d{3}$/.test(currencyOf(length)));
  if (found !== undefined) return found;
  throw new ConcertCodecError("field", "no currency stands where one belongs");
}
