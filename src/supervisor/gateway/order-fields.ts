/** The format of a SOAP field. AN: any text; N: digits; A: letters; R: a decimal number. */
type Format = "AN" | "N" | "A" | "R";

interface OrderField {
  readonly format: Format;
  readonly lengthMax: number | null;
  readonly mandatory: boolean;
  /**
   * What happens to a value with a wrong form or length. "refuse": the transaction is parked,
   * because money, ids and references are never changed. "cut", "leave-out": sent with a note.
   */
  readonly misfit: "refuse" | "cut" | "leave-out";
}

const field = (
  format: Format,
  lengthMax: number | null,
  misfit: OrderField["misfit"] = "refuse",
  mandatory = true,
): OrderField => ({ format, lengthMax, mandatory, misfit });

/** The fields of an order (docs/design.md 12.10), in the order in which they are sent. */
export const orderFields = {
  wsLogin: field("AN", 255),
  wsPassword: field("AN", 32),
  websiteId: field("N", 11),
  categoryId: field("N", 11),
  currency: field("A", 3),
  amount: field("R", null),
  rating: field("AN", 3),
  locale: field("AN", 5),
  customerIpAddress: field("AN", 15),
  executionDate: field("AN", 32),
  manualCapture: field("N", 1),
  description: field("AN", 255, "cut"),
  customerEmail: field("AN", 32, "leave-out", false),
  urlCallback: field("AN", 255),
  merchantReference: field("AN", 255),
} as const satisfies Record<string, OrderField>;

type OrderFieldName = keyof typeof orderFields;
type OrderValues = Readonly<Record<OrderFieldName, string | null>>;

/**
 * Checks each value by the table, and cuts or leaves out a wrong value that may be changed. Returns
 * the fields to send in order (null: a value is missing, or is wrong and must not be changed, so
 * nothing is sent), notes of changes, and problems. Neither repeats a value: one is the password.
 */
export function checkedOrderFields(given: OrderValues) {
  const values: Record<string, string> = {};
  const notes: string[] = [];
  const problems: string[] = [];
  for (const name of Object.keys(orderFields) as OrderFieldName[]) {
    const { format, lengthMax, mandatory, misfit }: OrderField = orderFields[name];
    const value = given[name];
    if (value === null || value === "") {
      if (mandatory) problems.push(`${name} is missing`);
      continue;
    }
    const fault = faultOf(value, format, lengthMax);
    if (!fault) {
      values[name] = value;
    } else if (misfit === "refuse") {
      problems.push(`${name} ${fault}`);
    } else if (misfit === "cut") {
      values[name] = [...cleanText(value)].slice(0, lengthMax ?? Number.POSITIVE_INFINITY).join("");
      notes.push(`${name} ${fault}: shortened or cleaned`);
    } else {
      notes.push(`${name} ${fault}: left out`);
    }
  }
  return { values: problems.length > 0 ? null : values, notes, problems };
}

const shapes: Readonly<Record<Format, RegExp>> = {
  AN: /^\P{Cc}*$/u,
  N: /^\d+$/,
  A: /^[A-Za-z]+$/,
  R: /^\d+(\.\d+)?$/,
};

function faultOf(value: string, format: Format, lengthMax: number | null): string | null {
  if (!shapes[format].test(value) || cleanText(value) !== value) {
    return `has characters that format ${format} does not allow`;
  }
  const length = [...value].length;
  if (lengthMax === null || length <= lengthMax) return null;
  return `has ${length} characters, ${lengthMax} are allowed`;
}

/** The characters that XML cannot carry (XML 1.0, 2.2). */
const notXml = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

/** Returns the text with U+FFFD for each character that XML cannot carry. */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(notXml, "\uFFFD");
}
