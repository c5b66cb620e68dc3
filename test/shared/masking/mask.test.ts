import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { containsPan, maskPan, maskPansInText } from "../../../src/shared/masking/mask.ts";
import { ownTimeOf } from "../../support/clocks/own-time.ts";
import { asSlow } from "../../support/clocks/patience.ts";
import { isWhole, tries } from "../../support/run/scope.ts";
import { testCards } from "./test-cards.ts";

const grouped = (pan: string, separator: string, size = 4): string =>
  (pan.match(new RegExp(`.{1,${size}}`, "g")) as string[]).join(separator);

/** A card number with exactly its first six and last four digits left. */
const truncated = (pan: string): string =>
  pan.slice(0, 6) + "X".repeat(pan.length - 10) + pan.slice(-4);

/** Whether a string of digits has a correct Luhn check digit (ISO/IEC 7812-1 annex B). */
function hasLuhnCheckDigit(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    sum += i % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0;
}

test("the list of test cards is sound: every number has a correct check digit", () => {
  expect(testCards.filter((pan) => !hasLuhnCheckDigit(pan))).toEqual([]);
});

describe.each(testCards)("test card %s", (pan) => {
  test("is masked to first six and last four when it stands alone", () => {
    expect(maskPansInText(pan)).toBe(truncated(pan));
    expect(maskPansInText(`card ${pan}, approved`)).toBe(`card ${truncated(pan)}, approved`);
  });

  test("is masked in groups, whatever separates them", () => {
    const rare = ["\u2007", "\u2009", "\u200a", "\u3000", "\u2010", "\u2012", "\u2013", "\u2212"];
    for (const separator of [" ", "-", ".", "\u00a0", "\u00ad", "\u200b", "  ", "- ", ...rare]) {
      const masked = maskPansInText(`card ${grouped(pan, separator)} approved`);
      expect(masked.replace(/[^\dX]/g, "")).toBe(truncated(pan));
      expect(masked.split(separator).length).toBe(
        `card ${grouped(pan, separator)} approved`.split(separator).length,
      );
    }
  });

  test("is masked in the groups of a card also between strokes, underscores and colons", () => {
    const forms = [...(pan.length === 15 ? [/^(....)(.{6})(.{5})$/] : []), /(.{4})(?=.)/g];
    for (const separator of ["/", "_", ":", " / "]) {
      for (const form of forms) {
        const groups = pan.split(form).filter((group) => group !== "");
        const written = groups.join(separator);
        for (const text of [written, `PAN:${written}:1226`, `99${written}/12`, `a_${written}_b`]) {
          const masked = maskPansInText(text);
          expect(masked.length, text).toBe(text.length);
          // Longer stretches around it may count as well, and hide more of it.
          const hidden = new RegExp(truncated(pan).replaceAll(/\d/g, "[\\dX]"));
          expect(masked.replace(/[^\dX]/g, ""), text).toMatch(hidden);
          expect(maskPansInText(masked)).toBe(masked);
        }
        expect(containsPan(written)).toBe(true);
      }
    }
  });

  test("is masked in the pairs of a hex dump", () => {
    const even = pan.length % 2 === 0 ? pan : `${pan}F`;
    const masked = maskPansInText(`06 22 F0 F8 ${grouped(even, " ", 2)} 49 09 78`);
    expect(masked.replace(/ /g, "")).toContain(pan.slice(0, 6));
    expect(masked.replace(/\D/g, "")).not.toContain(pan);
  });

  test("is masked inside JSON, as text and as a number", () => {
    const text = JSON.stringify({ orderId: "A-1", note: `nr ${pan}`, list: [pan] });
    expect(maskPansInText(text)).toBe(text.replaceAll(pan, truncated(pan)));
    expect(maskPansInText(`{"n":${pan}}`)).toBe(`{"n":${truncated(pan)}}`);
  });

  test("is masked inside longer runs of digits and between letters", () => {
    for (const text of [`99${pan}77`, `0${pan}`, `${pan}49121200000`, `22F8${pan}F`, `a${pan}b`]) {
      expect(maskPansInText(text), text).not.toContain(pan);
    }
  });

  test("is found by the refusal, alone, grouped, and next to other numbers", () => {
    for (const text of [pan, grouped(pan, " "), grouped(pan, "-"), `1 ${pan}`, `order 7-${pan}.`]) {
      expect(containsPan(text), text).toBe(true);
    }
  });
});

