import {
  actionResult,
  applicationName,
  ConcertCodecError,
  decodeFixedReply,
  decodeFixedRequest,
  type FixedReply,
  type FixedRequest,
  failureOf,
  maskedField,
  panOfReport,
  readTagged,
  safeText,
  type Tagged,
  tagName,
  tagValue,
  textOf,
} from "../../../concert/index.ts";
import { maskPansInText } from "../../../shared/masking/mask.ts";
import { amountText, currencyCode } from "../screen.ts";
import texts from "../texts.json" with { type: "json" };
import type { TraceEntry, TraceField } from "../trace-log.ts";

/** A message in a form for people to read, without a card number. */
type ReadBody = Pick<TraceEntry, "message" | "says" | "fields" | "text" | "note">;

/** Explains the messages of one protocol for the trace, even malformed messages. */
export interface MessageReading {
  read(body: Uint8Array, direction: "in" | "out"): ReadBody;
}

/** The separator of fields: without it, the digits of two fields would look like one number. */
const BETWEEN_FIELDS = "|";
const CHARACTERS_MAX = 2_048;

/** Returns bytes that cannot be read as a message, as masked text. */
function unreadText(bytes: Uint8Array): string {
  return safeText(textOf(bytes), CHARACTERS_MAX);
}

function inOneLine(facts: readonly (string | undefined)[]): Pick<ReadBody, "says"> {
  const says = facts.filter((fact) => fact !== undefined).join(", ");
  return says === "" ? {} : { says };
}

function field(name: string, value: string, means?: string): TraceField {
  return { name, value, ...(means === undefined ? {} : { means }) };
}

type Meanings = Readonly<Record<string, string>>;
type Codes = Readonly<Record<keyof typeof meanings, Meanings>>;

/** What the codes in messages mean, for the trace (docs/concert.md 3.1, 3.3, 4.2, 4.3, 4.6). */
const { variants, states, values, ...meanings } = texts.meanings;
const { paymentModes, actions, statuses, answers, options: optionTexts }: Codes = meanings;
const valueTexts: Readonly<Record<string, Meanings>> = values;

/** Returns the meaning of a payment mode, or of tag CC's last character (docs/concert.md 3.4). */
function paymentModeText(mode: string): string | undefined {
  return paymentModes[mode] ?? applicationName(mode) ?? undefined;
}

/** Returns the meaning of an action such as debit or credit (docs/concert.md 3.1, 4.3). */
function actionText(action: string): string {
  return actions[action] ?? "an action that papers explain differently";
}

/** Explains requests and replies of fixed fields (docs/concert.md 3.1, 3.2). */
export class FixedReading implements MessageReading {
  /** The last request: only the request shows whether a reply has a report or a ticket. */
  #asked: FixedRequest | undefined;

  read(body: Uint8Array, direction: "in" | "out"): ReadBody {
    try {
      return direction === "in" ? this.#request(body) : this.#reply(body);
    } catch (error) {
      if (!(error instanceof ConcertCodecError)) throw error;
      const message = direction === "in" ? "not a request" : "not a reply";
      return { message, note: `(${error.message})`, text: unreadText(body) };
    }
  }

