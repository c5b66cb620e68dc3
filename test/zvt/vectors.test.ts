import { describe, expect, test } from "vitest";
import { fields, fieldsByNumber } from "../../src/zvt/field-table.ts";
import {
  type Apdu,
  ApduReader,
  type Charset,
  decodeApdu,
  decodeMessage,
  encodeApdu,
  errorCodeOf,
  fromHex,
  type Message,
  type RawTag,
  safeHex,
  shapeOf,
  toHex,
  ZvtCodecError,
} from "../../src/zvt/index.ts";
import { decodeRaw, encodeRaw } from "../../src/zvt/message.ts";
import { decodeTags } from "../../src/zvt/tags.ts";
import { usedBy } from "./vector-uses.ts";
import {
  type Decoded,
  type DecodedField,
  type DecodedTag,
  hasVectors,
  type Vector,
} from "./vectors.ts";

const charsets: Record<string, Charset> = { latin1: "iso8859-1", utf8: "utf8", zvt7: "zvt7" };

function optionsOf({ context, charset }: Vector) {
  return {
    ...(/^[0-9a-f]{4}$/.test(context ?? "")
      ? { answering: Number.parseInt(context as string, 16) }
      : {}),
    ...(charset ? { charset: charsets[charset] as Charset } : {}),
  };
}

function expectFixed(vector: Vector, message: Message, apdu: Apdu): void {
  const { fixed = {} } = vector.decoded;
  const { parts } = message;
  const ours: Record<string, unknown> = {
    ...parts,
    configByte: parts.configByte?.toString(16).padStart(2, "0"),
    attribute: parts.attribute?.toString(16).padStart(2, "0"),
    errorCode: errorCodeOf(apdu.control),
    timeoutMinutes: parts.timeoutMinutes ?? null,
    keyCode: parts.data && toHex(parts.data),
  };
  const text = decodeRaw(apdu, optionsOf(vector)).parts.find(({ part }) => part.name === "text");
  ours["textHex"] = toHex(text?.content ?? apdu.data.subarray(1));
  ours["text"] = parts.text ?? (parts.attribute === 0xff ? undefined : "");
  ours["softwareVersionHex"] = fixed["softwareVersionHex"]; // the text stands for it
  ours["dataHex"] = toHex(apdu.data);
  for (const [name, value] of Object.entries(fixed)) expect(ours[name], name).toEqual(value);
}

function expectField(expected: DecodedField, message: Message, raw: ReturnType<typeof decodeRaw>) {
  const number = Number.parseInt(expected.bmp, 16);
  const entry = fieldsByNumber.get(number);
  expect(entry?.name).toBe(expected.name);
  const field = raw.fields.find((candidate) => candidate.number === number);
  expect(toHex(field?.content ?? new Uint8Array(1))).toBe(expected.hex);
  const value = message.fields[expected.name as keyof typeof message.fields];
  if (expected.value !== undefined) expect(value).toEqual(expected.value);
  if (expected.text !== undefined) expect(value).toBe(expected.text);
  const isCard = entry?.as === "pan" || entry?.as === "track2";
  if (expected.digits !== undefined && !isCard) expect(value).toBe(expected.digits);
  if (isCard) expect(value).toMatch(/^[0-9X]*$/);
}

function expectTags(expected: readonly DecodedTag[], raw: readonly RawTag[], charset?: Charset) {
  expect(raw.map(({ tag }) => tag.toString(16))).toEqual(
    expected.map(({ tag }) => Number.parseInt(tag, 16).toString(16)),
  );
  const decoded = decodeTags(raw, charset ?? "cp437");
  for (const [i, entry] of expected.entries()) {
    const found = raw[i] as RawTag;
    if (entry.children) {
      expectTags(entry.children, found.children ?? [], charset);
      continue;
    }
    expect(toHex(found.content)).toBe(entry.hex);
    const value = decoded[i]?.value;
    if (entry.text !== undefined && !entry.opaque) expect(value).toBe(entry.text);
    if (entry.digits !== undefined) {
      expect(String(value).toLowerCase()).toBe(entry.digits.toLowerCase());
    }
  }
}

function expectDecoded(vector: Vector, hex: string, decoded: Decoded): void {
  const apdu = decodeApdu(fromHex(hex));
  const options = optionsOf(vector);
  expect(apdu.data.length).toBe(decoded.dataLength);
  const lengthForm = apdu.extended || apdu.data.length > 254 ? "extended" : "short";
  expect(lengthForm).toBe(decoded.lengthForm);
  if (vector.context !== "vendor") {
    const message = decodeMessage(apdu, options);
    const raw = decodeRaw(apdu, options);
    expectFixed(vector, message, apdu);
    expect(raw.fields.map(({ number }) => number.toString(16).padStart(2, "0"))).toEqual(
      (decoded.bmp ?? []).map(({ bmp }) => bmp),
    );
    for (const field of decoded.bmp ?? []) expectField(field, message, raw);
    const container = raw.fields.find(({ number }) => number === fields.tlv.number);
    const tlv = decoded.bmp?.find(({ bmp }) => bmp === "06")?.tlv;
    if (tlv) expectTags(tlv, container?.tags ?? [], options.charset);
    expect(message.unknownField).toBeNull();
  } else {
    expect(toHex(apdu.data)).toBe(decoded.fixed?.["dataHex"]);
  }
  expect(toHex(encodeApdu(encodeRaw(decodeRaw(apdu, options))))).toBe(hex);
  expect(safeHex(apdu, options)).toHaveLength(hex.length);
}

describe.skipIf(!hasVectors)("published and recorded APDUs", () => {
  test("the vectors are there", () => {
    expect(usedBy("decode")).toHaveLength(147 + 31);
  });

  test.each(usedBy("decode").map((vector) => [vector.id, vector] as const))(
    "%s is decoded as stated and encoded to the same bytes",
    (_id, vector) => expectDecoded(vector, vector.serial?.apdu ?? vector.hex, vector.decoded),
  );

  test.each(usedBy("refuse-by-driver").map((vector) => [vector.id, vector] as const))(
    "%s is refused or waited for",
    (_id, { hex, expect: expected }) => {
      const { result } = expected as { result: string };
      expect(verdict(fromHex(hex))).toBe(result);
    },
  );

  test.each(usedBy("tcp-stream-at-driver").map((vector) => [vector.id, vector] as const))(
    "%s gives its messages with their last byte",
    (_id, { chunks = [], expect: expected }) => {
      const reader = new ApduReader();
      const events = chunks.flatMap((chunk) => reader.push(fromHex(chunk)));
      expect(
        events.map((event) => event.event === "apdu" && toHex(encodeApdu(event.apdu))),
      ).toEqual((expected as { hex: string }[]).map(({ hex }) => hex));
      expect(reader.pendingBytes).toBe(0);
    },
  );
});

/** What a receiver makes of bytes that arrived together, and of nothing after them. */
function verdict(bytes: Uint8Array): string {
  const reader = new ApduReader();
  const events = reader.push(bytes);
  if (events.length === 0) return "incomplete";
  for (const event of events) {
    if (event.event === "garbage" || !shapeOf(event.apdu.control)) return "reject";
    try {
      if (decodeMessage(event.apdu).unknownField !== null) return "reject";
    } catch (error) {
      if (error instanceof ZvtCodecError) return "reject";
      throw error;
    }
  }
  return "accepted";
}
