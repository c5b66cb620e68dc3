import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteReader } from "../../src/zvt/bytes.ts";
import { fields } from "../../src/zvt/field-table.ts";
import {
  type Apdu,
  charsetOfCode,
  codeOfCharset,
  concat,
  container,
  decodeMessage,
  encodeText,
  findTags,
  fromHex,
  type RawTag,
  rawTag,
  safeHex,
  tag,
  tagValue,
  toHex,
  writeTags,
  ZvtCodecError,
} from "../../src/zvt/index.ts";
import { decodeRaw, encodeRaw, type RawField } from "../../src/zvt/message.ts";
import { messages } from "../../src/zvt/message-table.ts";
import { tagTable } from "../../src/zvt/tag-table.ts";
import {
  decodeTags,
  hasConstructedBit,
  readContainer,
  writeTlvLength,
} from "../../src/zvt/tags.ts";
import { decodeText } from "../../src/zvt/values.ts";
import { tries } from "../support/run/scope.ts";

const controls = [
  ...new Set(Object.values(messages).map(({ control }) => control)),
  0x849c,
  0x0fa1,
];

/** 1F80 and 1F81 apart: against the BER rule, they can be read in two ways (docs/zvt.md 4.3). */
const plainTags = tagTable.filter(
  ({ as, number }) => as !== "container" && as !== "opaque" && (number & 0xfffe) !== 0x1f80,
);
const tags = fc.array(
  fc.oneof(
    fc
      .tuple(fc.constantFrom(...plainTags), fc.uint8Array({ maxLength: 300 }))
      .map(([{ number }, content]) => rawTag(number, content)),
    fc
      .uint8Array({ maxLength: 20 })
      .map((bytes) =>
        container("displayTexts", [tag("textLine", bytes), tag("textLine", "Karte")]),
      ),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => rawTag(0x1f7e, bytes)),
  ),
  { maxLength: 4 },
);

const rawField: fc.Arbitrary<RawField> = fc
  .constantFrom(...Object.values(fields))
  .chain((entry) => {
    if (entry.length === "tlv") {
      return tags.map((list): RawField => ({ number: 6, content: writeTags(list), tags: list }));
    }
    const exact = typeof entry.length === "number" ? entry.length : undefined;
    const size = exact === undefined ? { maxLength: 99 } : { minLength: exact, maxLength: exact };
    return fc
      .uint8Array(size)
      .map((content): RawField => ({ number: entry.number, content, tags: null }));
  });

/** Returns the bytes of fields, written as a message that has nothing else. */
function writeFields(list: readonly RawField[]): Uint8Array {
  const head = { control: 0x0601, extended: false, parts: [], unknownField: null };
  return encodeRaw({ ...head, fields: list, rest: new Uint8Array(0) }).data;
}

test("any list of fields comes back as it was written", () => {
  fc.assert(
    fc.property(fc.array(rawField, { maxLength: 8 }), (list) => {
      const raw = decodeRaw({ control: 0x0601, data: writeFields(list) });
      expect(raw.fields).toEqual(list);
      expect(raw.unknownField).toBeNull();
    }),
    { numRuns: tries(4000), seed: 20_261 },
  );
});

const anyApdu = fc.record({
  control: fc.constantFrom(...controls),
  data: fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .tuple(fc.uint8Array({ maxLength: 4 }), fc.array(rawField, { maxLength: 4 }))
      .map(([head, list]) => Uint8Array.of(...head, ...writeFields(list))),
  ),
});
const answering = fc.constantFrom({}, { answering: 0x0501 }, { answering: 0x06e1 });

test("any message that can be read is written to the same bytes again", () => {
  let read = 0;
  fc.assert(
    fc.property(anyApdu, answering, (apdu: Apdu, options) => {
      const raw = unlessCodecError(() => decodeRaw(apdu, options));
      if (!raw) return;
      read += 1;
      expect(encodeRaw(raw)).toEqual(apdu);
    }),
    { numRuns: tries(6000), seed: 20_261 },
  );
  expect(read).toBeGreaterThan(tries(2000));
});

test("decoding any bytes throws the codec's own error or nothing, and can be logged", () => {
  fc.assert(
    fc.property(anyApdu, answering, (apdu: Apdu, options) => {
      unlessCodecError(() => decodeMessage(apdu, options));
      expect(safeHex(apdu, options)).toHaveLength(2 * (apdu.data.length + 3));
    }),
    { numRuns: tries(7000), seed: 20_261 },
  );
});

function unlessCodecError<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    expect(error).toBeInstanceOf(ZvtCodecError);
    return undefined;
  }
}

