import { codes } from "currency-codes";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  AmountError,
  type Currency,
  currencyOf,
  formatMajor,
  parseAmount,
} from "../../src/shared/money.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../src/shared/receipt.ts";
import { tries } from "../support/run/scope.ts";

function currency(alpha: string): Currency {
  const found = currencyOf(alpha);
  if (!found) throw new Error(`${alpha} is not known`);
  return found;
}

const parse = (source: string, alpha = "EUR"): number =>
  parseAmount(source, currency(alpha), RECEIPT_AMOUNT_DIGITS);

const payable = codes().flatMap((alpha) => currencyOf(alpha) ?? []);

describe("an amount is read exactly", () => {
  test.each([
    ["8.99", "EUR", 899],
    ["9.99", "EUR", 999],
    ["0.01", "EUR", 1],
    ["0.10", "EUR", 10],
    ["1.1", "EUR", 110],
    ["100", "EUR", 10_000],
    ["9.990", "EUR", 999],
    ["9.9900000000", "EUR", 999],
    ["0009.99", "EUR", 999],
    ["1e2", "EUR", 10_000],
    ["1E2", "EUR", 10_000],
    ["1e+2", "EUR", 10_000],
    ["1E-2", "EUR", 1],
    ["899e-2", "EUR", 899],
    ["0.899e1", "EUR", 899],
    ["89900e-4", "EUR", 899],
    ["1.005e2", "EUR", 10_050],
    ["999999.99", "EUR", 99_999_999],
    ["0.29", "EUR", 29],
    ["1.15", "EUR", 115],
    ["4.35", "EUR", 435],
    ["100", "JPY", 100],
    ["100.0", "JPY", 100],
    ["10e1", "JPY", 100],
    ["99999999", "JPY", 99_999_999],
    ["0.001", "KWD", 1],
    ["1.5", "KWD", 1_500],
    ["99999.999", "KWD", 99_999_999],
  ])("%s %s is %d minor units", (source, alpha, minor) => {
    expect(parse(source, alpha)).toBe(minor);
  });
});

describe("an amount with more decimals than its currency is refused, never rounded", () => {
  test.each([
    ["9.999", "EUR"],
    ["0.001", "EUR"],
    ["1e-3", "EUR"],
    ["0.0100000001", "EUR"],
    ["1e-999", "EUR"],
    ["1.5", "JPY"],
    ["1e-1", "JPY"],
    ["0.0001", "KWD"],
  ])("%s %s", (source, alpha) => {
    expect(() => parse(source, alpha)).toThrow(AmountError);
    expect(() => parse(source, alpha)).toThrow(
      `has more decimals than ${alpha} allows, which is ${currency(alpha).exponent}`,
    );
  });
});

describe("an amount that is not above zero is refused", () => {
  test.each(["0", "0.00", "-0", "-0.0", "-1", "-8.99", "0e5", "-1e2", "0.000"])("%s", (source) => {
    expect(() => parse(source)).toThrow(new AmountError("must be greater than 0"));
  });
});

describe("what is not a plain number is refused with an example", () => {
  test.each([
    "",
    " ",
    "1 ",
    " 1",
    "1,50",
    "1_000",
    ".5",
    "5.",
    "+1",
    "--1",
    "0x10",
    "1e",
    "1e1000",
    "e5",
    "1.2.3",
    "NaN",
    "Infinity",
    "true",
    "null",
    '"1"',
    "\u0661\u0662",
    "1\n",
    "1".repeat(41),
    `0.${"0".repeat(39)}`,
    `1.${"0".repeat(100_000)}`,
  ])("%j", (source) => {
    expect(() => parse(source)).toThrow(
      new AmountError("must be a plain number in major units, for example 9.99"),
    );
  });
});

describe("an amount wider than the receipt's field is refused", () => {
  test.each([
    ["1000000", "EUR", "is above 999999.99"],
    ["1000000.00", "EUR", "is above 999999.99"],
    ["1e6", "EUR", "is above 999999.99"],
    ["1e999", "EUR", "is above 999999.99"],
    ["9".repeat(40), "EUR", "is above 999999.99"],
    ["100000000", "JPY", "is above 99999999"],
    ["100000", "KWD", "is above 99999.999"],
  ])("%s %s %s", (source, alpha, message) => {
    expect(() => parse(source, alpha)).toThrow(new AmountError(message));
  });
});

