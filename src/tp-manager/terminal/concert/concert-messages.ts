import { isDeepStrictEqual } from "node:util";
import {
  applicationName,
  ConcertCodecError,
  damagedText,
  decodeFixedReply,
  decodeFixedRequest,
  encodeFixedRequest,
  FIXED_AMOUNT_MAX,
  type FixedReply,
  type FixedRequest,
  maskedField,
  panOfReport,
} from "../../../concert/index.ts";
import { maskPansInText } from "../../../shared/masking/mask.ts";
import { ticketOfLines } from "../../../shared/masking/printed-lines.ts";
import type { Messages, Reading } from "../one-way/dialogue.ts";
import { resultReport } from "../one-way/result-report.ts";
import type { PaymentOrder } from "../terminal.ts";

export interface ConcertOptions {
  readonly variant: "e" | "e-plus" | "e-ticket";
  /** The number of the cash register: two characters. */
  readonly register: string;
  /** Whether a request asks for the card number in the reply, as a report of 55 characters. */
  readonly report: boolean;
}

const BANK_CARD = "1";
const DEBIT = "0";
/** Request option: the terminal answers once the payment has ended (docs/concert.md 3.1). */
const ANSWER_AT_END = "A010";
/** Request option: the terminal decides whether to ask the bank (docs/concert.md 3.1). */
const TERMINAL_DECIDES = "B010";
const CUSTOMER_TICKET = "T012";

/** Returns encoder and reader of payment messages of fixed fields (docs/concert.md 3.1, 3.2). */
export function concertMessages(options: ConcertOptions): Messages {
  return {
    request: (order) => requestOf(order, options),
    read: (reply, order) => readReply(reply, order, options),
  };
}

/** Encodes an order. Throws unless our decoder reads back the same order (docs/concert.md 2.6). */
function requestOf(order: PaymentOrder, options: ConcertOptions): Uint8Array {
  if (order.amountMinor > FIXED_AMOUNT_MAX) {
    throw new ConcertCodecError("value", "the amount is larger than this protocol can express");
  }
  const request: FixedRequest = {
    posNumber: options.register,
    amountMinor: order.amountMinor,
    answerFlag: options.report ? "1" : "0",
    paymentMode: BANK_CARD,
    transactionType: DEBIT,
    currency: order.currencyNumeric,
    private: (order.reference ?? "").padEnd(10),
    options: optionsOf(options),
  };
  const body = encodeFixedRequest(request);
  if (isDeepStrictEqual(decodeFixedRequest(body), request)) return body;
  throw new ConcertCodecError("value", "the request does not decode to the order");
}

function optionsOf({ variant }: ConcertOptions): FixedRequest["options"] {
  switch (variant) {
    case "e":
      return { variant };
    case "e-plus":
      return { variant, delay: ANSWER_AT_END, authorization: TERMINAL_DECIDES };
    case "e-ticket":
      return { variant, ticket: CUSTOMER_TICKET };
  }
}

function readReply(body: Uint8Array, order: PaymentOrder | null, options: ConcertOptions): Reading {
  const { variant, report } = options;
  const currency = order?.currencyNumeric ?? "";
  try {
    const reply = decodeFixedReply(body, { ticket: variant === "e-ticket", report, currency });
    return resultOf(reply, order, options);
  } catch (error) {
    if (!(error instanceof ConcertCodecError)) throw error;
    return { reading: "unreadable", why: `${error.message}: "${damagedText(body, 200)}"` };
  }
}

function resultOf(
  reply: FixedReply,
  order: PaymentOrder | null,
  { register }: ConcertOptions,
): Reading {
  const { status, amountMinor, currency: currencyNumeric, posNumber } = reply;
  const isKnown = status === "0" || status === "7";
  const result = {
    good: status === "0",
    resultCode: isKnown ? status : null,
    resultText: statusTexts[status] ?? `the terminal reported no result (status ${status})`,
    reason: "declined" as const,
    amountMinor,
    currencyNumeric,
    reference: maskedField(reply.private).trim() || null,
    differs: posNumber === register ? [] : ["register number"],
    isOurRegister: posNumber === register,
    maskedPan: reply.report === null ? null : panOfReport(reply.report),
    cardName: applicationName(reply.paymentMode),
  };
  return {
    reading: "result",
    report: resultReport(result, order),
    ticket: ticketOfLines(maskPansInText(reply.ticket ?? "").split(/\r?\n/)),
    end: isKnown ? "known" : "wait",
  };
}

const statusTexts: Readonly<Record<string, string>> = { "0": "approved", "7": "not approved" };
