import fc from "fast-check";
import { expect, test } from "vitest";
import { formatMajor } from "../../../../src/shared/money.ts";
import {
  currencyDecimals,
  formatFloat,
  parseAmount,
} from "../../../../src/simulator/gateway/orders/order.ts";

test("amounts are read exactly, in every form a float is printed", () => {
  const read: ReadonlyArray<readonly [text: string, decimals: number, minor: number | undefined]> =
    [
      ["14.39", 2, 1439],
      ["100", 2, 10_000],
      ["4.00", 2, 400],
      ["+4.", 2, 400],
      [".5", 2, 50],
      ["1.0E7", 2, 1_000_000_000],
      ["12.5e-1", 2, 125],
      ["0.001", 2, undefined],
      ["9.999", 2, undefined],
      ["9.990", 2, 999],
      ["100", 0, 100],
      ["100.5", 0, undefined],
      ["1.234", 3, 1234],
      ["0", 2, 0],
      ["-1", 2, undefined],
      ["", 2, undefined],
      [".", 2, undefined],
      ["1e999", 2, undefined],
      ["1e-999", 2, undefined],
      ["9999999999999999", 0, undefined],
    ];
  for (const [text, decimals, minor] of read) {
    expect([text, parseAmount(text, decimals)]).toEqual([text, minor]);
  }
});

test("what is formatted is read again", () => {
  fc.assert(
    fc.property(fc.nat(1_000_000_000), fc.constantFrom(0, 2, 3), (minor, decimals) => {
      expect(parseAmount(formatMajor(minor, decimals), decimals)).toBe(minor);
      expect(parseAmount(formatFloat(minor, decimals), decimals)).toBe(minor);
    }),
    { seed: 7 },
  );
});

test("amounts are printed with the currency's decimals, floats without zeros at the end", () => {
  expect(formatMajor(5, 2)).toBe("0.05");
  expect(formatMajor(400, 0)).toBe("400");
  expect(formatFloat(400, 2)).toBe("4");
  expect(formatFloat(999, 2)).toBe("9.99");
  expect(formatFloat(950, 2)).toBe("9.5");
  expect(formatFloat(400, 0)).toBe("400");
});

test("decimals come from ISO 4217", () => {
  expect(["EUR", "JPY", "KWD", "EUX"].map(currencyDecimals)).toEqual([2, 0, 3, undefined]);
});
