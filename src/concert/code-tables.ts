/** The described tags of Caisse-AP, by their letters (docs/concert.md 4.2). */
const tagNames = {
  CZ: "protocol version",
  CJ: "identifier of the register's software",
  CA: "register number",
  CB: "amount",
  CC: "payment application",
  CD: "action",
  CE: "currency",
  CF: "private data",
  CG: "contract number",
  CH: "reference number",
  CI: "reading mode",
  CK: "receipt on the register",
  BA: "when to answer",
  BB: "force an authorisation",
  BF: "partial payment",
  BH: "telephone of the customer",
  BI: "e-mail of the customer",
  AA: "card number",
  AB: "expiry",
  AC: "authorisation number",
  AD: "magnetic line of a cheque",
  AE: "state of the action",
  AF: "why not",
  AG: "answer about a cheque",
  AH: "guarantee of a cheque",
  AI: "application identifier",
  AK: "receipt text",
  AL: "kind of card number",
  AM: "telephone given",
  AN: "e-mail given",
  AP: "date",
  AQ: "serial number",
  ZT: "container of the receipt",
} as const;

type TagName = keyof typeof tagNames;

export function isKnownTag(tag: string): tag is TagName {
  return Object.hasOwn(tagNames, tag);
}

/** The purpose of a tag; undefined: no description is known. */
export function tagName(tag: string): string | undefined {
  return isKnownTag(tag) ? tagNames[tag] : undefined;
}

/** Payment modes, also the last character of CC (docs/concert.md 3.4, 4.5). */
const applicationNames: Readonly<Record<string, string>> = {
  "1": "CB",
  "2": "American Express",
  "3": "CB Enseigne",
  "4": "Cetelem",
  "5": "Cofinoga",
  "6": "Diners",
  "7": "Pass",
  "8": "Franfinance",
  "9": "JCB",
  A: "Accord",
  B: "CB",
  D: "American Express",
  E: "Conecs",
  U: "UnionPay",
};

/** The name of a payment mode; null for one that names no card. */
export function applicationName(mode: string): string | null {
  return applicationNames[mode] ?? null;
}

/** Readings of AF for a kiosk, of an action that was not done (docs/concert.md 4.4). */
type FailureReading =
  | "declined"
  | "cancelled"
  | "customer-timeout"
  | "fault"
  | "wrong-currency"
  | "unknown";

interface Failure {
  readonly text: string;
  readonly reading: FailureReading;
}

const failures: Readonly<Record<string, Failure>> = {
  "00": { text: "reason not known", reading: "unknown" },
  "02": { text: "the bank asks for a telephone call", reading: "declined" },
  "03": { text: "forced", reading: "declined" },
  "04": { text: "refused", reading: "declined" },
  "05": { text: "forbidden", reading: "declined" },
  "06": { text: "abandoned by the customer", reading: "cancelled" },
  "07": { text: "not completed", reading: "unknown" },
  "08": { text: "the customer took too long", reading: "customer-timeout" },
  "09": { text: "the terminal does not understand the message", reading: "fault" },
  "10": { text: "selection error", reading: "fault" },
  "11": { text: "abandoned by the operator", reading: "cancelled" },
  "12": { text: "the terminal does not know the action", reading: "fault" },
  "13": { text: "the terminal does not take the currency", reading: "wrong-currency" },
};

/** `reason`: AF as it came; without it the terminal only says that nothing was done. */
export function failureOf(reason: string | undefined): Failure {
  if (reason === undefined) return { text: "not done", reading: "declined" };
  const known = failures[reason.slice(0, 2)];
  return known ?? { text: `not done (${reason.slice(0, 2)})`, reading: "unknown" };
}
