import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { containsPan, maskPansInText, maskPansInUrl } from "../../../src/shared/masking/mask.ts";
import { tries } from "../../support/run/scope.ts";
import { testCards } from "./test-cards.ts";

const inGroups = (pan: string, separator: string, size = 4): string =>
  (pan.match(new RegExp(`.{1,${size}}`, "g")) as string[]).join(separator);

const digitsFrom = (zero: number) => (pan: string) =>
  [...pan].map((digit) => String.fromCodePoint(zero + Number(digit))).join("");

const circled = (pan: string): string =>
  pan.replace(/\d/g, (digit) =>
    digit === "0" ? "\u24ea" : String.fromCodePoint(0x245f + Number(digit)),
  );

const escaped = (make: (code: number) => string) => (pan: string) =>
  [...pan].map((digit) => make(digit.charCodeAt(0))).join("");
const hex = (code: number, length: number): string => code.toString(16).padStart(length, "0");

/** Ways to write a number in which a person or a program still reads it. */
const writings: Readonly<Record<string, (pan: string) => string>> = {
  "full-width digits": digitsFrom(0xff10),
  "Arabic-Indic digits": digitsFrom(0x660),
  "extended Arabic-Indic digits": digitsFrom(0x6f0),
  "Devanagari digits": digitsFrom(0x966),
  "Tibetan digits": digitsFrom(0xf20),
  "Khmer digits": digitsFrom(0x17e0),
  "bold mathematical digits": digitsFrom(0x1d7ce),
  "monospaced mathematical digits": digitsFrom(0x1d7f6),
  "segmented digits": digitsFrom(0x1fbf0),
  "subscript digits": digitsFrom(0x2080),
  "circled digits": circled,
  keycaps: (pan) => [...pan].map((digit) => `${digit}\ufe0f\u20e3`).join(""),
  "escapes of JSON": escaped((code) => `\\u${hex(code, 4)}`),
  "escapes of JSON, escaped again": escaped((code) => `\\\\u${hex(code, 4)}`),
  "escapes of JavaScript": escaped((code) => `\\u{${hex(code, 2)}}`),
  "hexadecimal escapes": escaped((code) => `\\x${hex(code, 2)}`),
  "percent signs": escaped((code) => `%${hex(code, 2)}`),
  "percent signs of full-width digits": (pan) => encodeURIComponent(digitsFrom(0xff10)(pan)),
  "references of HTML": escaped((code) => `&#${code};`),
  "hexadecimal references of HTML": escaped((code) => `&#x${hex(code, 2)};`),
  "invisible characters between": (pan) => [...pan].join("\u200b\u200d\u2060\u200e"),
  "soft hyphens between": (pan) => inGroups(pan, "\u00ad\u00ad\u00ad"),
};

/** Between the groups of a card. */
const gaps = ["\u200b\u200b\u200b", "\\u00a0", "%20", "&nbsp;", "&#160;"];

/** As between the entries of a list, or the columns and lines of a table. */
const listGaps = ["\t", ",", ", ", ";", "|", " | ", "\n", "\r\n", "\r\n  ", "\u2028"].concat(
  ["   ", " ".repeat(30), "\u00a0\u00a0\u00a0\u00a0", "-- ", " - - ", " \u200f- \u200f"],
  ["\\n", "\\t", "%0A"],
);

/** What a reader can still take for digits of the number: those after the first six. */
function isHidden(masked: string, written: string): boolean {
  return masked.length === written.length && masked !== written && !containsPan(masked);
}

describe.each(Object.entries(writings))("a card number in %s", (_name, write) => {
  test.each(testCards)("%s is masked and refused", (pan) => {
    const written = write(pan);
    for (const text of [written, `card ${written}, approved`, `{"note":"${written}"}`]) {
      expect(isHidden(maskPansInText(text), text), text).toBe(true);
      expect(maskPansInText(maskPansInText(text))).toBe(maskPansInText(text));
      expect(containsPan(text), text).toBe(true);
    }
  });
});

test("a card number in its groups is masked whatever stands between them", () => {
  for (const pan of testCards) {
    for (const gap of [...gaps, ...listGaps]) {
      const written = inGroups(pan, gap);
      const masked = maskPansInText(`PAN ${written} 12/29`);
      expect(isHidden(masked, `PAN ${written} 12/29`), JSON.stringify(written)).toBe(true);
      expect(containsPan(written), JSON.stringify(written)).toBe(gaps.includes(gap));
    }
    for (const gap of ["\t", ", ", "\r\n"]) {
      const written = `card ${[...pan].join(gap)}, approved`;
      expect(maskPansInText(written)).not.toBe(written);
    }
  }
});

test("a list of numbers is never refused, and a longer one stays as it is", () => {
  const joint = fc.constantFrom(", ", ",", "; ", "\t", "\n", "   ", " | ");
  const entries = fc.oneof(
    fc.array(fc.integer({ min: 1_000, max: 9_999 }), { minLength: 4, maxLength: 12 }),
    fc.nat(5_990).map((from) => Array.from({ length: 5 }, (_, i) => 4_000 + from + i)),
    fc.array(fc.nat(9), { minLength: 12, maxLength: 40 }),
  );
  fc.assert(
    fc.property(entries, joint, (numbers, between) => {
      const text = numbers.join(between);
      expect(containsPan(text)).toBe(false);
      const isCardsLength = numbers.every((one) => one > 9) ? 4 : 19;
      if (numbers.length > isCardsLength) expect(maskPansInText(text)).toBe(text);
    }),
    { numRuns: tries(5_000), seed: 7 },
  );
});

