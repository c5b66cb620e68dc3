/** The ZVT codec, for the driver and the simulated terminal; message.ts begins with an overview. */
export { type Apdu, ApduReader, decodeApdu, encodeApdu } from "./apdu.ts";
export { concat, fromHex, sameBytes, toHex, ZvtCodecError } from "./bytes.ts";
export { messageTitle, safeHex } from "./log-form.ts";
export {
  type DecodeOptions,
  decodeMessage,
  encodeMessage,
  errorCodeOf,
  type Message,
  type MessageInput,
  withTag,
} from "./message.ts";
export { type MessageName, shapeOf } from "./message-table.ts";
export type { TagName } from "./tag-table.ts";
export { container, findTags, type RawTag, rawTag, tag, tagValue, writeTags } from "./tags.ts";
export {
  type Charset,
  charsetOfCode,
  codeOfCharset,
  encodeText,
  type FieldInputs,
  type Totals,
  totalsGroups,
} from "./values.ts";
