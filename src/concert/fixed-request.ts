import { ConcertCodecError } from "./errors.ts";
import { bytesOf, textOf } from "./latin-text.ts";

/** docs/concert.md 3.1: what the register asks for, with the options of its variant. */
export interface FixedRequest {
  /** Two characters, not always digits. */
  readonly posNumber: string;
  readonly amountMinor: number;
  /** `0` no report, `1` report with the card number, `2` report as tags. */
  readonly answerFlag: string;
  readonly paymentMode: string;
  /** `0` debit, `1` credit, `2` cancellation, `4` pre-authorisation. */
  readonly transactionType: string;
  /** ISO 4217, three digits. */
  readonly currency: string;
  /** Ten characters, blanks kept; shorter ones are filled up when encoded. */
  readonly private: string;
  readonly options: RequestOptions;
}

/** Each option is its letter, the length 01 and one character (docs/concert.md 3.1). */
type RequestOptions =
  | { readonly variant: "e" }
  | { readonly variant: "e-plus"; readonly delay: string; readonly authorization: string }
  | { readonly variant: "e-ticket"; readonly ticket: string };

export const PRIVATE_CHARACTERS = 10;
/** Eight digits. */
export const FIXED_AMOUNT_MAX = 99_999_999;
const BASE_CHARACTERS = 26;
const OPTION_CHARACTERS = 4;

/** The body of a request, without its frame. Throws {@link ConcertCodecError} "value". */
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

export function amountDigits(amountMinor: number): string {
  if (!Number.isInteger(amountMinor) || amountMinor < 0 || amountMinor > FIXED_AMOUNT_MAX) {
    throw new ConcertCodecError("value", `${amountMinor} does not fit into eight digits`);
  }
  return String(amountMinor).padStart(8, "0");
}

export function readAmount(digits: string): number {
  if (/^\d{8}$/.test(digits)) return Number(digits);
  throw new ConcertCodecError("amount", "the amount is not eight digits");
}

export function readCurrency(digits: string): string {
  if (/^\d{3}$/.test(digits)) return digits;
  throw new ConcertCodecError("field", "the currency is not three digits");
}
