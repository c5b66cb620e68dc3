import {
  actionResult,
  applicationName,
  bytesOf,
  damagedText,
  decodeTagged,
  encodeTagged,
  failureOf,
  maskedField,
  readTagged,
  safeText,
  type Tagged,
  tagValue,
  textOf,
} from "../../../concert/index.ts";
import { maskPan, maskPansInText } from "../../../shared/masking/mask.ts";
import { ticketOfLines } from "../../../shared/masking/printed-lines.ts";
import type { Messages, Reading } from "../one-way/dialogue.ts";
import { type Result, resultReport } from "../one-way/result-report.ts";
import { expiryYymmdd } from "../report-fields.ts";
import type { PaymentOrder } from "../terminal.ts";

export interface CaisseApOptions {
  readonly version: "0300" | "0320";
  /** The identifier of our software (tag CJ): twelve digits. */
  readonly identifier: string;
  /** The number of the cash register: two characters. */
  readonly register: string;
  /** The tag that carries the order's reference; null when no tag carries one. */
  readonly reference: "CF" | "CH" | null;
  /** Whether payments ask the terminal for the customer's receipt. */
  readonly receipt: boolean;
}

const DEBIT = "0";
const IDENTIFICATION = "I";
const CUSTOMER_RECEIPT = "100";

/** Returns the encoder and reader of payments as tagged messages (docs/concert.md 4.1 to 4.6). */
export function caisseApMessages(options: CaisseApOptions): Messages {
  return {
    ...(options.reference === null ? { namesNothing: true } : {}),
    request: (order) => requestOf(order, options),
    read: (reply, order) => readReply(reply, order, options),
  };
}

/** Returns an identification, which asks whether the terminal answers (docs/concert.md 4.3). */
export function identification(options: CaisseApOptions): Uint8Array {
  return encodeTagged([...headOf(options), ["CD", IDENTIFICATION]]);
}

function headOf({ version, identifier, register }: CaisseApOptions): Tagged[] {
  return [
    ["CZ", version],
    ["CJ", identifier],
    ["CA", register],
  ];
}

/** Returns a payment request, without tag BA: BA 1 asks for no payment (docs/concert.md 4.4). */
function requestOf(order: PaymentOrder, options: CaisseApOptions): Uint8Array {
  const { reference, receipt } = options;
  const digits = String(order.amountMinor).padStart(2, "0");
  if (digits.length > 12) {
    throw new RangeError("the amount is larger than this protocol can express");
  }
  const tags: Tagged[] = [
    ...headOf(options),
    ["CB", digits],
    ["CD", DEBIT],
    ["CE", order.currencyNumeric],
  ];
  if (reference && order.reference) tags.push([reference, order.reference]);
  if (receipt) tags.push(["CK", CUSTOMER_RECEIPT]);
  const request = encodeTagged(tags);
  decodeTagged(request);
  return request;
}

function readReply(
  bytes: Uint8Array,
  order: PaymentOrder | null,
  options: CaisseApOptions,
): Reading {
  const { tags, fault } = readTagged(bytes);
  const state = actionResult(tags);
  const action = tagValue(tags, "CD");
  // An answer to an identification is no result of a payment, whatever state it reports.
  if (action === IDENTIFICATION && !fault) {
    return { reading: "other", why: "the answer to an identification came late" };
  }
  // A reply that was cut after state, amount and currency still counts as an approval.
  const isWhole = state === "performed" && ["CB", "CE"].every((tag) => tagValue(tags, tag));
  if (fault && !(fault.code === "incomplete" && isWhole)) {
    const text = damagedText(bytes, 200);
    return { reading: "unreadable", why: `a reply with a fault (${fault.code}): "${text}"` };
  }
  const result = resultOf(tags, options);
  return {
    reading: "result",
    report: resultReport({ ...result, ...cardOf(tags), ...sentBack(tags, options) }, order),
    ticket: printedReceipt(tags),
    end: state === "taken-into-account" ? "wait" : result.resultCode === null ? "unclear" : "known",
  };
}

function resultOf(tags: readonly Tagged[], { reference }: CaisseApOptions) {
  const [amount, currency] = [tagValue(tags, "CB"), tagValue(tags, "CE")];
  const named = reference ? tagValue(tags, reference) : undefined;
  const isAmount = amount === undefined || AMOUNT.test(amount);
  const isCurrency = currency === undefined || CURRENCY.test(currency);
  const ending = endingOf(tags);
  // An approval of an unreadable amount or currency does not show which sale it is for.
  const isUnclear = ending.good && !(isAmount && isCurrency);
  return {
    ...(isUnclear ? unclear(`approved ${quoted(amount)} of ${quoted(currency)}`) : ending),
    amountMinor: amount !== undefined && isAmount ? Number(amount) : null,
    currencyNumeric: currency !== undefined && isCurrency ? currency : null,
    reference: named === undefined ? null : referenceIn(named),
  };
}