const harmless = [
  "20261121-000123",
  "20261121-0001234",
  "20261121063917123",
  "2026-11-21",
  "21.11.2026 06:39:17",
  "2026-11-21T06:39:17.734Z",
  "2026/11/21 06:39:17.734",
  "21/11/2026 06:39:17",
  "4026:11:21:06:39:17:7340",
  "60:11:00:00:00:04:60:11",
  "2026/1121/0639/1773",
  "2026_1121_0639_1773",
  "41_11_11_11_11_11_11_11",
  "20261121_0639_4111_1111",
  "/var/log/2026/11/21/4111111/11111111",
  "4006381333931", // EAN-13 of Germany
  "4006381333979", // EAN-13 that also has a correct Luhn check digit
  "5012345678900",
  "96385074",
  "+33 6 12 34 56 78",
  "+49 151 23456789",
  "+49 151 23456780",
  "0033612345678",
  "1763706000",
  "1763706000123",
  "550e8400-e29b-41d4-a716-446655440000",
  "018f6b1c-7f3a-7c11-8a2b-601100000004",
  "00000000-0000-4000-8000-676770000000",
  "000000000000",
  "0000000000000000",
  "127.0.0.1",
  "uptime 5123.45 ms",
  `411111${"X".repeat(6)}1111`,
];

test.each(harmless)("%s is not a card number and stays", (text) => {
  expect(maskPansInText(text)).toBe(text);
  expect(maskPansInText(`{"value":"${text}"}`)).toBe(`{"value":"${text}"}`);
  expect(containsPan(text)).toBe(false);
});

test("every UUID stays, also one that is nearly all digits", () => {
  // From its fifth character on a UUID can be grouped like a card number: masked (mask.ts).
  const isGroupedLikeCard = (id: string): boolean => /^.{4}(\d{4}-){3}/.test(id);
  const ids = fc.uuid().filter((id) => !isGroupedLikeCard(id));
  fc.assert(
    fc.property(ids, (id) => {
      expect(maskPansInText(`transaction ${id} stored`)).toBe(`transaction ${id} stored`);
      expect(containsPan(id)).toBe(false);
    }),
    { seed: 7 },
  );
  const hexDigit = fc.constantFrom(..."0123456789");
  const digits = (length: number) =>
    fc.string({ unit: hexDigit, minLength: length, maxLength: length });
  fc.assert(
    fc.property(digits(8), digits(4), digits(3), digits(3), digits(12), (a, b, c, d, e) => {
      const id = `${a.slice(0, 7)}a-${b}-4${c}-8${d}-${e}`;
      expect(maskPansInText(`id ${id}`)).toBe(`id ${id}`);
    }),
    { numRuns: tries(2_000), seed: 7 },
  );
});

test("order numbers that begin with a date stay for every day and counter", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("2020-01-01"), max: new Date("2039-12-31"), noInvalidDate: true }),
      fc.integer({ min: 0, max: 999_999 }),
      (day, counter) => {
        const date = day.toISOString().slice(0, 10).replaceAll("-", "");
        const orderId = `${date}-${String(counter).padStart(6, "0")}`;
        expect(maskPansInText(orderId)).toBe(orderId);
        expect(containsPan(orderId)).toBe(false);
      },
    ),
    { numRuns: tries(2_000), seed: 7 },
  );
});

test("dates and times stay when strokes, underscores or colons join them", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("2020-01-01"), max: new Date("2039-12-31"), noInvalidDate: true }),
      fc.constantFrom("/", "_", ":"),
      (moment, joint) => {
        const iso = moment.toISOString();
        const [year, ...parts] = iso.split(/\D/);
        const forms = [iso, [year, ...parts].join(joint), [...parts, year].join(joint)];
        const pairs = `${iso.slice(0, 4)}${joint}${parts.slice(0, 2).join("")}${joint}`;
        forms.push(pairs + [parts.slice(2, 4).join(""), parts.slice(4).join("")].join(joint));
        for (const form of forms) expect(maskPansInText(form)).toBe(form);
      },
    ),
    { numRuns: tries(2_000), seed: 7 },
  );
});

