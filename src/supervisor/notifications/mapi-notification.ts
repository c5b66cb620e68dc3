import { isUtf8 } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { XMLParser } from "fast-xml-parser";
import { parseXml } from "../gateway/soap-answer.ts";
import { type Refusal, refusal } from "./notification-tally.ts";

export type MapiNotification = Exclude<ReturnType<typeof readSigned>, Refusal>["notification"];

/** A secret that the gateway may sign with; logs contain only the name of its setting. */
export interface DigestSecret {
  readonly setting: string;
  readonly value: string;
}

const OPENING = "<result>";
const CLOSING = "</result>";
const CDATA_OPENING = "<![CDATA[";
const NESTED_TAGS_MAX = 4;
const ELEMENTS_MAX = 500;
const FREE_DATA_PREFIX = "_aKey_";

/**
 * The documented form of the bytes before the signed bytes (docs/gateway.md 3.4). No signature
 * covers them, so any other form is refused. Leading blanks are cut off before the match, because
 * two adjacent patterns for blanks would take half a minute for 60 KB.
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
 * Returns one field of an `application/x-www-form-urlencoded` body, decoded byte for byte, because
 * the digest covers bytes and not characters. undefined: the field is missing, repeated or badly
 * encoded. Takes time in proportion to the length of the body. Pure.
 */
export function formField(body: Buffer, name: string): Buffer | undefined {
  const key = `${name}=`;
  const given = body.toString("latin1").split("&");
  const [field, again] = given.filter((one) => one.startsWith(key));
  if (field === undefined || again !== undefined || /%(?![0-9A-Fa-f]{2})/.test(field)) {
    return undefined;
  }
  const decoded = field
    .slice(key.length)
    .replaceAll("+", " ")
    .replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(decoded, "latin1");
}

/**
 * Verifies and reads one notification. Its digest is the MD5 of the bytes of the only
 * `<result>...</result>` followed by a secret, and only these bytes are parsed. Pure, never throws.
 */
export function readMapi(document: Buffer, secrets: readonly DigestSecret[]) {
  if (!isUtf8(document)) return refused("not UTF-8");
  const outline = outlineOf(document);
  const opening = outline.indexOf(OPENING);
  const closing = outline.indexOf(CLOSING);
  const only =
    opening >= 0 &&
    closing > opening &&
    opening === outline.lastIndexOf(OPENING) &&
    closing === outline.lastIndexOf(CLOSING);
  if (!only) return refused("the notification does not contain exactly one result element");
  const end = closing + CLOSING.length;
  const signed = document.subarray(opening, end);
  const digest = before.exec(document.subarray(0, opening).toString("utf8").trimStart())?.[1];
  if (digest === undefined || !after.test(document.subarray(end).toString("utf8"))) {
    return refused("the notification is not one mapi element with version, digest and result");
  }
  const signedWith = signerOf(signed, Buffer.from(digest, "hex"), secrets);
  if (signedWith !== undefined) return readSigned(signed, outline.slice(opening, end), signedWith);
  // With CDATA even the gateway's digest may differ, because XML writers digest CDATA differently.
  return document.includes(CDATA_OPENING)
    ? refusal("wrong-digest", "wrong digest of a result with CDATA", true)
    : refusal("wrong-digest", "wrong digest");
}

/** Returns the setting of the secret that made the digest; each comparison takes equally long. */
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

/** Returns the document with CDATA sections replaced by x, because their content is no markup. */
function outlineOf(document: Buffer): string {
  const text = document.toString("latin1");
  // After the last closing mark no section ends: a search there would take quadratic time.
  const end = text.lastIndexOf("]]>") + "]]>".length;
  const sections = /<!\[CDATA\[.*?\]\]>/gs;
  return text.slice(0, end).replace(sections, ({ length }) => "x".repeat(length)) + text.slice(end);
}

/** Reads the verified bytes. `signedWith`: the setting with the secret that made the digest. */
function readSigned(signed: Buffer, outline: string, signedWith: string) {
  const text = signed.toString("utf8");
  // The gateway sends no document types, entities and comments (docs/gateway.md 3.4).
  if (/<[!?]/.test(outline)) return alarming("declarations inside the result");
  if ((outline.match(/</g) ?? []).length > 2 * ELEMENTS_MAX) return alarming("too many elements");
  const [[name, result] = [], ...others] = Object.entries(parseXml(text, parser) ?? {});
  if (name !== "result" || others.length > 0 || !isElement(result)) {
    return alarming("not well-formed XML");
  }
  const leaves = Object.entries(result).filter(([name]) => !/^(#text|merchantDatas)$/.test(name));
  const [odd] = leaves.find(([, value]) => typeof value !== "string") ?? [];
  if (odd !== undefined) {
    return alarming(`${odd.slice(0, 40)} stands there twice or has elements in it`);
  }
  const { merchantDatas } = result;
  const items = Object.entries(typeof merchantDatas === "object" ? (merchantDatas ?? {}) : {})
    .filter(([key]) => key.startsWith(FREE_DATA_PREFIX))
    .map(([key, item]) => [key.slice(FREE_DATA_PREFIX.length), String(item)]);
  const notification = {
    /** The texts of the elements inside `result` that have no child elements, by name. */
    fields: Object.fromEntries(leaves) as Record<string, string>,
    freeData: Object.fromEntries(items) as Record<string, string>,
    fingerprint: createHash("sha256").update(signed).digest("hex"),
  };
  return { genuine: true as const, notification, signedWith };
}

function isElement(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const refused = (why: string): Refusal => refusal("malformed", why);
const alarming = (why: string): Refusal => refusal("unreadable", why, true);