  #request(body: Uint8Array): ReadBody {
    const request = decodeFixedRequest(body);
    this.#asked = request;
    const { posNumber, answerFlag, paymentMode, transactionType, currency, options } = request;
    const action = actionText(transactionType);
    return described(`type ${transactionType} ${action}`, {
      facts: [variants[options.variant], amountText(request), `register ${posNumber}`],
      fields: [
        field("register", posNumber),
        amountField(request),
        field("answer", answerFlag, answers[answerFlag]),
        field("payment mode", paymentMode, paymentModeText(paymentMode)),
        field("transaction type", transactionType, action),
        field("currency", currency, currencyCode(currency)),
        field("private", request.private, blankText(request.private)),
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
    const means = statuses[status] ?? "no result that is known";
    const card = report === null ? null : panOfReport(report);
    return described(`status ${status} ${means}`, {
      facts: [amountText(reply), card === null ? undefined : `card ${card}`],
      fields: [
        field("register", posNumber),
        field("status", status, means),
        amountField(reply),
        field("payment mode", paymentMode, paymentModeText(paymentMode)),
        ...(report === null ? [] : [reportField(report, card)]),
        field("currency", currency, currencyCode(currency)),
        field("private", reply.private, blankText(reply.private)),
        ...(ticket === null ? [] : [field("receipt", maskPansInText(ticket))]),
      ],
    });
  }
}

function described(
  message: string,
  { facts, fields }: { facts: readonly (string | undefined)[]; fields: readonly TraceField[] },
): ReadBody {
  const text = fields.map(({ value }) => value).join(BETWEEN_FIELDS);
  return { message, ...inOneLine(facts), fields, text };
}

function amountField(of: FixedReply | FixedRequest): TraceField {
  return field("amount", String(of.amountMinor).padStart(8, "0"), amountText(of));
}

/** Returns a report for the trace: the card number, then a dot for each undocumented byte. */
function reportField(report: string, card: string | null): TraceField {
  if (card === null) return field("report", maskedField(report), blankText(report));
  const rest = report.slice(card.length).replace(/[^ ]/g, ".");
  return field("report", card + rest, "the card number");
}

function blankText(text: string): string | undefined {
  return text.trim() === "" ? "blank" : undefined;
}

function optionFields(options: FixedRequest["options"]): readonly TraceField[] {
  const option = (name: string, said: string): TraceField =>
    field(name, said, optionTexts[said] ?? "not explained");
  if (options.variant === "e") return [];
  if (options.variant === "e-ticket") return [option("receipt", options.ticket)];
  const { delay, authorization } = options;
  return [option("when to answer", delay), option("authorisation", authorization)];
}

/** The forms of long numbers that are no card numbers; all other long numbers are masked. */
const ownForms: Record<string, RegExp> = {
  CJ: /^\d{12}$/,
  CB: /^\d{1,12}$/,
  AI: /^A0000[\dA-F]*$/,
};

/** The tag that holds other tags, and the tag of a receipt in Base64. */
const CONTAINER = "ZT";
const RECEIPT = "AK";
const HEAD_CHARACTERS = 5;

/** Explains the messages of Caisse-AP, which consist of tags (docs/concert.md 4.1, 4.2). */
export class TaggedReading implements MessageReading {
  read(body: Uint8Array, direction: "in" | "out"): ReadBody {
    const { tags, fault } = readTagged(body);
    const rest = fault ? unreadText(body.subarray(fault.at)) : "";
    return {
      ...(direction === "in" ? request(tags) : answer(tags)),
      ...(fault ? { note: `(${fault.code} at byte ${fault.at})` } : {}),
      fields: [
        ...tags.flatMap((one) => fieldsOf(one, tags)),
        ...(rest === "" ? [] : [field("cannot be read", rest)]),
      ],
      text: [...tags.map(tagText), ...(rest === "" ? [] : [rest])].join(BETWEEN_FIELDS),
    };
  }
}

function request(tags: readonly Tagged[]): ReadBody {
  const action = tagValue(tags, "CD");
  const message = action === undefined ? "no action" : `CD ${action} ${actionText(action)}`;
  const register = tagValue(tags, "CA");
  const from = register === undefined ? undefined : `register ${maskedField(register)}`;
  return { message, ...inOneLine([amountOf(tags), from]) };
}

/** Explains an answer by its tags AE (state) and AF (reason; docs/concert.md 4.4). */
function answer(tags: readonly Tagged[]): ReadBody {
  const [state, reason] = [tagValue(tags, "AE"), tagValue(tags, "AF")];
  const message = state === undefined ? "no state" : `AE ${state} ${stateText(tags)}`;
  const why = reason === undefined ? undefined : `AF ${reason} ${failureOf(reason).text}`;
  const card = tagValue(tags, "AA");
  const pan = card === undefined ? undefined : `card ${maskedField(card)}`;
  return { message, ...inOneLine([why, amountOf(tags), pan]) };
}

function stateText(tags: readonly Tagged[]): string {
  const result = actionResult(tags);
  return result === undefined ? "not explained" : states[result];
}

function amountOf(tags: readonly Tagged[]): string | undefined {
  const [amount, currency] = [tagValue(tags, "CB"), tagValue(tags, "CE")];
  if (amount === undefined || !/^\d{1,12}$/.test(amount)) return undefined;
  if (currency === undefined) return `${Number(amount)} minor units`;
  return amountText({ amountMinor: Number(amount), currency });
}

function fieldsOf([tag, value]: Tagged, all: readonly Tagged[]): readonly TraceField[] {
  const name = tagName(tag) ?? "not described";
  if (tag === CONTAINER) {
    const { tags } = readTagged(Buffer.from(value, "latin1"));
    const inner = tags.flatMap((one) => (one[0] === CONTAINER ? [] : fieldsOf(one, tags)));
    return [{ tag, ...field(name, `${value.length} characters`) }, ...inner];
  }
  if (tag === RECEIPT) {
    const lines = Buffer.from(value, "base64").toString("latin1");
    return [{ tag, ...field(name, maskPansInText(lines)) }];
  }
  const means = meaningOf[tag]?.(value, all) ?? valueTexts[tag]?.[value];
  return [{ tag, ...field(name, safeValue(tag, value), means) }];
}

function safeValue(tag: string, value: string): string {
  return ownForms[tag]?.test(value) ? value : maskedField(value).replace(/[^ -~]/g, ".");
}

function tagText([tag, value]: Tagged): string {
  const length = String(value.length).padStart(HEAD_CHARACTERS - tag.length, "0");
  const isHidden = tag === CONTAINER || tag === RECEIPT;
  return `${tag} ${length} ${isHidden ? "…" : safeValue(tag, value)}`;
}

/** Returns the meaning of a tag's value, which can depend on other tags of the message. */
type Meaning = (value: string, all: readonly Tagged[]) => string | undefined;

/** The meanings of tags with free values; `texts.json` has those of tags with fixed values. */
const meaningOf: Readonly<Record<string, Meaning>> = {
  CB: (_, all) => amountOf(all),
  // Tag CJ has the sender's own name; only an answer of a terminal has tag AE.
  CJ: (_, all) => (tagValue(all, "AE") === undefined ? undefined : "the terminal's own"),
  CC: (value) => (value === "000" ? "any" : paymentModeText(value.slice(-1))),
  CD: actionText,
  CE: currencyCode,
  AE: (_, all) => stateText(all),
  AF: (value) => failureOf(value).text,
  AB: (value) => (/^\d{4}$/.test(value) ? `20${value.slice(0, 2)}-${value.slice(2)}` : undefined),
};
