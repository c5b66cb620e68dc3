/** Laws of the codec: `npm test` tries them in small, `npm run fuzz:concert` in large. */
import { deepStrictEqual, notStrictEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import {
  ConcertCodecError,
  decodeFixedReply,
  decodeFixedRequest,
  decodeTagged,
  encodeFixedReply,
  encodeFixedRequest,
  encodeTagged,
  FIXED_AMOUNT_MAX,
  type FixedReply,
  type FixedRequest,
  PRIVATE_CHARACTERS,
  REPORT_CHARACTERS,
  readTagged,
  type Tagged,
} from "../src/concert/index.ts";
import { decodeFrame, encodeFrame } from "../src/concert/link/frame.ts";

/** A record that compares like a literal. */
function record<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record<T>(model, { noNullPrototype: true });
}

const printable = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i));
const text = (length: number) =>
  fc.string({ unit: fc.constantFrom(...printable), minLength: length, maxLength: length });
const visible = fc.constantFrom(...printable.slice(1));
const currency = fc.integer({ min: 0, max: 999 }).map((number) => String(number).padStart(3, "0"));
const amountMinor = fc.integer({ min: 0, max: FIXED_AMOUNT_MAX });
const posNumber = fc.tuple(visible, visible).map((both) => both.join(""));

const request: fc.Arbitrary<FixedRequest> = record({
  posNumber,
  amountMinor,
  answerFlag: visible,
  paymentMode: visible,
  transactionType: visible,
  currency,
  private: text(PRIVATE_CHARACTERS),
  options: fc.oneof(
    fc.constant({ variant: "e" as const }),
    record({
      variant: fc.constant("e-plus" as const),
      delay: visible.map((value) => `A01${value}`),
      authorization: visible.map((value) => `B01${value}`),
    }),
    record({
      variant: fc.constant("e-ticket" as const),
      ticket: visible.map((value) => `T01${value}`),
    }),
  ),
});

const reply: fc.Arbitrary<FixedReply> = record({
  posNumber,
  status: fc.integer({ min: 0, max: 9 }).map(String),
  amountMinor,
  paymentMode: visible,
  report: fc.option(text(REPORT_CHARACTERS)),
  currency,
  private: text(PRIVATE_CHARACTERS),
  ticket: fc.constant(null),
});

const latin = fc.constantFrom(...Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)));
const letter = fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZ");
const tags: fc.Arbitrary<readonly Tagged[]> = fc
  .uniqueArray(
    fc.tuple(
      fc.tuple(letter, letter).map((both) => both.join("")),
      fc.string({ unit: latin, minLength: 1, maxLength: 120 }),
    ),
    { selector: ([tag]) => tag, minLength: 1, maxLength: 8 },
  )
  .map((list) => list.toSorted(([a], [b]) => Number(b === "CZ") - Number(a === "CZ")));

/** The reason of a refusal; undefined without one. Any other error is a fault of the codec. */
function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof ConcertCodecError) return error.code;
    throw error;
  }
  return undefined;
}

const plainTags = tags.filter((list) => !list.some(([, value]) => /^[\r\n]/.test(value)));

export const concertProperties = {
  "every request is read as it was written": fc.property(request, (given) => {
    const body = decodeFrame(encodeFrame(encodeFixedRequest(given)));
    deepStrictEqual(decodeFixedRequest(body), given);
  }),
  "every reply is read as it was written": fc.property(reply, (given) => {
    const body = decodeFrame(encodeFrame(encodeFixedReply(given)));
    deepStrictEqual(decodeFixedReply(body), given);
  }),
  "every single bit that is wrong is noticed": fc.property(
    reply,
    fc.nat(100),
    fc.nat(7),
    (given, at, bit) => {
      const frame = encodeFrame(encodeFixedReply(given));
      const place = at % frame.length;
      frame[place] = (frame[place] as number) ^ (1 << bit);
      notStrictEqual(
        codeOf(() => decodeFrame(frame)),
        undefined,
      );
    },
  ),
  "any bytes are read or refused with a reason": fc.property(
    fc.uint8Array({ maxLength: 120 }),
    (bytes) => {
      codeOf(() => decodeFrame(bytes));
      codeOf(() => decodeFixedRequest(bytes));
      codeOf(() => decodeFixedReply(bytes, { ticket: true, report: false, currency: "978" }));
      ok(readTagged(bytes).tags.length <= bytes.length / 6);
    },
  ),
  "every tagged message is read as it was written, at every split": fc.property(
    plainTags,
    fc.nat(2_000),
    (given, at) => {
      const bytes = encodeTagged(given);
      deepStrictEqual(decodeTagged(bytes), given);
      const { fault, tags: before } = readTagged(bytes.subarray(0, at % bytes.length));
      if (fault) deepStrictEqual(fault.code, "incomplete");
      deepStrictEqual(given.slice(0, before.length), before);
    },
  ),
};
