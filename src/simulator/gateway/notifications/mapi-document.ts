import { createHash } from "node:crypto";
import { type XmlOutput, xml, xmlDocument, xmlElement } from "../xml/write-xml.ts";

/** The signed document of a server-to-server notification: docs/gateway.md 3.2, 3.4. */

interface FreeDataItem {
  readonly key: string;
  readonly value: string;
}

/** The children of `result` in their order; free data becomes elements of its own. */
export type ResultFields = ReadonlyArray<
  readonly [name: string, value: string | readonly FreeDataItem[]]
>;

/**
 * MD5 over the bytes from `<result>` up to and including `</result>`, followed at once by the
 * secret, which is the password or the website's salt; lower-case hex. A bad digest is that of
 * another secret.
 */
export function mapiDocument(fields: ResultFields, secret: string, badDigest = false): string {
  const result = xml("result", fields.map(resultChild));
  const digest = createHash("md5")
    .update(xmlElement(result))
    .update(badDigest ? `${secret}?` : secret)
    .digest("hex");
  const mapi = xml("mapi", [xml("mapiversion", "1.0"), xml("md5content", digest), result]);
  return `${xmlDocument(mapi)}\n`;
}

function resultChild([name, value]: ResultFields[number]): XmlOutput {
  if (typeof value === "string") return xml(name, value);
  return xml(
    name,
    value.filter(({ key }) => isNameEnd(key)).map((item) => xml(`_aKey_${item.key}`, item.value)),
  );
}

/**
 * Keys become element names; one that cannot be part of a name is left out, since what the gateway
 * does with it is not public.
 */
function isNameEnd(key: string): boolean {
  return /^[\p{L}\p{N}_.-]*$/u.test(key);
}