/** The form of an amount: some terminals fill it up with leading zeros. */
const AMOUNT = /^0*\d{1,12}$/;
const CURRENCY = /^\d{3}$/;

type Ending = Pick<Result, "good" | "resultCode" | "resultText" | "reason">;

function unclear(resultText: string): Ending {
  return { good: false, resultCode: null, reason: null, resultText };
}

function quoted(value = ""): string {
  return `"${safeText(value, 24)}"`;
}

/** Returns the outcome by tag AE alone, and a refusal's reason by tag AF (docs/concert.md 4.4). */
function endingOf(tags: readonly Tagged[]): Ending {
  const state = tagValue(tags, "AE");
  switch (actionResult(tags)) {
    case "performed":
      return { good: true, resultCode: state ?? null, resultText: "approved", reason: null };
    case "taken-into-account":
      return unclear("taken into account, no result yet");
    case "not-performed": {
      const { text: resultText, reading } = failureOf(tagValue(tags, "AF"));
      if (reading === "unknown") return unclear(resultText);
      const resultCode = (tagValue(tags, "AF") ?? state ?? "").slice(0, 2);
      return { good: false, resultCode, resultText, reason: reading };
    }
    case undefined:
      return unclear(`the terminal reported no result (AE ${quoted(state)})`);
  }
}

const SECTION_SIGN = "\u00a7";
const REFERENCE_CHARACTERS = 10;

/** Returns the reference in the value of a tag, where a text and a section sign may precede it. */
function referenceIn(value: string): string {
  const parts = value.split(SECTION_SIGN).map((part) => part.trim());
  const own = parts.find(({ length }) => length === REFERENCE_CHARACTERS);
  return maskedField(own ?? value);
}

function sentBack(tags: readonly Tagged[], { register }: CaisseApOptions) {
  const [number, action] = [tagValue(tags, "CA"), tagValue(tags, "CD")];
  const isOurRegister = number === register || Number(number) === Number(register);
  return {
    isOurRegister,
    differs: [
      ...(number === undefined || isOurRegister ? [] : ["register number"]),
      ...(action === undefined || action === DEBIT ? [] : ["action"]),
    ],
  };
}

/** Returns the fields of card and receipt (docs/concert.md 4.2). */
function cardOf(tags: readonly Tagged[]) {
  const text = (tag: string): string => maskPansInText(tagValue(tags, tag)?.trim() ?? "");
  const pan = tagValue(tags, "AA");
  const application = text("CC");
  return {
    maskedPan: pan === undefined ? null : maskPan(pan.trim()),
    authorisationNumber: text("AC") || null,
    cardName: applicationName(application.slice(-1)),
    receipt: {
      AID: text("AI"),
      contractNumber: text("CG"),
      paymentType: application,
      readingMode: readingModes.get(text("CI")) ?? "",
      cardAppExpiry: expiryYymmdd(text("AB")),
    },
  };
}

const readingModes = new Map(Object.entries({ 1: "C", 2: "S", 3: "P", 4: "M" }));

/** Returns the customer's receipt of tag ZT as a ticket; "" without one (docs/concert.md 4.6). */
function printedReceipt(tags: readonly Tagged[]): string {
  const container = tagValue(tags, "ZT");
  const inside = container === undefined ? tags : readTagged(bytesOf(container)).tags;
  const encoded = tagValue(inside, "AK");
  if (encoded === undefined) return "";
  const text = textOf(Buffer.from(encoded.replace(/\s/g, ""), "base64"));
  const isHtml = tagValue(inside, "CK")?.[2] === "1" || /<(br|html|body|p|div|table)\b/i.test(text);
  return ticketOfLines(maskPansInText(isHtml ? textOfHtml(text) : text).split(/\r?\n/));
}

const entities: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    nbsp: " ",
    euro: "EUR",
    eacute: "é",
    egrave: "è",
    agrave: "à",
    ccedil: "ç",
    ecirc: "ê",
  }),
);

function textOfHtml(html: string): string {
  return html
    .replace(/<(style|script|head)\b[\s\S]*?<\/\1\s*>/gi, "")
    .replace(/\r?\n/g, " ")
    .replace(/<br\b[^>]*>|<\/?(p|div|tr|h\d|li|pre)\b[^>]*>/gi, "\n")
    .replace(/<[^>]*>/g, " ")
    .replace(/&(#\d{1,4}|[a-z]+);/gi, (whole, name: string) =>
      name.startsWith("#")
        ? String.fromCharCode(Number(name.slice(1)))
        : (entities.get(name.toLowerCase()) ?? whole),
    )
    .replace(/[ \t]+/g, " ")
    .replace(/ ?\n[\n ]*/g, "\n");
}
