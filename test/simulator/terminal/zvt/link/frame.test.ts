import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  crcKermit,
  encodeFrame,
  FrameReader,
  type LineEvent,
} from "../../../../../src/simulator/terminal/zvt/link/frame.ts";
import { usedBy } from "../../../../zvt/vector-uses.ts";
import { hasVectors } from "../../../../zvt/vectors.ts";
import { fromHex, hex } from "../support/register.ts";

test("the checksum gives the check value of CRC-16/KERMIT", () => {
  expect(crcKermit(new TextEncoder().encode("123456789"))).toBe(0x2189);
});

describe("golden frames, worked out in docs/zvt.md 2.3", () => {
  const golden = [
    { apdu: "800000", frame: "10028000001003f51f" },
    {
      apdu: "06010a04000000011000490978",
      frame: "100206010a04000000011010004909781003f2ff",
    },
  ];
  test.each(golden)("$apdu is framed and read back", ({ apdu, frame }) => {
    expect(hex(encodeFrame(fromHex(apdu)))).toBe(frame);
    expect(new FrameReader().push(fromHex(frame))).toEqual([frameOf(apdu)]);
  });

  test.each(golden)("$apdu is read back wherever it is cut", ({ apdu, frame }) => {
    const bytes = fromHex(frame);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const reader = new FrameReader();
      const first = reader.push(bytes.subarray(0, cut));
      expect([...first, ...reader.push(bytes.subarray(cut))], `cut at ${cut}`).toEqual([
        frameOf(apdu),
      ]);
      expect(reader.isInside).toBe(false);
    }
  });
});

describe("a line that carries more than frames", () => {
  test("distinguishes ACK, NAK, noise and frames in one read", () => {
    const bytes = fromHex("0615 55aa 10028000001003f51f 06");
    expect(new FrameReader().push(bytes)).toEqual([
      { kind: "ack" },
      { kind: "nak" },
      { kind: "noise", count: 2 },
      frameOf("800000"),
      { kind: "ack" },
    ]);
  });

  test("takes 06 and 15 inside a frame as data", () => {
    const frame = encodeFrame(fromHex("0615020615"));
    expect(new FrameReader().push(frame)).toEqual([frameOf("0615020615")]);
  });

  test("begins again at a new start inside a frame", () => {
    const bytes = fromHex("1002 0601 10028000001003f51f");
    expect(new FrameReader().push(bytes)).toEqual([frameOf("800000")]);
  });

  test("finds the start after a lone 10", () => {
    expect(new FrameReader().push(fromHex("10 10028000001003f51f"))).toEqual([
      { kind: "noise", count: 1 },
      frameOf("800000"),
    ]);
  });
});

describe("frames that a receiver must refuse", () => {
  test("a wrong checksum is a bad frame, and the next one is read", () => {
    const reader = new FrameReader();
    expect(reader.push(fromHex("10028000001003f51e"))).toEqual([
      { kind: "bad-frame", reason: "crc" },
    ]);
    expect(reader.push(fromHex("10028000001003f51f"))).toEqual([frameOf("800000")]);
  });

  test("a frame that is cut off is bad once the line has been silent", () => {
    const reader = new FrameReader();
    expect(reader.push(fromHex("10028000"))).toEqual([]);
    expect(reader.isInside).toBe(true);
    expect(reader.silence()).toEqual([{ kind: "bad-frame", reason: "cut" }]);
    expect(reader.isInside).toBe(false);
  });

  test("a 10 that is not doubled is bad once the line has been silent", () => {
    const reader = new FrameReader();
    expect(reader.push(fromHex("1002 8000 10 55 00 1003 f51f"))).toEqual([]);
    expect(reader.silence()).toEqual([{ kind: "bad-frame", reason: "escape" }]);
  });
});

test("any message comes through framing in any pieces", () => {
  const pieces = fc.array(fc.nat(40), { maxLength: 6 });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), pieces, (apdu, cuts) => {
      const frame = encodeFrame(apdu);
      const reader = new FrameReader();
      const events: LineEvent[] = [];
      let at = 0;
      for (const cut of cuts) {
        events.push(...reader.push(frame.subarray(at, at + cut)));
        at = Math.min(at + cut, frame.length);
      }
      events.push(...reader.push(frame.subarray(at)));
      expect(events).toEqual([{ kind: "frame", apdu }]);
    }),
    { seed: 42 },
  );
});

test("no bytes make the reader throw, and silence always ends a frame", () => {
  const bytes = fc.array(fc.constantFrom(0x02, 0x03, 0x06, 0x10, 0x15, 0x41), { maxLength: 60 });
  fc.assert(
    fc.property(bytes, (noise) => {
      const reader = new FrameReader();
      reader.push(Uint8Array.from(noise));
      reader.silence();
      expect(reader.isInside).toBe(false);
      expect(reader.push(fromHex("10028000001003f51f"))).toEqual([frameOf("800000")]);
    }),
    { seed: 42, numRuns: 500 },
  );
});

describe.skipIf(!hasVectors)("the conformance vectors", () => {
  test.each(usedBy("frame-of-simulator"))("$id is framed and read", ({ hex: frame, serial }) => {
    const apdu = serial?.apdu ?? "";
    expect(hex(encodeFrame(fromHex(apdu)))).toBe(frame);
    expect(new FrameReader().push(fromHex(frame))).toEqual([frameOf(apdu)]);
  });

  test.each(usedBy("serial-stream-at-simulator"))(
    "$id gives its events at every cut",
    ({ chunks = [], expect: expected }) => {
      const bytes = fromHex(chunks.join(""));
      for (let cut = 0; cut <= bytes.length; cut++) {
        const reader = new FrameReader();
        const first = reader.push(bytes.subarray(0, cut));
        const events = [...first, ...reader.push(bytes.subarray(cut))];
        expect(events.map(vectorForm), `cut at ${cut}`).toEqual(expected);
      }
    },
  );
});

function frameOf(apdu: string): LineEvent {
  return { kind: "frame", apdu: fromHex(apdu) };
}

function vectorForm(event: LineEvent) {
  return event.kind === "frame" ? { event: "frame", apdu: hex(event.apdu) } : { event: event.kind };
}
