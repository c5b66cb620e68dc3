import { describe, expect, test } from "vitest";
import { ApduReader, hasTrueLength } from "../../../../../src/simulator/terminal/zvt/link/lines.ts";
import { usedBy } from "../../../../zvt/vector-uses.ts";
import { hasVectors } from "../../../../zvt/vectors.ts";
import { fromHex, hex } from "../support/register.ts";

describe("messages of a TCP stream", () => {
  const stream = "800000 04ff021703 06d3ff0300010203 061e016c";
  const expected = ["800000", "04ff021703", "06d3ff0300010203", "061e016c"];

  test("come whole wherever the stream is cut", () => {
    const bytes = fromHex(stream);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const reader = new ApduReader();
      const first = reader.push(bytes.subarray(0, cut));
      expect([...first, ...reader.push(bytes.subarray(cut))].map(hex)).toEqual(expected);
      expect(reader.pendingBytes).toBe(0);
    }
  });

  test("come whole byte by byte", () => {
    const reader = new ApduReader();
    const apdus = [...fromHex(stream)].flatMap((byte) => reader.push(Uint8Array.of(byte)));
    expect(apdus.map(hex)).toEqual(expected);
  });

  test("are not reported before the last byte is in", () => {
    const reader = new ApduReader();
    expect(reader.push(fromHex("061e01"))).toEqual([]);
    expect(reader.pendingBytes).toBe(3);
  });
});

test.each([
  { apdu: "800000", truth: true },
  { apdu: "060005123456ba0978", truth: false },
  { apdu: "06d3ff0300010203", truth: true },
  { apdu: "06d3ff03", truth: false },
  { apdu: "80", truth: false },
])("the length of $apdu is true: $truth", ({ apdu, truth }) => {
  expect(hasTrueLength(fromHex(apdu))).toBe(truth);
});

describe.skipIf(!hasVectors)("the conformance vectors", () => {
  test.each(usedBy("tcp-stream-at-simulator"))(
    "$id gives its messages at every cut",
    ({ chunks = [], expect: expected }) => {
      const bytes = fromHex(chunks.join(""));
      for (let cut = 0; cut <= bytes.length; cut++) {
        const reader = new ApduReader();
        const first = reader.push(bytes.subarray(0, cut));
        const apdus = [...first, ...reader.push(bytes.subarray(cut))];
        expect(apdus.map((apdu) => ({ event: "apdu", hex: hex(apdu) }))).toEqual(expected);
      }
    },
  );
});
