import {
  ConcertCodecError,
  decodeFixedReply,
  decodeFixedRequest,
  type FixedReply,
  type FixedRequest,
  maskedField,
  panOfReport,
} from "../../../../concert/index.ts";
import { maskPansInText } from "../../../../shared/masking/mask.ts";
import { amountInWords, currencyInWords } from "../../amount-words.ts";
import type { TraceField } from "../../trace-log.ts";
import {
  actionInWords,
  BETWEEN_FIELDS,
  field,
  inOneLine,
  type MessageReading,
  paymentModeInWords,
  type ReadBody,
  shownRest,
} from "./body-reading.ts";

/** docs/concert.md 3.3 */
const statusWords: Readonly<Record<string, string>> = {
  "0": "accepted",
  "7": "not accepted",
  "9": "request taken, no result",
};

const answerWords: Readonly<Record<string, string>> = {
  "0": "no report",
  "1": "a report with the card number",
  "2": "a report as tags",
};

/** The one character after the letter of an option (docs/concert.md 3.1). */
const optionWords: Readonly<Record<string, string>> = {
  A010: "answer at the end",
  A011: "answer at once: the result is never told",
  B010: "the terminal decides",
  B011: "ask the bank",
  T010: "no receipt",
  T012: "a receipt behind the answer",
};

const variantNames = { e: "E", "e-plus": "E+", "e-ticket": "E with a ticket" } as const;

/** Requests and replies of fixed fields, E, E+ and E with a ticket (docs/concert.md 3.1, 3.2). */
export class FixedReading implements MessageReading {
  /** The last request: only with it a report can be distinguished from a ticket. */
  #asked: FixedRequest | undefined;

  read(body: Uint8Array, direction: "in" | "out"): ReadBody {
    try {
      return direction === "in" ? this.#request(body) : this.#reply(body);
    } catch (error) {
      if (!(error instanceof ConcertCodecError)) throw error;
      const message = direction === "in" ? "not a request" : "not a reply";
      return { message, note: `(${error.message})`, text: shownRest(body) };
    }
  }

  #request(body: Uint8Array): ReadBody {
    const request = decodeFixedRequest(body);
    this.#asked = request;
    const { posNumber, answerFlag, paymentMode, transactionType, currency, options } = request;
    const action = actionInWords(transactionType);
    return told(`type ${transactionType} ${action}`, {
      facts: [variantNames[options.variant], amountInWords(request), `register ${posNumber}`],
      fields: [
        field("register", posNumber),
        amountField(request),
        field("answer", answerFlag, answerWords[answerFlag]),
        field("payment mode", paymentMode, paymentModeInWords(paymentMode)),
        field("transaction type", transactionType, action),
        field("currency", currency, currencyInWords(currency)),
        field("private", request.private, ownWords(request.private)),
        ...optionFields(options),
      ],
    });
  }

  #reply(body: Uint8Array): ReadBody {
    const asked = this.#asked;
    const reply = decodeFixedReply(body, {
      ticket: asked === undefined || asked.options.variant === "e-ticket",
      report: asked === undefined || asked.answerFlag !== "0",
      currency: asked?.currency ?? "",
    });
    const { posNumber, status, paymentMode, currency, report, ticket } = reply;
    const means = statusWords[status] ?? "no result that is known";
    const card = report === null ? null : panOfReport(report);
    return told(`status ${status} ${means}`, {
      facts: [amountInWords(reply), card === null ? undefined : `card ${card}`],
      fields: [
        field("register", posNumber),
        field("status", status, means),
        amountField(reply),
        field("payment mode", paymentMode, paymentModeInWords(paymentMode)),
        ...(report === null ? [] : [reportField(report, card)]),
        field("currency", currency, currencyInWords(currency)),
        field("private", reply.private, ownWords(reply.private)),
        ...(ticket === null ? [] : [field("receipt", maskPansInText(ticket))]),
      ],
    });
  }
}

/** The fields in their order are the message. */
function told(
  message: string,
  { facts, fields }: { facts: readonly (string | undefined)[]; fields: readonly TraceField[] },
): ReadBody {
  const text = fields.map(({ value }) => value).join(BETWEEN_FIELDS);
  return { message, ...inOneLine(facts), fields, text };
}

function amountField(of: FixedReply | FixedRequest): TraceField {
  return field("amount", String(of.amountMinor).padStart(8, "0"), amountInWords(of));
}

/** The bytes after the card number are not documented, and not shown (docs/concert.md 3.2). */
function reportField(report: string, card: string | null): TraceField {
  if (card === null) return field("report", maskedField(report), ownWords(report));
  const rest = report.slice(card.length).replace(/[^ ]/g, ".");
  return field("report", card + rest, "the card number");
}

function ownWords(text: string): string | undefined {
  return text.trim() === "" ? "blank" : undefined;
}

function optionFields(options: FixedRequest["options"]): readonly TraceField[] {
  const option = (name: string, said: string): TraceField =>
    field(name, said, optionWords[said] ?? "not explained");
  switch (options.variant) {
    case "e":
      return [];
    case "e-plus":
      return [
        option("when to answer", options.delay),
        option("authorisation", options.authorization),
      ];
    case "e-ticket":
      return [option("receipt", options.ticket)];
  }
}
