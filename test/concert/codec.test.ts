import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { concertProperties } from "../../scripts/concert-properties.ts";
import {
  ConcertCodecError,
  decodeFixedReply,
  decodeTagged,
  encodeFixedReply,
  encodeFixedRequest,
  encodeTagged,
  FIXED_AMOUNT_MAX,
  type FixedReply,
  type FixedRequest,
  PRIVATE_CHARACTERS,
  panOfReport,
  REPORT_CHARACTERS,
  safeText,
  type Tagged,
} from "../../src/concert/index.ts";
import { tries } from "../support/run/scope.ts";

const RUNS = tries(2_000);

describe("whatever the values are", () => {
  test.each(Object.entries(concertProperties))("%s", (_name, property) => {
    fc.assert<unknown[]>(property as fc.IProperty<unknown[]>, { numRuns: RUNS, seed: 1 });
  });
});

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof ConcertCodecError) return error.code;
    throw error;
  }
  return undefined;
}

const request: FixedRequest = {
  posNumber: "01",
  amountMinor: 1250,
  answerFlag: "1",
  paymentMode: "1",
  transactionType: "0",
  currency: "978",
  private: "0123456789",
  options: { variant: "e" },
};

describe("fixed frames", () => {
  test("a reply with a ticket is distinguished from a reply with a report", () => {
    const base: FixedReply = {
      posNumber: "01",
      status: "0",
      amountMinor: 1250,
      paymentMode: "1",
      report: null,
      currency: "978",
      private: "".padEnd(PRIVATE_CHARACTERS),
      ticket: `CARTE BANCAIRE\nLE 22/11/26 A 10H30\n${"-".repeat(30)}\nMERCI\n`,
    };
    const asked = { ticket: true, report: false, currency: "978" };
    expect(decodeFixedReply(encodeFixedReply(base), asked)).toEqual(base);
    const reported = { ...base, report: "497010XXXXXX1234".padEnd(REPORT_CHARACTERS) };
    for (const report of [true, false]) {
      const read = decodeFixedReply(encodeFixedReply(reported), {
        ticket: true,
        report,
        currency: "978",
      });
      expect(read).toEqual(reported);
    }
  });

  test.each<[string, Partial<FixedRequest>]>([
    ["an amount with nine digits", { amountMinor: FIXED_AMOUNT_MAX + 1 }],
    ["a part of a cent", { amountMinor: 0.5 }],
    ["a negative amount", { amountMinor: -1 }],
    ["a private field that is too long", { private: "12345678901" }],
    ["a control byte", { private: "\u0003" }],
    ["a currency by its letters", { currency: "EUR" }],
    ["an option of another letter", { options: { variant: "e-ticket", ticket: "X012" } }],
  ])("a request with %s is not encoded", (_what, changed) => {
    expect(codeOf(() => encodeFixedRequest({ ...request, ...changed }))).toBe("value");
  });
});

describe("tagged messages", () => {
  test("line ends after a message are ignored, and those inside a value are kept", () => {
    const bytes = Buffer.from("CZ0040300AE00210AK004a\r\nb\r\n");
    expect(decodeTagged(bytes).at(-1)).toEqual(["AK", "a\r\nb"]);
  });

  test.each<[string, Tagged]>([
    ["an empty value", ["CF", ""]],
    ["a value of a thousand characters", ["CF", "x".repeat(1_000)]],
    ["a tag in small letters", ["cf", "x"]],
    ["a character outside of Latin-1", ["CF", "€"]],
  ])("a message with %s is not encoded", (_what, tagged) => {
    expect(codeOf(() => encodeTagged([tagged]))).toBe("value");
  });
});

describe("a card number in clear", () => {
  const pan = "4111111111111111";
  test.each([" ", "-", "/", "\u0000", "\u00a0", " - ".slice(0, 2)])(
    "in groups with %j between is not shown",
    (separator) => {
      const grouped = (pan.match(/.{4}/g) ?? []).join(separator);
      const logged = safeText(`AA0${grouped}ZT`, 200);
      expect(logged.replace(/\D/g, "")).not.toContain(pan.slice(4));
      expect(logged.endsWith("ZT")).toBe(true);
    },
  );
});

test("a report of zeros holds no card number", () => {
  expect([panOfReport("0".repeat(55)), panOfReport("0".repeat(16).padEnd(55))]).toEqual([
    null,
    null,
  ]);
  expect(panOfReport("4111111111111111".padEnd(55))).toBe("411111XXXXXX1111");
});
