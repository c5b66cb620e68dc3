/** What the ZVT driver and the simulated terminal share; see message.ts for the picture. */
export { withTag } from "./added-tag.ts";
export {
  APDU_DATA_MAX,
  type Apdu,
  type ApduEvent,
  ApduReader,
  decodeApdu,
  encodeApdu,
  isPlausibleControl,
} from "./apdu.ts";
export { concat, fromHex, sameBytes, toHex } from "./bytes.ts";
export {
  type Charset,
  charsetOfCode,
  codeOfCharset,
  DEFAULT_CHARSET,
  decodeText,
  encodeText,
} from "./charset.ts";
export { ZvtCodecError, type ZvtCodecErrorCode } from "./errors.ts";
export { type FieldName, fieldOfNumber, fields } from "./field-table.ts";
export { messageTitle, safeHex } from "./log-form.ts";
export {
  type DecodeOptions,
  decodeMessage,
  encodeMessage,
  errorCodeOf,
  type Message,
  type MessageInput,
} from "./message.ts";
export {
  type MessageName,
  type MessageShape,
  messages,
  type Part,
  type PartName,
  type PartValues,
  shapeOf,
} from "./message-table.ts";
export { type RawField, type RawFields, readFields, writeFields } from "./raw-fields.ts";
export { type Answering, decodeRaw, encodeRaw, type RawMessage } from "./raw-message.ts";
export { type TagName, type TagValueOf, tagOfName, tagOfNumber, tagTable } from "./tag-table.ts";
export {
  container,
  decodeTags,
  findTags,
  rawContainer,
  rawTag,
  type Tag,
  tag,
  tagValue,
} from "./tags.ts";
export { type RawTag, readTags, writeTags } from "./tlv.ts";
export { type Totals, totalsGroups } from "./totals.ts";
export type { FieldInputs, FieldValues, Hidden } from "./values.ts";