test("a card number written over the groups of a UUID is masked all the same", () => {
  const pan = "4000-1800-4000-8007";
  expect(hasLuhnCheckDigit(pan.replace(/\D/g, ""))).toBe(true);
  const text = `abcd${pan}-000000000000`;
  expect(maskPansInText(text)).toMatch(/^abcd4000-18XX-X{4}-/);
});

test("no text with a test card put at any place comes out with that card unmasked", () => {
  const around = fc.oneof(
    fc.string(),
    fc.string({ unit: "grapheme" }),
    fc.string({ unit: fc.constantFrom(..."0123456789 .-+,abcdef\"'{}:=\n"), maxLength: 60 }),
    fc.uuid(),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.json(),
  );
  fc.assert(
    fc.property(
      around,
      around,
      fc.constantFrom(...testCards),
      fc.constantFrom("", " ", "-", "."),
      fc.nat(),
      (before, after, pan, separator, cut) => {
        const written = grouped(pan, separator);
        const middle = before.length === 0 ? 0 : cut % before.length;
        for (const text of [
          before + written + after,
          before.slice(0, middle) + written + before.slice(middle),
        ]) {
          const masked = maskPansInText(text);
          expect(masked.length).toBe(text.length);
          expect(occurrences(masked, written)).toBe(0);
          expect(masked.replace(/X/g, "").length).toBeLessThan(text.replace(/X/g, "").length);
        }
      },
    ),
    { numRuns: tries(5_000), seed: 7 },
  );
});

test("masking twice changes nothing more", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."0123456789 -") }), (text) => {
      const once = maskPansInText(text);
      expect(maskPansInText(once)).toBe(once);
    }),
    { numRuns: tries(2_000), seed: 7 },
  );
});

test("text without twelve digits in a row is returned as it is", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(..."0123456789abc,"), maxLength: 11 }),
      (text) => {
        expect(maskPansInText(text)).toBe(text);
      },
    ),
    { seed: 7 },
  );
});

/** Outside the whole scope a quarter: what grows with the square takes minutes for it too. */
const LENGTH = (isWhole ? 1 : 0.25) * 1024 * 1024;
const LENGTH_MS_MAX = isWhole ? 5_000 : 1_250;

test.each([
  ["random digits", (n: number) => pseudoRandomDigits(n)],
  ["one digit repeated", (n: number) => "6".repeat(n)],
  ["card prefixes without end", (n: number) => "4".repeat(n)],
  ["digits and blanks in turn", (n: number) => "5 ".repeat(n / 2)],
  ["runs one digit too short", (n: number) => "44444444444,".repeat(n / 12)],
  ["hyphens only", (n: number) => "-".repeat(n)],
  ["UUIDs in a row", (n: number) => "00000000-0000-4000-8000-676770000000".repeat(n / 36)],
])("a long text of %s is masked in a bounded time", async (_what, make) => {
  const text = make(LENGTH);
  const tookMs = await ownTimeOf([], () => {
    expect(maskPansInText(text).length).toBe(text.length);
  });
  expect(tookMs).toBeLessThan(asSlow(LENGTH_MS_MAX));
});

test("masking a card number leaves at most first six and last four, short ones nothing", () => {
  expect(maskPan("4111111111111111")).toBe(truncated("4111111111111111"));
  expect(maskPan("411111******1111")).toBe(truncated("4111111111111111"));
  expect(maskPan("41F1111111111111")).toBe(`41X111${"X".repeat(6)}1111`);
  expect(maskPan("6799990100000000019")).toBe(truncated("6799990100000000019"));
  expect(maskPan("1234567890")).toBe("X".repeat(10));
  expect(maskPan("")).toBe("");
});

test("the Luhn check digit is the one of the standard", () => {
  expect(hasLuhnCheckDigit("79927398713")).toBe(true);
  for (const wrong of "012456789") expect(hasLuhnCheckDigit(`7992739871${wrong}`)).toBe(false);
});

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}

function pseudoRandomDigits(count: number): string {
  let state = 42;
  return Array.from({ length: count }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor(state / 65_536) % 10;
  }).join("");
}
