import { isUtf8 } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { XMLParser, XMLValidator } from "fast-xml-parser";

/** A notification whose digest is right. */
export interface MapiNotification {
  /** Text of the leaves of `result`, by name. */
  readonly fields: Readonly<Record<string, string>>;
  /** Free data of the order, by its key. */
  readonly freeData: Readonly<Record<string, string>>;
  /** SHA-256 of the verified bytes, hex. */
  readonly fingerprint: string;
}

type MapiVerdict =
  | { readonly genuine: true; readonly notification: MapiNotification }
  | { readonly genuine: false; readonly why: string };

const OPENING = "<result>";
const CLOSING = "</result>";
const NESTED_TAGS_MAX = 4;
const ELEMENTS_MAX = 500;
const FREE_DATA_PREFIX = "_aKey_";

/**
 * Everything around the signed bytes. It is not signed, so nothing but the documented form is
 * taken: one root, exactly `<mapi>`, with version and digest, and nothing behind it
 * (docs/gateway.md 3.4). The XML package alone would accept a second root and text behind a root
 * that closes itself.
 */
const before = new RegExp(
  "^\\u{FEFF}?\\s*(?:<\\?xml\\s[^<>]*\\?>)?\\s*<mapi>\\s*" +
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
 * followed by the password, in any letter case, compared in constant time; only those bytes are
 * parsed. Pure, never throws.
 */
export function readMapi(document: Buffer, password: string): MapiVerdict {
  if (!isUtf8(document)) return refused("not UTF-8");
  const opening = document.indexOf(OPENING);
  const closing = document.indexOf(CLOSING);
  const only =
    opening >= 0 &&
    closing > opening &&
    opening === document.lastIndexOf(OPENING) &&
    closing === document.lastIndexOf(CLOSING);
  if (!only) return refused("not exactly one result element");
  const end = closing + CLOSING.length;
  const signed = document.subarray(opening, end);
  const digest = before.exec(document.subarray(0, opening).toString("utf8"))?.[1];
  if (digest === undefined || !after.test(document.subarray(end).toString("utf8"))) {
    return refused("not one mapi element with version, digest and result");
  }
  const expected = createHash("md5").update(signed).update(password, "utf8").digest();
  if (!timingSafeEqual(expected, Buffer.from(digest, "hex"))) return refused("wrong digest");
  return readSigned(signed);
}

function readSigned(signed: Buffer): MapiVerdict {
  const text = signed.toString("utf8");
  // Document types, entities, comments and CDATA: the gateway sends none (docs/gateway.md 3.4).
  if (/<[!?]/.test(text)) return refused("declarations inside the result");
  if ((text.match(/</g) ?? []).length > 2 * ELEMENTS_MAX) return refused("too many elements");
  const result = parse(text);
  if (!result) return refused("not well-formed XML");
  const fields: Record<string, string> = {};
  const freeData: Record<string, string> = {};
  for (const [name, value] of Object.entries(result)) {
    if (name === "#text") continue;
    if (name === "merchantDatas") {
      for (const [key, item] of Object.entries(typeof value === "object" ? (value ?? {}) : {})) {
        if (!key.startsWith(FREE_DATA_PREFIX)) continue;
        set(freeData, key.slice(FREE_DATA_PREFIX.length), item);
      }
    } else if (typeof value === "string") set(fields, name, value);
    else return refused(`${name.slice(0, 40)} stands there twice or has elements in it`);
  }
  const fingerprint = createHash("sha256").update(signed).digest("hex");
  return { genuine: true, notification: { fields, freeData, fingerprint } };
}

function set(target: Record<string, string>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value: String(value), enumerable: true });
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

function refused(why: string): MapiVerdict {
  return { genuine: false, why };
}
