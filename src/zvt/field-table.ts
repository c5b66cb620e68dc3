/**
 * All numbered fields ("bitmaps", BMP) of docs/zvt.md 11.1 as data. Only a field's number says how
 * long the field is, so a message cannot be read beyond a number that is not in this table.
 */

/** A field's fixed length in bytes, or the form of the length before it (docs/zvt.md 4.2). */
export type FieldLength = number | "llvar" | "lllvar" | "tlv";

/** How a field's content becomes a value. Content of `pan`, `track2` or `secret` is card data. */
export type Encoding =
  /** An unsigned number, high byte first. */
  | "number"
  /** An amount in minor units, as decimal digits. */
  | "amount"
  /** Decimal digits, two in each byte, decoded as text; a nibble above 9 becomes A to F. */
  | "digits"
  /** A card number, which is masked when it is decoded. */
  | "pan"
  /** Track 2 of a card, of which only the masked card number is decoded. */
  | "track2"
  /** Card data that only the codec may see; the decoded value is the number of bytes. */
  | "secret"
  | "text"
  /** A text followed by several zero bytes (field 3B) or by one (field 8B). */
  | "zero-text"
  /** The totals of an end of day (docs/zvt.md 7.1). */
  | "totals"
  | "bytes"
  | "container";

export interface Field<E extends Encoding = Encoding> {
  readonly number: number;
  readonly length: FieldLength;
  readonly as: E;
}

function field<E extends Encoding>(number: number, length: FieldLength, as: E): Field<E> {
  return { number, length, as };
}

export const fields = {
  timeoutSeconds: field(0x01, 1, "number"),
  maxStatusInfos: field(0x02, 1, "number"),
  serviceByte: field(0x03, 1, "number"),
  amount: field(0x04, 6, "amount"),
  pump: field(0x05, 1, "number"),
  tlv: field(0x06, "tlv", "container"),
  trace: field(0x0b, 3, "digits"),
  time: field(0x0c, 3, "digits"),
  date: field(0x0d, 2, "digits"),
  expiry: field(0x0e, 2, "digits"),
  cardSequence: field(0x17, 2, "digits"),
  typeByte: field(0x19, 1, "number"),
  pan: field(0x22, "llvar", "pan"),
  track2: field(0x23, "llvar", "track2"),
  track3: field(0x24, "lllvar", "secret"),
  resultCode: field(0x27, 1, "number"),
  terminalId: field(0x29, 4, "digits"),
  contractNumber: field(0x2a, 15, "text"),
  track1: field(0x2d, "llvar", "secret"),
  chipData: field(0x2e, "lllvar", "secret"),
  originalTrace: field(0x37, 3, "digits"),
  cvv: field(0x3a, 2, "secret"),
  authorisationAttribute: field(0x3b, 8, "zero-text"),
  additionalText: field(0x3c, "lllvar", "text"),
  passwordField: field(0x3d, 3, "secret"),
  currency: field(0x49, 2, "digits"),
  blockedGoods: field(0x4c, "llvar", "bytes"),
  totals: field(0x60, "lllvar", "totals"),
  imageId: field(0x70, 4, "bytes"),
  imageSize: field(0x71, 4, "number"),
  imageType: field(0x72, 1, "number"),
  imageEncoding: field(0x73, 1, "number"),
  imageChunks: field(0x74, 1, "number"),
  imageChunk: field(0x75, 1, "number"),
  receiptNumber: field(0x87, 2, "digits"),
  turnoverNumber: field(0x88, 3, "digits"),
  cardType: field(0x8a, 1, "number"),
  cardName: field(0x8b, "llvar", "zero-text"),
  operatorCardType: field(0x8c, 1, "number"),
  aidParameterOffline: field(0x92, "lllvar", "bytes"),
  geldkarteRecord: field(0x9a, "lllvar", "secret"),
  resultCodeAs: field(0xa0, 1, "number"),
  efId: field(0xa7, "llvar", "secret"),
  dateYYMMDD: field(0xaa, 3, "digits"),
  efInfo: field(0xaf, "lllvar", "secret"),
  aidParameter: field(0xba, 5, "bytes"),
  algorithm: field(0xd0, 1, "number"),
  pinData: field(0xd1, "llvar", "secret"),
  cardDirection: field(0xd2, 1, "number"),
  key: field(0xd3, 1, "number"),
  minLength: field(0xe0, 1, "number"),
  text2Line1: field(0xe1, "llvar", "text"),
  text2Line2: field(0xe2, "llvar", "text"),
  text2Line3: field(0xe3, "llvar", "text"),
  text2Line4: field(0xe4, "llvar", "text"),
  text2Line5: field(0xe5, "llvar", "text"),
  text2Line6: field(0xe6, "llvar", "text"),
  text2Line7: field(0xe7, "llvar", "text"),
  text2Line8: field(0xe8, "llvar", "text"),
  maxLength: field(0xe9, 1, "number"),
  echo: field(0xea, 1, "number"),
  mac: field(0xeb, 8, "secret"),
  duration: field(0xf0, 1, "number"),
  text1Line1: field(0xf1, "llvar", "text"),
  text1Line2: field(0xf2, "llvar", "text"),
  text1Line3: field(0xf3, "llvar", "text"),
  text1Line4: field(0xf4, "llvar", "text"),
  text1Line5: field(0xf5, "llvar", "text"),
  text1Line6: field(0xf6, "llvar", "text"),
  text1Line7: field(0xf7, "llvar", "text"),
  text1Line8: field(0xf8, "llvar", "text"),
  beeps: field(0xf9, 1, "number"),
  reader: field(0xfa, 1, "number"),
  confirm: field(0xfb, 1, "number"),
  dialogControl: field(0xfc, 1, "number"),
  display: field(0xfd, 1, "number"),
} as const;

export type FieldName = keyof typeof fields;

export const fieldsByNumber: ReadonlyMap<number, Field & { readonly name: FieldName }> = new Map(
  Object.entries<Field>(fields).map(([name, entry]) => [
    entry.number,
    { ...entry, name: name as FieldName },
  ]),
);
