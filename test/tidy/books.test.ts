import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorTable } from "../../src/shared/catalog/errors.ts";
import { exitCodes } from "../../src/shared/process/exit-codes.ts";
import { receiptFields } from "../../src/shared/receipt.ts";
import { orderFields } from "../../src/supervisor/gateway/order-fields.ts";
import { repositoryFiles, root } from "./sources.ts";

const design = readFileSync(`${root}/docs/design.md`, "utf8");
const rules = readdirSync(`${root}/docs/rules`).map((file) =>
  readFileSync(`${root}/docs/rules/${file}`, "utf8"),
);

test("docs/design.md 9.3 has every exit code, and no other", () => {
  const documented = rowsOf("9.3").map(([code]) => Number(code));
  expect(documented).toEqual(Object.values(exitCodes).toSorted((a, b) => a - b));
});

test("docs/design.md 12.10 has every field of an order with its format, length and need", () => {
  const documented = rowsOf("12.10").flatMap(([names = "", format, length = "", needed]) =>
    namesIn(names).map(
      (name) => [name, { format, length: Number(length), needed: needed !== "no" }] as const,
    ),
  );
  const sent = Object.entries(orderFields).map(([name, { format, lengthMax, mandatory }]) => {
    return [name, { format, length: Number(lengthMax), needed: mandatory }] as const;
  });
  const isSent = ([name]: readonly [string, unknown]): boolean => name in orderFields;
  expect(Object.fromEntries(documented.filter(isSent))).toEqual(Object.fromEntries(sent));
  expect(documented.filter((field) => !isSent(field)).map(([name]) => name)).toEqual([
    "urlAccept",
    "urlDecline",
    "urlCancel",
    "urlLogo",
    "merchantComment",
    "emailCallback",
    "freedata",
  ]);
});

test("docs/design.md 12.7 counts the fields of a receipt", () => {
  expect(sectionOf("12.7")).toContain(`${receiptFields.length} fields`);
});

test("design and rules name an error code with the HTTP status that its row has", () => {
  const documented = [
    ...[design, ...rules].join("\n").matchAll(/\b([45]\d\d)\s+`([A-Z]+_[A-Z_]+)`/g),
  ];
  const wrong = documented.filter(([, http, code]) => {
    const row = Object.entries(errorTable).find(([name]) => name === code)?.[1];
    return row?.http !== Number(http);
  });
  expect(wrong.map(([text]) => text)).toEqual([]);
  expect(documented.length).toBeGreaterThan(10);
});

test("a page that says `Unknown` links the page on what to do then", () => {
  const pages = repositoryFiles("*.md").filter(
    (path) => path !== "docs/unknown.md" && !path.startsWith("docs/reports/"),
  );
  const saying = pages
    .map((path) => ({ path, text: readFileSync(`${root}/${path}`, "utf8") }))
    .filter(({ text }) => text.includes("`Unknown`"));
  expect(saying.length).toBeGreaterThan(20);
  expect(saying.filter(({ text }) => !text.includes("unknown.md")).map(({ path }) => path)).toEqual(
    [],
  );
});

test("docs/accessibility.md names tests that exist", () => {
  const book = readFileSync(`${root}/docs/accessibility.md`, "utf8").replaceAll(/\s+/g, " ");
  const folder = `${root}/test/browser`;
  const suites = readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`, "utf8"));
  const names = [...book.matchAll(/"([a-z][^"]{9,})"/g)].map(([, name = ""]) => name);
  expect(names.length).toBeGreaterThan(10);
  const written = (name: string) => suites.some((suite) => suite.includes(name));
  expect(names.filter((name) => !written(name))).toEqual([]);
});

function sectionOf(number: string): string {
  return design.split(/^(?=###? )/m).find((part) => part.startsWith(`### ${number} `)) ?? "";
}

/** The cells of a section's generated table, without its head and the line below it. */
function rowsOf(number: string): string[][] {
  return [...sectionOf(number).matchAll(/^\| (.*) \|$/gm)]
    .slice(2)
    .map(([, row = ""]) => row.split("|").map((cell) => cell.trim()));
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
}
