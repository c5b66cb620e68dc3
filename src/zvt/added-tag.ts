import type { Apdu } from "./apdu.ts";
import { fields } from "./field-table.ts";
import type { RawField } from "./raw-fields.ts";
import { decodeRaw, encodeRaw } from "./raw-message.ts";
import type { RawTag } from "./tlv.ts";

/**
 * The given message with one more tag at the end of its container, which is added when there is
 * none. Throws {@link ZvtCodecError} when the message cannot be read.
 */
export function withTag(apdu: Apdu, added: RawTag): Apdu {
  const raw = decodeRaw(apdu);
  const container = raw.fields.find(({ tags }) => tags !== null);
  const larger: RawField = {
    number: fields.tlv.number,
    content: new Uint8Array(0),
    tags: [...(container?.tags ?? []), added],
  };
  const list = container
    ? raw.fields.map((field) => (field === container ? larger : field))
    : [...raw.fields, larger];
  return encodeRaw({ ...raw, fields: list });
}
