import { ConcertCodecError } from "./errors.ts";
import { amountDigits, PRIVATE_CHARACTERS, readAmount, readCurrency } from "./fixed-request.ts";
import { bytesOf, textOf } from "./latin-text.ts";

/** docs/concert.md 3.2: the terminal's reply to one request. */
export interface FixedReply {
  readonly posNumber: string;
  /** A digit; `0` accepted, `7` not accepted (docs/concert.md 3.3). */
  readonly status: string;
  readonly amountMinor: number;
  readonly paymentMode: string;
  /** 55 characters; null in the short reply. May hold a card number in clear. */
  readonly report: string | null;
  readonly currency: string;
  readonly private: string;
  /** Lines that follow the private field when a ticket was asked for; null without. */
  readonly ticket: string | null;
}

export const REPORT_CHARACTERS = 55;
const HEAD_CHARACTERS = 12;
const SHORT_CHARACTERS = 25;
const LONG_CHARACTERS = SHORT_CHARACTERS + REPORT_CHARACTERS;

/** The body of a reply, without its frame. Throws {@link ConcertCodecError} "value". */
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

/** How the reply was asked for: both lengths are accepted all the same (docs/concert.md 2.7). */
interface AskedReply {
  /** A ticket was asked for, so the length is open. */
  readonly ticket: boolean;
  /** A report was asked for; with a ticket, that length is tried first. */
  readonly report: boolean;
  /** The currency of the request; with a ticket, its position decides about the length. */
  readonly currency: string;
}

const strict: AskedReply = { ticket: false, report: true, currency: "" };

/** Reads a body. Throws {@link ConcertCodecError}. */
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
