/** Properties of the codec; `npm test` checks them with few inputs, `npm run fuzz:concert` many. */
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
import { caisseApMessages } from "../src/tp-manager/terminal/caisse-ap/caisse-ap-messages.ts";
import { concertMessages } from "../src/tp-manager/terminal/concert/concert-messages.ts";
import { encodeFrame } from "../src/tp-manager/terminal/concert/link/frame.ts";
import {
  advanceSession,
  idleSession,
  type SessionInput,
} from "../src/tp-manager/terminal/concert/link/session-machine.ts";
import type { Reading } from "../src/tp-manager/terminal/one-way/dialogue.ts";
import { decodeFrame } from "../test/concert/frames.ts";

/** Returns records with the prototype of a literal, so that deepStrictEqual compares them. */
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

/** Returns the code with which the codec refuses; undefined: it does not. Throws other errors. */
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

const NAK = 0x15;
const anyFrame = encodeFrame(Buffer.from("0100001250110978          A010B010"));
const sessionInput: fc.Arbitrary<SessionInput> = fc.oneof(
  fc
    .oneof(
      { weight: 6, arbitrary: fc.constantFrom(2, 3, 4, 5, 6, NAK, 0x82, 0x84, 0x95) },
      { weight: 1, arbitrary: fc.nat(255) },
    )
    .map((byte) => ({ input: "byte" as const, byte })),
  fc.constantFrom<SessionInput>(
    { input: "timer" },
    { input: "ask" },
    { input: "send", frame: anyFrame },
    { input: "leave" },
    { input: "judged", stored: true },
    { input: "judged", stored: false },
  ),
);

const fixed = concertMessages({ variant: "e-plus", register: "01", report: true });
const withTags = caisseApMessages({
  version: "0300",
  identifier: "012345678901",
  register: "01",
  reference: "CF",
  receipt: true,
});
const order = {
  amountMinor: 999,
  currencyNumeric: "978",
  currencyAlpha: "EUR",
  exponent: 2,
  reference: "K123456789",
};

/** Returns what a reply says of a payment. */
function verdictOf(reading: Reading): "charged" | "not charged" | "nothing" {
  if (reading.reading !== "result" || reading.end !== "known") return "nothing";
  return reading.report.good ? "charged" : "not charged";
}

/** States of a transaction, known ones and any other text. */
const state = fc.oneof(fc.constantFrom("10", "01", "11", "00", "1", "010"), fc.string());
const reason = fc.oneof(
  fc.nat(20).map((number) => String(number).padStart(2, "0")),
  fc.constant(""),
);

export const concertProperties = {
  "a frame is sent once for each request to send it, and again only after NAK": fc.property(
    fc.array(sessionInput, { maxLength: 100 }),
    (inputs) => {
      let session = idleSession;
      let allowed = 0;
      for (const input of inputs) {
        if (input.input === "send" || (input.input === "byte" && input.byte === NAK)) allowed += 1;
        const step = advanceSession(session, input);
        session = step.state;
        if (step.frame) ok(allowed-- > 0);
      }
    },
  ),
  "only 0 and 7 end a payment of fixed fields, and only as they say": fc.property(
    fc.oneof(
      reply.map((given) => encodeFixedReply(given)),
      fc.uint8Array({ minLength: 20, maxLength: 90 }),
    ),
    (body) => {
      const verdict = verdictOf(fixed.read(body, order));
      const status = String.fromCharCode(body[2] ?? 0);
      deepStrictEqual(verdict === "charged", verdict !== "nothing" && status === "0");
      if (verdict === "not charged") deepStrictEqual(status, "7");
    },
  ),
  "only AE 10 ends a payment of tags as charged, and only AE 01 as not": fc.property(
    plainTags,
    state,
    reason,
    fc.nat(200),
    (given, ae, af, cut) => {
      const rest = given.filter(([tag]) => tag !== "AE" && tag !== "AF");
      const own: Tagged[] = [
        ...(/^[ -~]+$/.test(ae) ? [["AE", ae] as const] : []),
        ...(af === "" ? [] : [["AF", af] as const]),
      ];
      if (rest.length + own.length === 0) return;
      const bytes = encodeTagged([...rest, ...own]);
      const verdict = verdictOf(withTags.read(bytes, order));
      if (verdict === "charged") deepStrictEqual(ae, "10");
      if (verdict === "not charged") deepStrictEqual(ae, "01");
      if (["00", "07"].includes(af)) notStrictEqual(verdict, "not charged");
      // A reply that was cut off never says "not charged".
      const part = bytes.subarray(0, Math.max(bytes.length - 1 - (cut % bytes.length), 0));
      if (readTagged(part).fault)
        notStrictEqual(verdictOf(withTags.read(part, order)), "not charged");
    },
  ),
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
      const position = at % frame.length;
      frame[position] = (frame[position] as number) ^ (1 << bit);
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