test("forty characters are still read, leading and trailing zeros do not count as digits", () => {
  expect(parse(`8.99${"0".repeat(36)}`)).toBe(899);
  expect(parse(`${"0".repeat(36)}8.99`)).toBe(899);
});

test("every amount of every currency survives being formatted and read", () => {
  expect(payable.length).toBeGreaterThan(140);
  fc.assert(
    fc.property(
      fc.constantFrom(...payable),
      fc.integer({ min: 1, max: 10 ** RECEIPT_AMOUNT_DIGITS - 1 }),
      (of, minor) => {
        expect(parseAmount(formatMajor(minor, of.exponent), of, RECEIPT_AMOUNT_DIGITS)).toBe(minor);
      },
    ),
    { numRuns: tries(5_000), seed: 7 },
  );
});

test("every amount survives the shortest text that JSON gives to a number", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 99_999_999 }), (minor) => {
      // The kiosk's program writes the nearest double; its shortest text is the decimal it meant.
      expect(parse(JSON.stringify(minor / 100))).toBe(minor);
    }),
    { numRuns: tries(5_000), seed: 7 },
  );
});

test("parsing throws nothing but its own error, and gives nothing but positive integers", () => {
  const numberLike = fc.string({ unit: fc.constantFrom(..."0123456789.eE+-"), maxLength: 45 });
  fc.assert(
    fc.property(fc.oneof(fc.string(), numberLike), fc.constantFrom(...payable), (source, of) => {
      try {
        const minor = parseAmount(source, of, RECEIPT_AMOUNT_DIGITS);
        expect(Number.isInteger(minor) && minor > 0 && minor <= 99_999_999).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(AmountError);
      }
    }),
    { numRuns: tries(5_000), seed: 7 },
  );
});

describe("formatting", () => {
  test.each([
    [899, 2, "8.99"],
    [5, 2, "0.05"],
    [0, 2, "0.00"],
    [100, 0, "100"],
    [1, 3, "0.001"],
    [12_345, 3, "12.345"],
    [-899, 2, "-8.99"],
    [-5, 2, "-0.05"],
  ])("%d with %d decimals is %s", (minor, exponent, text) => {
    expect(formatMajor(minor, exponent)).toBe(text);
  });
});

describe("currencies", () => {
  test.each([
    ["EUR", "978", 2],
    ["CHF", "756", 2],
    ["GBP", "826", 2],
    ["JPY", "392", 0],
    ["KWD", "414", 3],
    ["XOF", "952", 0],
    ["XPF", "953", 0],
    ["ALL", "008", 2],
  ])("%s is %s with %d decimals", (alpha, numeric, exponent) => {
    expect(currencyOf(alpha)).toEqual({ alpha, numeric, exponent });
  });

  test.each(["X".repeat(3), "XAU", "XAG", "XPT", "XPD", "XTS", "XBA", "XDR", "XSU", "XUA"])(
    "%s cannot be paid in: a metal, a unit of account or a test code",
    (alpha) => expect(currencyOf(alpha)).toBeUndefined(),
  );

  test.each(["USN", "BOV", "CHE", "CHW", "CLF", "COU", "MXV", "UYI", "UYW"])(
    "%s cannot be paid in: a fund code of ISO 4217",
    (alpha) => expect(currencyOf(alpha)).toBeUndefined(),
  );

  test.each(["eur", "Eur", "EURO", "EU", "", " EUR", "EUR ", "978", "ZZZ", "constructor", "DEM"])(
    "%j is not a currency",
    (alpha) => expect(currencyOf(alpha)).toBeUndefined(),
  );

  test("every one has three letters, three digits and at most three decimals", () => {
    for (const { alpha, numeric, exponent } of payable) {
      expect(alpha).toMatch(/^[A-Z]{3}$/);
      expect(numeric).toMatch(/^\d{3}$/);
      expect([0, 2, 3]).toContain(exponent);
    }
  });
});
