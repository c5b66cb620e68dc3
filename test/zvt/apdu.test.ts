import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Apdu,
  ApduReader,
  decodeApdu,
  encodeApdu,
  fromHex,
  toHex,
  ZvtCodecError,
} from "../../src/zvt/index.ts";
import { tries } from "../support/run/scope.ts";

function filled(control: number, length: number): Apdu {
  return { control, data: new Uint8Array(length).fill(0x41) };
}

test("254 data bytes still have a length of one byte, 255 need three, low byte first", () => {
  expect(toHex(encodeApdu(filled(0x06d3, 254)).subarray(0, 5))).toBe("06d3fe4141");
  expect(toHex(encodeApdu(filled(0x06d3, 255)).subarray(0, 6))).toBe("06d3ffff0041");
  expect(toHex(encodeApdu(filled(0x06d3, 300)).subarray(0, 6))).toBe("06d3ff2c0141");
  expect(encodeApdu(filled(0x06d3, 65_535))).toHaveLength(65_540);
});

test("an APDU with 65536 data bytes is refused", () => {
  expect(() => encodeApdu(filled(0x06d3, 65_536))).toThrow(
    expect.objectContaining({ code: "too-long" }),
  );
});

test("a long length around short data is read, remembered and written again", () => {
  const bytes = fromHex("060fff0100aa");
  expect(decodeApdu(bytes)).toEqual({
    control: 0x060f,
    data: Uint8Array.of(0xaa),
    extended: true,
  });
  expect(toHex(encodeApdu(decodeApdu(bytes)))).toBe("060fff0100aa");
});

test.each(["06", "0601", "060102aa", "060101aabb", "0601ff01", "0601ff0200aa"])(
  "%s is not exactly one APDU",
  (hex) => {
    expect(() => decodeApdu(fromHex(hex))).toThrow(
      expect.objectContaining({ name: "ZvtCodecError", code: "length-mismatch" }),
    );
  },
);

test("a stream cut at every byte gives each APDU with its last byte and never before", () => {
  const long = encodeApdu(filled(0x06d3, 300));
  const stream = [fromHex("800000"), fromHex("04ff0117"), long, fromHex("060fff0000"), long];
  const bytes = Uint8Array.from(stream.flatMap((part) => [...part]));
  const ends = stream.map((_, i) =>
    stream.slice(0, i + 1).reduce((n, { length }) => n + length, 0),
  );
  for (let cut = 0; cut <= bytes.length; cut++) {
    const reader = new ApduReader();
    const first = reader.push(bytes.slice(0, cut));
    expect(first).toHaveLength(ends.filter((end) => end <= cut).length);
    const all = [...first, ...reader.push(bytes.slice(cut))];
    expect(all.map((event) => event.event === "apdu" && toHex(encodeApdu(event.apdu)))).toEqual(
      stream.map(toHex),
    );
    expect(reader.pendingBytes).toBe(0);
  }
});

test("bytes that arrive one at a time give the same APDUs", () => {
  const reader = new ApduReader();
  const events = [...fromHex("061e016c0601ff0100aa800000")].flatMap((byte) =>
    reader.push(Uint8Array.of(byte)),
  );
  expect(events.map((event) => event.event === "apdu" && event.apdu.control)).toEqual([
    0x061e, 0x0601, 0x8000,
  ]);
});

test("an impossible control field makes the rest garbage, and the reader begins anew", () => {
  const reader = new ApduReader();
  const events = reader.push(fromHex("800000150369060f00"));
  expect(events.map(({ event }) => event)).toEqual(["apdu", "garbage"]);
  expect(events[1]).toEqual({ event: "garbage", bytes: fromHex("150369060f00") });
  expect(reader.pendingBytes).toBe(0);
  expect(reader.push(fromHex("060f00"))).toHaveLength(1);
});

test("what has been pushed may be overwritten by its owner afterwards", () => {
  const reader = new ApduReader();
  const chunk = fromHex("061e016c");
  const [event] = reader.push(chunk);
  chunk.fill(0);
  expect(event).toEqual({ event: "apdu", apdu: { control: 0x061e, data: Uint8Array.of(0x6c) } });
});

const apdus = fc.record({
  control: fc.constantFrom(0x0401, 0x040f, 0x04ff, 0x0501, 0x0601, 0x06d3, 0x0840, 0x8000, 0x8483),
  data: fc.uint8Array({ maxLength: 600, size: "max" }),
});

test("any APDUs in a stream cut anywhere come out as they went in", () => {
  fc.assert(
    fc.property(
      fc.array(apdus, { maxLength: 5 }),
      fc.array(fc.nat(1200), { maxLength: 6 }),
      (list, cuts) => {
        const bytes = Uint8Array.from(list.flatMap((apdu) => [...encodeApdu(apdu)]));
        const reader = new ApduReader();
        const at = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const events = at.slice(1).flatMap((end, i) => reader.push(bytes.slice(at[i], end)));
        const read = events.map((event) => (event.event === "apdu" ? event.apdu : event.bytes));
        expect(read).toEqual(list);
      },
    ),
    { numRuns: 500, seed: 20_261 },
  );
});

test("any bytes at all give events or wait, and never throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(() => new ApduReader().push(bytes)).not.toThrow();
      try {
        decodeApdu(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(ZvtCodecError);
      }
    }),
    { numRuns: tries(3000), seed: 20_261 },
  );
});
