import { isUtf8 } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { type Refusal, refusal } from "./notification-tally.ts";

/** A notification whose digest is right. */
export interface MapiNotification {
  /** Text of the leaves of `result`, by name. */
  readonly fields: Readonly<Record<string, string>>;
  /** Free data of the order, by its key. */
  readonly freeData: Readonly<Record<string, string>>;
  /** SHA-256 of the verified bytes, hex. */
  readonly fingerprint: string;
}

/** A secret that the gateway may sign with. Logs name its setting, never its value. */
export interface DigestSecret {
  /** Its name in the setup file. */
  readonly setting: string;
  readonly value: string;
}

type MapiVerdict =
  | {
      readonly genuine: true;
      readonly notification: MapiNotification;
      /** The setting whose secret made the digest. */
      readonly signedWith: string;
    }
  | Refusal;

const OPENING = "<result>";
const CLOSING = "</result>";
const CDATA_OPENING = "<![CDATA[";
const CDATA_CLOSING = "]]>";
const NESTED_TAGS_MAX = 4;
const ELEMENTS_MAX = 500;
const FREE_DATA_PREFIX = "_aKey_";

/**
 * The bytes before the signed ones. No signature covers this part, so nothing but the documented
 * form is taken: one root, exactly `<mapi>`, with version and digest, and nothing after it
 * (docs/gateway.md 3.4). The XML package alone would accept a second root and text after a root
 * that closes itself. Blanks before it are cut off beforehand: with two patterns for blanks, one
 * after the other, 60 KB of blanks would take half a minute.
 */
const before = new RegExp(
  "^(?:<\\?xml\\s[^<>]*\\?>\\s*)?<mapi>\\s*" +
    "(?:<mapiversion>[^<>&]*</mapiversion>\\s*)?" +
    "<md5content>\\s*([0-9A-Fa-f]{32})\\s*</md5content>\\s*$",
  "u",
);
const after = /^\s*<\/mapi>\s*$/;

const parser = new XMLParser({
  ignoreAttributes: true,
  parseTagValue: false,
  trimValues: false,
  processEntities: true,
  htmlEntities: true, // numeric character references
  maxNestedTags: NESTED_TAGS_MAX,
});

/**
 * Checks and reads one notification: MD5 over the bytes of exactly one `<result>...</result>`
 * followed by one of the secrets, in any letter case, compared in constant time; only those bytes
 * are parsed. Pure, never throws.
 */
export function readMapi(document: Buffer, secrets: readonly DigestSecret[]): MapiVerdict {
  if (!isUtf8(document)) return refused("not UTF-8");
  const outline = outlineOf(document);
  const opening = outline.indexOf(OPENING);
  const closing = outline.indexOf(CLOSING);
  const only =
    opening >= 0 &&
    closing > opening &&
    opening === outline.lastIndexOf(OPENING) &&
    closing === outline.lastIndexOf(CLOSING);
  if (!only) return refused("not exactly one result element");
  const end = closing + CLOSING.length;
  const signed = document.subarray(opening, end);
  const digest = before.exec(document.subarray(0, opening).toString("utf8").trimStart())?.[1];
  if (digest === undefined || !after.test(document.subarray(end).toString("utf8"))) {
    return refused("not one mapi element with version, digest and result");
  }
  const signedWith = signerOf(signed, Buffer.from(digest, "hex"), secrets);
  if (signedWith !== undefined) return readSigned(signed, outline.slice(opening, end), signedWith);
  // Writers and verifiers disagree about CDATA, so the gateway may have sent this all the same.
  return document.includes(CDATA_OPENING)
    ? refusal("wrong-digest", "wrong digest of a result with CDATA", true)
    : refusal("wrong-digest", "wrong digest");
}

/** Every secret is tried, so that the time does not show which one was near. */
function signerOf(
  signed: Buffer,
  digest: Buffer,
  secrets: readonly DigestSecret[],
): string | undefined {
  const hash = createHash("md5").update(signed);
  return secrets
    .filter(({ value }) => timingSafeEqual(hash.copy().update(value, "utf8").digest(), digest))
    .at(0)?.setting;
}

/**
 * The document, a character for each byte, with all that stands in CDATA sections crossed out: tags
 * in them are no tags. Takes the same time however many sections there are and whether they end.
 */
function outlineOf(document: Buffer): string {
  const text = document.toString("latin1");
  const parts: string[] = [];
  let at = 0;
  for (;;) {
    const from = text.indexOf(CDATA_OPENING, at);
    const closing = from < 0 ? -1 : text.indexOf(CDATA_CLOSING, from + CDATA_OPENING.length);
    if (closing < 0) return parts.join("") + text.slice(at);
    const end = closing + CDATA_CLOSING.length;
    parts.push(text.slice(at, from), "x".repeat(end - from));
    at = end;
  }
}

function readSigned(signed: Buffer, outline: string, signedWith: string): MapiVerdict {
  const text = signed.toString("utf8");
  // Document types, entities and comments: the gateway sends none (docs/gateway.md 3.4).
  if (/<[!?]/.test(outline)) return alarming("declarations inside the result");
  if ((outline.match(/</g) ?? []).length > 2 * ELEMENTS_MAX) return alarming("too many elements");
  const result = parse(text);
  if (!result) return alarming("not well-formed XML");
  const leaves = Object.entries(result).filter(([name]) => !/^(#text|merchantDatas)$/.test(name));
  const [odd] = leaves.find(([, value]) => typeof value !== "string") ?? [];
  if (odd !== undefined) {
    return alarming(`${odd.slice(0, 40)} stands there twice or has elements in it`);
  }
  const { merchantDatas } = result;
  const items = Object.entries(typeof merchantDatas === "object" ? (merchantDatas ?? {}) : {})
    .filter(([key]) => key.startsWith(FREE_DATA_PREFIX))
    .map(([key, item]) => [key.slice(FREE_DATA_PREFIX.length), String(item)]);
  const fields = Object.fromEntries(leaves) as Record<string, string>;
  const fingerprint = createHash("sha256").update(signed).digest("hex");
  const notification = { fields, freeData: Object.fromEntries(items), fingerprint };
  return { genuine: true, notification, signedWith };
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    if (XMLValidator.validate(text) !== true) return undefined;
    const document = parser.parse(text) as Record<string, unknown>;
    const [root, ...others] = Object.entries(document);
    const [name, result] = root ?? [];
    const lonely = name === "result" && others.length === 0;
    return lonely && typeof result === "object" && result !== null && !Array.isArray(result)
      ? (result as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined; // nested too deep, or a name that is not allowed
  }
}

const refused = (why: string): Refusal => refusal("malformed", why);
const alarming = (why: string): Refusal => refusal("unreadable", why, true);
