/**
 * The ZVT codec, for the driver and the simulated terminal; message.ts begins with an overview.
 */
export { type Apdu, ApduReader, decodeApdu, encodeApdu } from "./apdu.ts";
export { concat, fromHex, sameBytes, toHex, ZvtCodecError } from "./bytes.ts";
export { fieldOfNumber, fields } from "./field-table.ts";
export { messageTitle, safeHex } from "./log-form.ts";
export {
  type DecodeOptions,
  decodeMessage,
  decodeRaw,
  encodeMessage,
  encodeRaw,
  errorCodeOf,
  type Message,
  type MessageInput,
  type RawField,
  withTag,
  writeFields,
} from "./message.ts";
export { type MessageName, messages, shapeOf } from "./message-table.ts";
export { type TagName, tagTable } from "./tag-table.ts";
export {
  container,
  decodeTags,
  findTags,
  type RawTag,
  rawTag,
  readTags,
  type Tag,
  tag,
  tagValue,
  writeTags,
} from "./tags.ts";
export {
  type Charset,
  charsetOfCode,
  codeOfCharset,
  decodeText,
  encodeText,
  type FieldInputs,
  type Totals,
  totalsGroups,
} from "./values.ts";
