import fc from "fast-check";
import { expect, test } from "vitest";
// @ts-expect-error: the pages' JavaScript is checked by tsconfig.pages.json
import { csvOf } from "../../../src/tp-manager/console/pages/csv.js";

const write: (rows: ReadonlyArray<ReadonlyArray<string | number | null>>) => string = csvOf;

/** A reader by the rules of RFC 4180. */
function read(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length) {
    let cell = "";
    if (text[at] === '"') {
      for (at += 1; ; at += 1) {
        if (text[at] !== '"') cell += text[at];
        else if (text[at + 1] === '"') cell += text[++at];
        else break;
      }
      at += 1;
    } else {
      while (at < text.length && !",\r\n".includes(text[at] ?? "")) cell += text[at++];
    }
    row.push(cell);
    if (text[at] === ",") {
      at += 1;
      if (text.startsWith("\r\n", at)) row.push("");
      else continue;
    }
    if (!text.startsWith("\r\n", at)) throw new Error(`no end of the row at ${at}`);
    at += 2;
    rows.push(row);
    row = [];
  }
  return rows;
}

test.each([
  '=HYPERLINK("http://evil.test","pay")',
  "=1+1",
  "+1",
  "-1",
  "@SUM(A1)",
  "\t=1",
  "\r=1",
  "\n=1",
  " =1",
  "  \t@x",
  "＝1",
  "=cmd|' /C calc'!A0",
  "-2+3+cmd|' /C calc'!A0",
  "\u00a0=1",
])("an order named %j is text for a spreadsheet", (name) => {
  const [cells] = read(write([["A-1", name, "end"]]).slice(1));
  expect(cells).toEqual(["A-1", `'${name}`, "end"]);
});

test.each([
  "A-1",
  "12,5",
  'say "hello"',
  "two\r\nlines",
  "semi;colon",
  "Jürgen",
  "'quoted'",
  "1=1",
])("an order named %j stays as it is", (name) => {
  expect(read(write([[name, "end"]]).slice(1))).toEqual([[name, "end"]]);
});

test("numbers are numbers, and what is missing is empty", () => {
  expect(write([[-1.5, null, 0, Number.NaN]])).toBe("\uFEFF-1.5,,0,\r\n");
});

test("no text breaks out of its cell or begins a formula", () => {
  const cell = fc.string({ unit: "binary", maxLength: 12 });
  const part = fc.constantFrom('"', ",", "\r\n", "=", "+", "-", "@", "\t", " ", "'");
  const hostile = fc.tuple(part, cell, part).map((parts) => parts.join(""));
  const rows = fc.array(fc.tuple(cell, hostile), { minLength: 1, maxLength: 5 });
  const isKept = (text: string, written = ""): boolean =>
    (written === text || written === `'${text}`) && !/^[=+\-@]/.test(written.trimStart());
  fc.assert(
    fc.property(rows, (given) => {
      const found = read(write(given).slice(1));
      const isSame = found.length === given.length && found.every((row) => row.length === 2);
      return (
        isSame && given.every((row, at) => row.every((text, i) => isKept(text, found[at]?.[i])))
      );
    }),
    { seed: 7 },
  );
});
