import texts from "./code-texts.json" with { type: "json" };

/** Descriptions of Caisse-AP tags, by the two letters of a tag (docs/concert.md 4.2). */
const tagNames: Readonly<Record<string, string>> = texts.tags;
/** Names of payment modes; tag CC ends with such a mode (docs/concert.md 3.4, 4.5). */
const applicationNames: Readonly<Record<string, string>> = texts.applications;
/** Texts for the values of tag AF, the reason why an action was not done (docs/concert.md 4.4). */
const failureTexts: Readonly<Record<string, string>> = texts.failures;

export function isKnownTag(tag: string): boolean {
  return Object.hasOwn(tagNames, tag);
}

/** Returns the description of a Caisse-AP tag; undefined for an unknown tag. */
export function tagName(tag: string): string | undefined {
  return isKnownTag(tag) ? tagNames[tag] : undefined;
}

/** Returns the name of a payment mode; null when the mode names no kind of card. */
export function applicationName(mode: string): string | null {
  return applicationNames[mode] ?? null;
}

/** What a failure reason (tag AF) means to a kiosk. "unknown": the action may have been done. */
type FailureReading =
  | "declined"
  | "cancelled"
  | "customer-timeout"
  | "terminal-fault"
  | "wrong-currency"
  | "unknown";

const failureReadings: Readonly<Record<string, FailureReading>> = {
  "02": "declined",
  "03": "declined",
  "04": "declined",
  "05": "declined",
  "06": "cancelled",
  "08": "customer-timeout",
  "09": "terminal-fault",
  "10": "terminal-fault",
  "11": "cancelled",
  "12": "terminal-fault",
  "13": "wrong-currency",
};

/** Returns text and meaning of a failure reason (tag AF); undefined: no reason was sent. */
export function failureOf(reason: string | undefined): {
  readonly text: string;
  readonly reading: FailureReading;
} {
  if (reason === undefined) return { text: "not done", reading: "declined" };
  const code = reason.slice(0, 2);
  const text = failureTexts[code] ?? `not done (${code})`;
  return { text, reading: failureReadings[code] ?? "unknown" };
}
