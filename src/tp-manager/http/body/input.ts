import { z } from "zod";
import { AppError } from "../../../shared/catalog/errors.ts";
import { plainForm, readableForm } from "../../../shared/masking/legible.ts";
import { containsPan, maskPansInText } from "../../../shared/masking/mask.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../../shared/receipt.ts";
import { ORDER_ID_CHARACTERS_MAX } from "../../../shared/transaction.ts";
import { invalid } from "../../attempts/failures.ts";

/** One fault of a request, as `error.details.faults` lists it. */
export interface Fault {
  readonly field: string;
  readonly message: string;
}

declare module "zod" {
  interface GlobalMeta {
    /** What openapi.json shows for a schema that JSON Schema cannot express. */
    documented?: unknown;
    exactlyOne?: readonly [string, string];
  }
}

/** Whether a schema accepts a missing body. */
export function acceptsNothing(schema: z.ZodType): boolean {
  return schema.safeParse(undefined).success;
}

/** Returns what the schema reads, or throws the first fault. `notKnown`: for an unknown member. */
export function checked<T>(
  schema: z.ZodType<T>,
  value: unknown,
  notKnown = "is not a known field",
): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [first] = faultsOf(schema, error, notKnown);
  if (first?.holdsCardData) {
    const { field, message } = first;
    throw new AppError("CARD_DATA_REFUSED", `${field} ${message}`, { details: { field } });
  }
  throw first ? invalid(first.field, first.message) : new AppError("REQUEST_INVALID");
}

/** Returns every fault of a value; faults about unknown members come first. */
export function faultsOf(schema: z.ZodType, error: z.ZodError, notKnown: string) {
  const known = Object.keys((schema as z.ZodObject).shape ?? {}).join(", ");
  const unknown = error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((name) => ({
          field: maskPansInText(name), // the sender chose this name, so it may hold a card number
          message: `${notKnown} (known: ${known})`,
          holdsCardData: false,
        }))
      : [],
  );
  const wrong = error.issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys") return [];
    const { field, holdsCardData = false } = issue.code === "custom" ? (issue.params ?? {}) : {};
    const { message } = issue;
    return [{ field: String(field ?? issue.path.join(".")), message, holdsCardData }];
  });
  const all = [...unknown, ...wrong];
  const byText = new Map(all.map((one) => [`${one.field} ${one.message}`, one]));
  return [...byText.values()];
}

/** Returns a schema that accepts any value, and for which openapi.json shows `documented`. */
export function taken(documented: z.ZodType): z.ZodType {
  return z.unknown().meta({ documented });
}

/** Returns a schema that accepts what `schema` accepts, with one message for every fault. */
export function judged<T>(schema: z.ZodType<T>, message: string): z.ZodType<T> {
  return z
    .custom<T>((value) => schema.safeParse(value).success, { error: message })
    .meta({ documented: schema });
}

/** Returns the schema of an object that must have exactly one of two members. */
export function exactlyOne<T extends z.ZodObject>(schema: T, first: string, second: string): T {
  const isOne = (value: Record<string, unknown>): boolean =>
    (value[first] === undefined) !== (value[second] === undefined);
  return schema
    .refine(isOne, { path: [first], error: `or ${second} must be given, one of the two` })
    .meta({ exactlyOne: [first, second] }) as T;
}

type MessageOf = (issue: { readonly input?: unknown }) => string;

const missingOr =
  (wrong: string): MessageOf =>
  ({ input }) =>
    input === undefined ? "is missing" : wrong;

/** Returns the schema of a text that must not be missing and must hold no card number. */
function text(): z.ZodString {
  return z
    .string({ error: missingOr("must be a text") })
    .refine((value) => !containsPan(value), {
      error: "holds what looks like a card number.",
      params: { holdsCardData: true },
    })
    .min(1, "must be a text")
    .meta({ description: "Card numbers are refused." });
}

const orderIdMessage = `must be a text of 1 to ${ORDER_ID_CHARACTERS_MAX} characters`;
/** The form of an order id: no control characters and no half of a surrogate pair. */
const orderIdForm = /^[^\p{Cc}\p{Cs}]*$/u;

const orderIdRules = <T extends z.ZodString>(schema: T): T =>
  schema.max(ORDER_ID_CHARACTERS_MAX, orderIdMessage).regex(orderIdForm, orderIdMessage);

/** The order id of a new payment; a search of the whole body finds card numbers in it. */
export const newOrderId = orderIdRules(z.string(orderIdMessage).min(1, orderIdMessage));
/** The order id in a request about a payment; it must hold no card number. */
export const orderId = orderIdRules(text());

/** Returns the schema of a person's note, which must hold no card number. */
export function note(charactersMax: number): z.ZodString {
  return text().max(charactersMax, `must be at most ${charactersMax} characters`);
}

/** Returns the schema of a note that must be plain text with a letter or digit. */
export function legible(charactersMax: number): z.ZodString {
  return note(charactersMax)
    .regex(plainForm, "must be plain text without control characters")
    .regex(readableForm, "must have a letter or a digit");
}

export const yesOrNo = z.boolean("must be true or false");

/** Returns the schema of an amount in major units, whose text `readAmount` reads. */
export function amount(error: string | MessageOf = "must be a number, for example 1.50") {
  return z.number({ error }).meta({
    exclusiveMinimum: 0,
    maximum: 10 ** RECEIPT_AMOUNT_DIGITS - 1,
    description: "In major units, with no more decimals than the currency has: 9.99",
  });
}

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, `must be one of ${values.join(", ")}`);
}

/** The schema of a time in a query, which is read as milliseconds since 1970 UTC. */
export const instant = judged(
  z.iso.datetime({ offset: true }).or(z.iso.date()),
  "must be a time like 2026-01-31T00:00:00Z",
).transform((text) => Date.parse(text));

const wholeForm = /^[1-9]\d{0,15}$/;

/** Returns the schema of a whole number in a query, where every value is a text. */
export function wholeNumber(max: number, documented: z.ZodType = z.int().min(1).max(max)) {
  const isWhole = (value: unknown): boolean =>
    typeof value === "string" && wholeForm.test(value) && Number(value) <= max;
  return z
    .custom<string>(isWhole, `must be a whole number from 1 to ${max}`)
    .transform(Number)
    .meta({ documented });
}

const PAGE_DEFAULT = 50;

export function pageLimit(max: number) {
  const documented = z.int().min(1).max(max).default(PAGE_DEFAULT);
  return wholeNumber(max, documented).default(PAGE_DEFAULT);
}