test("the separators may differ from group to group and the digits from each other", () => {
  const plain = fc.constantFrom("", " ", "-", ".", "\u00a0", "/", ":", "_", ...gaps, ...listGaps);
  const writing = fc.constantFrom(
    (digit: string) => digit,
    ...[0xff10, 0x660, 0x1d7ce].map(digitsFrom),
    escaped((code) => `\\u${hex(code, 4)}`),
    escaped((code) => `%${hex(code, 2)}`),
  );
  const card = fc.constantFrom(...testCards.filter((pan) => pan.length === 16));
  const around = fc.constantFrom("", "a", " ", "(", '"', "x=", "\n", "Visa ");
  fc.assert(
    fc.property(
      card,
      fc.array(plain, { minLength: 3, maxLength: 3 }),
      fc.array(writing, { minLength: 16, maxLength: 16 }),
      around,
      around,
      (pan, separators, writers, before, after) => {
        const written = [...pan].map((digit, i) => {
          const after = i % 4 === 3 ? (separators[(i - 3) / 4] ?? "") : "";
          return `${(writers[i] as (digit: string) => string)(digit)}${after}`;
        });
        const text = before + written.join("") + after;
        fc.pre(!separators.includes("") || separators.every((gap) => gap.length <= 2));
        fc.pre(!separators.includes("") || separators.every((gap) => /^[- .\u00a0]*$/.test(gap)));
        const masked = maskPansInText(text);
        expect(isHidden(masked, text), JSON.stringify(text)).toBe(true);
      },
    ),
    { numRuns: tries(3_000), seed: 7 },
  );
});

test("every decimal digit of Unicode is read as one", () => {
  const [pan] = testCards as [string];
  for (let point = 0x80; point <= 0x1ffff; point++) {
    if (!/\p{Nd}/u.test(String.fromCodePoint(point))) continue;
    if (!isZero(point)) continue;
    expect(containsPan(digitsFrom(point)(pan)), point.toString(16)).toBe(true);
  }
});

/** Blocks of ten, of which several may follow each other. */
function isZero(point: number): boolean {
  let first = point;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
  return (point - first) % 10 === 0;
}

test.each([
  [";5413330089604111=29112010000012345678?", ";541333XXXXXX4111=XXXXXXXXXXXXXXXXXXXX?"],
  ["5413330089604111D29112010000012345678F", "541333XXXXXX4111DXXXXXXXXXXXXXXXXXXXXF"],
  ["%B4111111111111111^DOE/JOHN^29112010000000?", "%B411111XXXXXX1111^DOE/JOHN^XXXXXXXXXXXXXX?"],
  ["order 4111111111111111=12", "order 411111XXXXXX1111=12"],
])("of track data %s nothing is left but the masked number", (text, masked) => {
  expect(maskPansInText(text)).toBe(masked);
});

test("an address is masked as it stands", () => {
  expect(maskPansInUrl("/orders?q=4111+1111%201111-1111")).toBe("/orders?q=4111+11XX%20XXXX-1111");
  expect(maskPansInUrl("/a%2")).toBe("/a%2");
  expect(maskPansInText("100%4111111111111111")).toBe("100%411111XXXXXX1111");
});

const harmless = [
  "4003, 4004, 4005, 4006, 4007",
  "4000,1234,5678,9010,12345678",
  "1250\t4000\t399\t12.50",
  "12.50, 30.00, 11.99, 4.00, 5.99",
  "Betrag 12,50\n21.11.2026 06:39:17\n60001234",
  "60001234\n20261121\n000123",
  "4 x 12,50      50,00     19%      9,50",
  "1;20261121;063917;60001234;12,50",
  "C:\\connector\\new\\2026\\11\\21\\6011000\\log",
  "%E2%82%AC 12%2C50 2026-11-21T06%3A39%3A17",
  "٢٠٢٦-١١-٢١ ٠٦:٣٩:١٧",
  "２０２６１１２１ー０００１２３",
  "+４９ １５１ ２３４５６７８０",
  "[1,2,3,4,5,6,7,8,9,10,11,12,13]",
  '{"at":1763706000123,"n":[4000,12,399,1250]}',
  "&#8364; 12.50 &amp; 4 m\u00b2",
];

test.each(harmless)("%s is no card number and stays", (text) => {
  expect(maskPansInText(text)).toBe(text);
  expect(containsPan(text)).toBe(false);
});

test("amounts, dates and counters in columns and lines stay, whatever joins them", () => {
  const amount = fc.integer({ min: 1, max: 999_999 }).map((minor) => (minor / 100).toFixed(2));
  const comma = amount.map((text) => text.replace(".", ","));
  const date = fc
    .date({ min: new Date("2020-01-01"), max: new Date("2039-12-31"), noInvalidDate: true })
    .map((moment) => moment.toISOString().slice(0, 10).split("-").reverse().join("."));
  const number = fc.oneof(amount, comma, date, fc.nat({ max: 999 }).map(String));
  const columns = fc.array(number, { minLength: 2, maxLength: 8 });
  const joint = fc.constantFrom("\t", "\n", "\r\n", "     ", " | ", "; ");
  fc.assert(
    fc.property(columns, joint, (values, between) => {
      const text = values.join(between);
      expect(maskPansInText(text)).toBe(text);
    }),
    { numRuns: tries(3_000), seed: 7 },
  );
});
