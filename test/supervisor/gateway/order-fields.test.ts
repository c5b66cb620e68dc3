import { expect, test } from "vitest";
import {
  checkedOrderFields,
  cleanText,
  orderFields,
} from "../../../src/supervisor/gateway/order-fields.ts";

type OrderValues = Parameters<typeof checkedOrderFields>[0];
type OrderFieldName = keyof typeof orderFields;

const good: OrderValues = {
  wsLogin: "login",
  wsPassword: "password",
  websiteId: "1",
  categoryId: "2",
  currency: "EUR",
  amount: "8.99",
  rating: "ALL",
  locale: "en_GB",
  customerIpAddress: "127.0.0.1",
  executionDate: "2026-01-15T11:59:58",
  manualCapture: "0",
  description: "Order 1",
  customerEmail: "a@b.example",
  urlCallback: "https://shop.example/notify",
  merchantReference: "1",
};

/** The lengths of docs/design.md 12.10, written down once more on purpose. */
const lengths: ReadonlyArray<[OrderFieldName, number]> = [
  ["wsLogin", 255],
  ["wsPassword", 32],
  ["websiteId", 11],
  ["categoryId", 11],
  ["currency", 3],
  ["rating", 3],
  ["locale", 5],
  ["customerIpAddress", 15],
  ["executionDate", 32],
  ["manualCapture", 1],
  ["description", 255],
  ["customerEmail", 32],
  ["urlCallback", 255],
  ["merchantReference", 255],
];

test("every field with a length is tested, and amount has none", () => {
  const limited = Object.entries(orderFields).filter(([, { lengthMax }]) => lengthMax !== null);
  expect(limited.map(([name]) => name).sort()).toEqual(lengths.map(([name]) => name).sort());
});

test("good values are sent as they are, in the order of the table", () => {
  const { values, notes, problems } = checkedOrderFields(good);
  expect(values).toEqual(good);
  expect(Object.keys(values ?? {})).toEqual(Object.keys(orderFields));
  expect([notes, problems]).toEqual([[], []]);
});

/** A value of the field's format with that many characters. */
function ofLength(name: OrderFieldName, length: number): string {
  return { AN: "x", N: "7", A: "E", R: "1" }[orderFields[name].format].repeat(length);
}

test.each(lengths)("%s takes %i characters", (name, length) => {
  const value = ofLength(name, length);
  const { values, notes } = checkedOrderFields({ ...good, [name]: value });
  expect(values?.[name]).toBe(value);
  expect(notes).toEqual([]);
});

test.each(lengths)("%s with more than %i characters is never sent unchanged", (name, length) => {
  const { values, notes, problems } = checkedOrderFields({
    ...good,
    [name]: ofLength(name, length + 1),
  });
  const said = `${name} has ${length + 1} characters, ${length} are allowed`;
  switch (orderFields[name].misfit) {
    case "refuse":
      expect(values).toBeNull();
      expect(problems).toEqual([said]);
      break;
    case "cut":
      expect(values?.[name]).toBe(ofLength(name, length));
      expect(notes).toEqual([`${said}: shortened or cleaned`]);
      break;
    case "leave-out":
      expect(values).not.toHaveProperty(name);
      expect(notes).toEqual([`${said}: left out`]);
      break;
  }
});

test("money, ids, references and addresses are refused rather than changed", () => {
  const changed = Object.entries(orderFields).filter(([, { misfit }]) => misfit !== "refuse");
  expect(changed.map(([name]) => name)).toEqual(["description", "customerEmail"]);
});

const mandatory = (Object.keys(orderFields) as OrderFieldName[]).filter(
  (name) => orderFields[name].mandatory,
);

test.each(mandatory)("%s is mandatory", (name) => {
  for (const missing of [null, ""]) {
    expect(checkedOrderFields({ ...good, [name]: missing }).problems).toEqual([
      `${name} is missing`,
    ]);
  }
});

test("a missing optional field is simply not sent", () => {
  const { values, notes } = checkedOrderFields({ ...good, customerEmail: null });
  expect(values).not.toHaveProperty("customerEmail");
  expect(notes).toEqual([]);
});

test.each([
  ["amount", "8,99"],
  ["amount", "-1.00"],
  ["amount", "1e3"],
  ["websiteId", "12a"],
  ["currency", "E1R"],
  ["merchantReference", "a\u0000b"],
  ["merchantReference", "a\nb"],
  ["merchantReference", "a\uD83Db"],
] as const)("%s %j is refused: its format does not allow it", (name, value) => {
  const { values, problems } = checkedOrderFields({ ...good, [name]: value });
  expect(values).toBeNull();
  expect(problems[0]).toMatch(new RegExp(`^${name} has characters that format`));
});

test("characters are counted, not UTF-16 units, and never cut in half", () => {
  const smiles = "😀".repeat(255);
  expect(checkedOrderFields({ ...good, description: smiles }).values?.["description"]).toBe(smiles);
  const cut = checkedOrderFields({ ...good, description: `${smiles}😀` }).values?.["description"];
  expect(cut).toBe(smiles);
});

test("several faults are all named, and no value is repeated", () => {
  const { problems } = checkedOrderFields({ ...good, wsPassword: "s3cret".repeat(9), amount: "x" });
  expect(problems).toHaveLength(2);
  expect(problems.join()).not.toContain("s3cret");
});

test("text keeps what XML can carry and loses the rest visibly", () => {
  expect(cleanText("a\tb\r\n é😀")).toBe("a\tb\r\n é😀");
  expect(cleanText("a\u0000\u001B\uFFFE\uD800b")).toBe("a\uFFFD\uFFFD\uFFFD\uFFFDb");
});
