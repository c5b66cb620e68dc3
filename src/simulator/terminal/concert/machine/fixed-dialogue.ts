import {
  bytesOf,
  ConcertCodecError,
  decodeFixedRequest,
  encodeFixedReply,
  type FixedRequest,
  PRIVATE_CHARACTERS,
  REPORT_CHARACTERS,
  textOf,
} from "../../../../concert/index.ts";
import {
  actions,
  type ConcertParts,
  type Dialogue,
  type Ending,
  type Order,
  type Request,
} from "./payment.ts";
import { printedPan, receiptLines } from "./receipt.ts";

/** The values of the reply's status (docs/concert.md 3.3). */
const status = { accepted: "0", refused: "7", taken: "9" } as const;
const AT_ONCE = "A011";
const NO_TICKET = "T010";
const NO_REPORT = "0";
const US_DOLLAR = "840";

/** Requests and replies of fixed fields: E, E+ and E with a ticket (docs/concert.md 3.1, 3.2). */
export class FixedDialogue implements Dialogue {
  readonly #parts: ConcertParts;

  constructor(parts: ConcertParts) {
    this.#parts = parts;
  }

  read(body: Uint8Array): Request | undefined {
    const request = this.#decoded(body);
    if (!request) return undefined;
    const { amountMinor, currency } = request;
    const action = actions[request.transactionType] ?? "other";
    return this.#request(request, { action, amountMinor, currency });
  }

  ownSale(order: Order, reference: string): Request {
    const { amountMinor, currency } = order;
    return this.#request(
      {
        posNumber: "01",
        amountMinor,
        answerFlag: "1",
        paymentMode: "1",
        transactionType: "0",
        currency,
        private: reference,
        options: { variant: "e" },
      },
      order,
    );
  }

  #request(request: FixedRequest, order: Order): Request {
    const { options } = request;
    const atOnce = options.variant === "e-plus" && options.delay === AT_ONCE;
    return {
      order,
      early: atOnce ? this.#encoded(request) : null,
      repliesAtEnd: !atOnce,
      reply: (ending) => this.#encoded(request, ending),
    };
  }

  /** Returns the request; undefined: this variant has no such request, and the line answers NAK. */
  #decoded(body: Uint8Array): FixedRequest | undefined {
    const { variant } = this.#parts.options.behaviour;
    const read = decoded(body);
    if (read && ["e", variant].includes(read.options.variant)) return read;
    return this.#parts.fault("any-body") ? decoded(atPositionsOfE(body)) : undefined;
  }

  /** Returns the reply; without an `ending` the reply only says that the request was accepted. */
  #encoded(request: FixedRequest, ending?: Ending): Uint8Array {
    const parts = this.#parts;
    const done = ending?.how === "done" ? ending : undefined;
    const pan = () => done && printedPan(done.card, parts.report, "X").padEnd(REPORT_CHARACTERS);
    const said = ending === undefined ? status.taken : done ? status.accepted : status.refused;
    const reply = encodeFixedReply({
      posNumber: parts.fault("other-register") ? "99" : request.posNumber,
      status: said,
      amountMinor: parts.fault("zero-amount") ? 0 : (ending ?? request).amountMinor,
      paymentMode: request.paymentMode,
      report: request.answerFlag === NO_REPORT ? null : (pan() ?? ""),
      currency: parts.fault("other-currency") ? US_DOLLAR : request.currency,
      private: parts.otherPrivate?.slice(0, PRIVATE_CHARACTERS) ?? request.private,
      ticket: ending ? this.#ticket(request, ending) : null,
    });
    if (ending?.forced !== undefined) reply.set(bytesOf(ending.forced), STATUS_AT);
    return reply;
  }

  #ticket({ options }: FixedRequest, ending: Ending): string | null {
    if (options.variant !== "e-ticket" || options.ticket === NO_TICKET) return null;
    return receiptLines(this.#parts, ending)
      .map((line) => `${line}\n`)
      .join("");
  }
}

const STATUS_AT = 2;
const AMOUNT_END = 10;

/** Returns a message reread as a request of form E, as some terminals do (docs/concert.md 2.6). */
function atPositionsOfE(body: Uint8Array): Uint8Array {
  const digits = textOf(body).slice(0, AMOUNT_END).padEnd(AMOUNT_END, "0");
  return bytesOf(`${digits}110978${" ".repeat(PRIVATE_CHARACTERS)}`);
}

function decoded(body: Uint8Array): FixedRequest | undefined {
  try {
    return decodeFixedRequest(body);
  } catch (error) {
    if (error instanceof ConcertCodecError) return undefined;
    throw error;
  }
}
