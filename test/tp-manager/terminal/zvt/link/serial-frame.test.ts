import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  crc16,
  encodeFrame,
  type FrameEvent,
  FrameReader,
} from "../../../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import { fromHex, toHex } from "../../../../../src/zvt/index.ts";
import { tries } from "../../../../support/run/scope.ts";
import { usedBy } from "../../../../zvt/vector-uses.ts";
import { hasVectors } from "../../../../zvt/vectors.ts";

const accepted = "10028000001003f51f";

function read(...chunks: string[]): string[] {
  const reader = new FrameReader();
  return chunks.flatMap((chunk) => reader.push(fromHex(chunk)).map(show));
}

function show(event: FrameEvent): string {
  if (event.event === "frame") return `frame ${toHex(event.apdu)}`;
  return event.event === "noise" ? `noise ${event.bytes}` : event.event;
}

test("the checksum of 123456789 is 2189", () => {
  expect(crc16(Buffer.from("123456789")).toString(16)).toBe("2189");
});

test.each([
  ["800000", accepted],
  ["06010a04000000011000490978", "100206010a0400000001101000490978" + "1003f2ff"],
])("the worked example %s is framed as in docs/zvt.md 2.3", (apdu, frame) => {
  expect(toHex(encodeFrame(fromHex(apdu)))).toBe(frame);
  expect(read(frame)).toEqual([`frame ${apdu}`]);
});

test("an ACK is a single byte before or after a frame, not inside one", () => {
  expect(read(`06${accepted}15`)).toEqual(["ack", "frame 800000", "nak"]);
  const inside = toHex(encodeFrame(fromHex("0601020615")));
  expect(read(inside)).toEqual(["frame 0601020615"]);
});

test("noise is counted, and the next frame is found", () => {
  expect(read(`ff00aa${accepted}`)).toEqual(["noise 3", "frame 800000"]);
  expect(read(`1010${accepted}`)).toEqual(["noise 2", "frame 800000"]);
  expect(read(`10ff${accepted}`)).toEqual(["noise 2", "frame 800000"]);
  expect(read(`1006${accepted}`)).toEqual(["ack", "frame 800000"].toSpliced(0, 0, "noise 1"));
});

test("a frame that begins inside another frame is read, and the first one is noise", () => {
  expect(read(`1002060112${accepted}`)).toEqual(["noise 5", "frame 800000"]);
});

test("a single 10 makes the frame bad, and a 15 in its rest is no NAK", () => {
  expect(read("1002060110aa1506" + "1003f51f")).toEqual(["bad-frame"]);
});

test("a wrong checksum makes a bad frame, and the next frame is read", () => {
  expect(read("10028000001003f51e", "10028000001003f51f")).toEqual(["bad-frame", "frame 800000"]);
});

test("silence inside a frame makes it bad, silence between frames has no effect", () => {
  const reader = new FrameReader();
  expect(reader.timeout()).toEqual([]);
  reader.push(fromHex("10028000"));
  expect(reader.inFrame).toBe(true);
  expect(reader.timeout().map(show)).toEqual(["bad-frame"]);
  expect(reader.inFrame).toBe(false);
  expect(reader.push(fromHex(accepted)).map(show)).toEqual(["frame 800000"]);
});

test("a frame without an end does not fill the memory", () => {
  const reader = new FrameReader();
  reader.push(fromHex("1002"));
  const chunk = new Uint8Array(60_000).fill(0x41);
  expect([reader.push(chunk), reader.push(chunk)].flat()).toEqual([]);
  expect(reader.push(fromHex("1003aaaa")).map(show)).toEqual(["bad-frame"]);
});

test("a frame cut at every byte is read with its last byte", () => {
  const frame = encodeFrame(fromHex("06010a04000000011000490978"));
  for (let cut = 0; cut < frame.length; cut++) {
    const reader = new FrameReader();
    expect(reader.push(frame.slice(0, cut))).toEqual([]);
    expect(reader.push(frame.slice(cut)).map(show)).toEqual(["frame 06010a04000000011000490978"]);
  }
});

test("any APDU survives framing, whatever noise without 10, 06 and 15 is around it", () => {
  const quiet = fc
    .uint8Array({ maxLength: 8 })
    .map((b) => b.filter((x) => ![6, 16, 21].includes(x)));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), quiet, fc.nat(320), (apdu, noise, cut) => {
      const line = Uint8Array.of(...noise, ...encodeFrame(apdu));
      const reader = new FrameReader();
      const events = [...reader.push(line.slice(0, cut)), ...reader.push(line.slice(cut))];
      expect(events.filter(({ event }) => event !== "noise")).toEqual([{ event: "frame", apdu }]);
    }),
    { numRuns: tries(2000), seed: 20_261 },
  );
});

test("any bytes give events and never throw", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(2, 3, 6, 16, 21, 128, 0), { maxLength: 60 }), (bytes) => {
      const reader = new FrameReader();
      reader.push(Uint8Array.from(bytes));
      reader.timeout();
      expect(reader.inFrame).toBe(false);
    }),
    { numRuns: tries(3000), seed: 20_261 },
  );
});

describe.skipIf(!hasVectors)("published frames", () => {
  test.each(usedBy("frame-of-driver").map((vector) => [vector.id, vector] as const))(
    "%s is read and written byte for byte",
    (_id, { hex, serial }) => {
      expect(read(hex)).toEqual([`frame ${serial?.apdu}`]);
      expect(toHex(encodeFrame(fromHex(serial?.apdu as string)))).toBe(hex);
    },
  );

  test.each(usedBy("serial-stream-at-driver").map((vector) => [vector.id, vector] as const))(
    "%s gives its events",
    (_id, { chunks = [], expect: expected }) => {
      expect(read(...chunks)).toEqual(
        (expected as { event: string; apdu?: string }[]).map(({ event, apdu }) =>
          apdu ? `${event} ${apdu}` : event,
        ),
      );
    },
  );
});
