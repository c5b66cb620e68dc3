/** Tags of Caisse-AP that somebody has described, by their letters (docs/concert.md 4.2). */
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

/** The purpose of a tag; undefined: nobody has described it. */
export function tagName(tag: string): string | undefined {
  return isKnownTag(tag) ? tagNames[tag] : undefined;
}
