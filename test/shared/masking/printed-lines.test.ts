import { describe, expect, test } from "vitest";
import { ticketOfLines } from "../../../src/shared/masking/printed-lines.ts";

describe("a card number that a line end breaks among other digits", () => {
  test.each([
    [["4761739001", "0101190326"], "476173XXXX|XX01190326"],
    [["PAN 4761739001", "0101190326 EUR"], "PAN 476173XXXX|XX01190326 EUR"],
    [["476173900101", "01190326"], "476173XXXXXX|01190326"],
    [["00004761739001", "010119"], "0000476173XXXX|XX0119"],
    [["0000476173", "9001", "0101190326"], "0000476173|XXXX|XX01190326"],
    [["47617390010", "BANQUE", "101190326"], "476173XXXXX|BANQUE|X01190326"],
    [["47617390010", "BANQUE", "10119"], "476173XXXXX|BANQUE|X0119"],
    [["4761739001", "", "  0101190326"], "476173XXXX||  XX01190326"],
    [["4761739001=", "0101190326"], "476173XXXX=|XX01190326"],
    [["4761739001=", "010119=12282010001"], "476173XXXX=|XX0119=XXXXXXXXXXX"],
    [["4761739001", "=0101190326"], "476173XXXX|=XX01190326"],
  ])("%j is masked", (lines, ticket) => {
    expect(ticketOfLines(lines)).toBe(ticket);
  });

  test.each(["\v", "\f", "\r", "\u0085", "\u2028", "\u2029"])("%j ends a line too", (end) => {
    expect(ticketOfLines([`4761739001${end}0101190326`])).toBe("476173XXXX XX01190326");
  });
});

test.each([
  [["SIRET 44306184100048", "22/11/2026 13:00:05"]],
  [["SIRET 44306184100048", "12 RUE DE PARIS"]],
  [["4761739001", "A0101190326"]],
  [["4761739001 X", "0101190326"]],
  [["4761739001", "BANQUE", "VISA", "0101190326"]],
  [["TOTAL 4761.739001", "0101190326"]],
  [["476173900101011", "90.26"]],
])("numbers that no line end joins stay: %j", (lines) => {
  expect(ticketOfLines(lines)).toBe(lines.join("|"));
});

test("many lines of digits take no long time", () => {
  const lines = Array.from({ length: 5_000 }, (_, i) => String(4_761_739_001 + i));
  expect(ticketOfLines(lines)).toHaveLength(5_000 * 11 - 1);
});
