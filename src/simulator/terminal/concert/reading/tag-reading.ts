import {
  actionResult,
  failureOf,
  maskedField,
  readTagged,
  type Tagged,
  tagName,
  tagValue,
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

const stateWords = {
  performed: "done",
  "not-performed": "not done",
  "taken-into-account": "taken into account, no result",
} as const;

/** Numbers of other kinds, as long as they have their own form; every other long one is masked. */
const ownForms: Readonly<Record<string, RegExp>> = {
  CJ: /^\d{12}$/,
  CB: /^\d{1,12}$/,
  AI: /^A0000[\dA-F]*$/,
};

/** Tags whose value holds others, or an encoding in which no card number is seen. */
const CONTAINER = "ZT";
const RECEIPT = "AK";
const HEAD_CHARACTERS = 5;

/** Messages of tags, Caisse-AP (docs/concert.md 4.1, 4.2). */
export class TaggedReading implements MessageReading {
  read(body: Uint8Array, direction: "in" | "out"): ReadBody {
    const { tags, fault } = readTagged(body);
    const rest = fault ? shownRest(body.subarray(fault.at)) : "";
    const at = fault === null ? "" : `(${fault.code} at byte ${fault.at})`;
    return {
      ...(direction === "in" ? request(tags) : answer(tags)),
      ...(fault === null ? {} : { note: at }),
      fields: [...tags.flatMap((one) => fieldsOf(one, tags)), ...restField(rest)],
      text: [...tags.map(shownTag), ...(rest === "" ? [] : [rest])].join(BETWEEN_FIELDS),
    };
  }
}

function request(tags: readonly Tagged[]): ReadBody {
  const action = tagValue(tags, "CD");
  const message = action === undefined ? "no action" : `CD ${action} ${actionInWords(action)}`;
  return { message, ...inOneLine([amountOf(tags), named(tags, "CA", "register")]) };
}

/** AE alone decides; AF says why not (docs/concert.md 4.4). */
function answer(tags: readonly Tagged[]): ReadBody {
  const [state, reason] = [tagValue(tags, "AE"), tagValue(tags, "AF")];
  const message = state === undefined ? "no state" : `AE ${state} ${stateInWords(tags)}`;
  const why = reason === undefined ? undefined : `AF ${reason} ${failureOf(reason).text}`;
  const card = tagValue(tags, "AA");
  const shown = card === undefined ? undefined : `card ${maskedField(card)}`;
  return { message, ...inOneLine([why, amountOf(tags), shown]) };
}

function stateInWords(tags: readonly Tagged[]): string {
  const result = actionResult(tags);
  return result === undefined ? "not explained" : stateWords[result];
}

function amountOf(tags: readonly Tagged[]): string | undefined {
  const [amount, currency] = [tagValue(tags, "CB"), tagValue(tags, "CE")];
  if (amount === undefined || !/^\d{1,12}$/.test(amount)) return undefined;
  if (currency === undefined) return `${Number(amount)} minor units`;
  return amountInWords({ amountMinor: Number(amount), currency });
}

function named(tags: readonly Tagged[], tag: string, name: string): string | undefined {
  const value = tagValue(tags, tag);
  return value === undefined ? undefined : `${name} ${maskedField(value)}`;
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
  return [{ tag, ...field(name, shownValue(tag, value), meaning(tag, value, all)) }];
}

function restField(rest: string): readonly TraceField[] {
  return rest === "" ? [] : [field("cannot be read", rest)];
}

function shownValue(tag: string, value: string): string {
  return ownForms[tag]?.test(value) ? value : maskedField(value).replace(/[^ -~]/g, ".");
}

function shownTag([tag, value]: Tagged): string {
  const length = String(value.length).padStart(HEAD_CHARACTERS - tag.length, "0");
  const isHidden = tag === CONTAINER || tag === RECEIPT;
  return `${tag} ${length} ${isHidden ? "…" : shownValue(tag, value)}`;
}

function meaning(tag: string, value: string, all: readonly Tagged[]): string | undefined {
  switch (tag) {
    case "CB":
      return amountOf(all);
    case "CJ":
      // Both sides name themselves; only an answer has a state.
      return tagValue(all, "AE") === undefined ? undefined : "the terminal's own";
    case "CC":
      return value === "000" ? "any" : paymentModeInWords(value.slice(-1));
    case "CD":
      return actionInWords(value);
    case "CE":
      return currencyInWords(value);
    case "AE":
      return stateInWords(all);
    case "AF":
      return failureOf(value).text;
    case "AB":
      return /^\d{4}$/.test(value) ? `20${value.slice(0, 2)}-${value.slice(2)}` : undefined;
    default:
      return words[tag]?.[value];
  }
}

/** Values with a word each (docs/concert.md 4.2, 4.6). */
const words: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  CI: { "0": "any", "1": "chip", "2": "contactless", "3": "stripe", "4": "keyed" },
  CK: { "000": "none", "100": "the customer's, as text", "101": "the customer's, as HTML" },
  BA: { "0": "at the end", "1": "at once: the result is never told" },
  BB: { "0": "the terminal decides", "1": "ask the bank" },
  AL: { "1": "partial" },
};