/** Reads tags as the content of field 06, whose length stands before them. */
function readTags(content: Uint8Array): readonly RawTag[] {
  const field = concat([writeTlvLength(content.length), content]);
  return readContainer(new ByteReader(field)).tags;
}

describe("tags", () => {
  test("every container of the table has the constructed bit, and no plain tag has", () => {
    const wrong = tagTable.filter(
      ({ number, as }) => (as === "container" || as === "opaque") !== hasConstructedBit(number),
    );
    expect(wrong).toEqual([]);
  });

  test("lengths of 127, 128, 255 and 256 bytes take one, two, two and three bytes", () => {
    const head = (length: number) => toHex(writeTags([rawTag(0x1c, new Uint8Array(length))]));
    expect(head(127).slice(0, 4)).toBe("1c7f");
    expect(head(128).slice(0, 6)).toBe("1c8180");
    expect(head(255).slice(0, 6)).toBe("1c81ff");
    expect(head(256).slice(0, 8)).toBe("1c820100");
  });

  test("a length longer than necessary is read and written again", () => {
    for (const hex of ["0781024869", "078200024869", "2481030701aa", "24820005078200 01aa"]) {
      const bytes = fromHex(hex.replace(" ", ""));
      expect(toHex(writeTags(readTags(bytes)))).toBe(toHex(bytes));
    }
  });

  test("file tags are read in the form of 13.08 and in the later one", () => {
    const read = (hex: string) => readTags(fromHex(hex)).map(({ tag: number }) => number);
    expect(read("1f80054142434445")).toEqual([0x1f80]);
    expect(read("1f80000141")).toEqual([0x1f8000]);
    expect(read("1f81057465787400")).toEqual([0x1f81]);
  });

  test("an unknown tag is skipped, whatever is in it", () => {
    const decoded = decodeTags(
      readTags(fromHex("1f7e02aabb3f7f03ffffff0702 4869".replace(" ", ""))),
      "cp437",
    );
    expect(decoded.map(({ name }) => name)).toEqual([null, null, "textLine"]);
    expect(decoded[0]?.value).toEqual({ hiddenBytes: 2 });
    expect(tagValue(decoded, "textLine")).toBe("Hi");
  });

  test("a known container whose content is broken is an error", () => {
    expect(() => readTags(fromHex("240207 05".replace(" ", "")))).toThrow(
      expect.objectContaining({ code: "truncated" }),
    );
  });

  test("values are found by path, all or the first", () => {
    const decoded = decodeTags(
      [
        container("printTexts", [
          tag("textLine", "a"),
          tag("attribute", 0x40),
          tag("textLine", "b"),
        ]),
      ],
      "cp437",
    );
    expect(findTags(decoded, "printTexts", "textLine").map(({ value }) => value)).toEqual([
      "a",
      "b",
    ]);
    expect(tagValue(decoded, "printTexts", "attribute")).toBe(0x40);
    expect(tagValue(decoded, "terminalId")).toBeUndefined();
  });

  test("an empty number has no value", () => {
    expect(tagValue(decodeTags([rawTag(0x1f43, new Uint8Array(0))], "cp437"), "deviceState")).toBe(
      undefined,
    );
  });
});

describe("character sets", () => {
  test("the German letters stand where docs/zvt.md 11.7 puts them", () => {
    expect(toHex(encodeText("ÄÖÜäöüß", "cp437"))).toBe("8e999a849481e1");
    expect(toHex(encodeText("ÄÖÜäöüß", "zvt7"))).toBe("5b5c5d7b7c7d7e");
    expect(toHex(encodeText("Äß", "iso8859-2"))).toBe("c4df");
    expect(toHex(encodeText("ä", "utf8"))).toBe("c3a4");
  });

  test("the codes of tag 14 name their sets, both ways", () => {
    for (let code = 0; code < 256; code++) {
      const charset = charsetOfCode(code);
      if (charset) expect(codeOfCharset(charset)).toBe(code);
    }
    expect([0, 1, 2, 12, 16, 17, 0xfe, 0xff].map(charsetOfCode)).toEqual([
      "ascii",
      "iso8859-1",
      "iso8859-2",
      undefined,
      "iso8859-16",
      undefined,
      "utf8",
      "cp437",
    ]);
  });

  test("every set decodes every byte without a throw", () => {
    const all = Uint8Array.from({ length: 256 }, (_, i) => i);
    for (let code = 0; code < 256; code++) {
      const charset = charsetOfCode(code);
      if (charset) expect(decodeText(all, charset).length).toBeGreaterThan(100);
    }
    expect(decodeText(all, "zvt7")).toHaveLength(256);
  });
});
