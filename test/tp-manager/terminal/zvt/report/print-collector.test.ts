import { describe, expect, test } from "vitest";
import * as prints from "../../../../../src/tp-manager/terminal/zvt/report/print-collector.ts";
import {
  container,
  decodeApdu,
  decodeMessage,
  encodeMessage,
  fromHex,
  type RawTag,
  tag,
} from "../../../../../src/zvt/index.ts";
import { hasVectors, vectors } from "../../../../zvt/vectors.ts";

const { PrintCollector } = prints;

function lines(
  ...printed: readonly (readonly [attribute: number, text?: string, type?: number])[]
) {
  const collector = new PrintCollector();
  for (const [attribute, text = "", type] of printed) {
    const tags = type === undefined ? {} : { tags: [tag("receiptType", type)] };
    collector.add(
      decodeMessage(encodeMessage("print-line", { parts: { attribute, text }, ...tags })),
    );
  }
  return collector.ticket;
}

function blocks(...printed: readonly (readonly RawTag[])[]) {
  const collector = new PrintCollector();
  for (const tags of printed) {
    collector.add(decodeMessage(encodeMessage("print-text-block", { tags })));
  }
  return collector.ticket;
}

describe("print lines", () => {
  test("are joined, with empty lines kept inside and dropped at both ends", () => {
    expect(lines([0x40], [0x40, "Shop "], [0x00], [0x00, "Total 10,00"], [0x40], [0x81])).toBe(
      "Shop||Total 10,00",
    );
  });

  test("with the attribute 80 are lines like others, with 81 the last one", () => {
    expect(lines([0x80, "a"], [0x81, "b"], [0x00, "c"], [0x81])).toBe("a|b||c");
  });

  test("with a line feed count become as many empty lines", () => {
    const collector = new PrintCollector();
    const add = (hex: string) => collector.add(decodeMessage(decodeApdu(fromHex(hex))));
    for (const hex of ["06d1020061", "06d102ff02", "06d1020062"]) add(hex);
    expect(collector.ticket).toBe("a|||b");
  });

  test("are of the customer's copy only, when its type is reported", () => {
    expect(lines([0, "merchant", 1], [0x81, "", 1], [0, "customer", 2], [0x81, "", 2])).toBe(
      "customer",
    );
  });

  test("are of the copy whose text says that it is the customer's", () => {
    expect(lines([0, "** Händlerbeleg **"], [0x81], [0, "** Kundenbeleg **"], [0x81])).toBe(
      "** Kundenbeleg **",
    );
  });

  test("have separator and control characters replaced by spaces", () => {
    expect(lines([0, "a|b\nc"])).toBe("a b c");
  });

  test("have their card numbers masked", () => {
    expect(lines([0, "Karte 4111111111111111"])).toBe(`Karte 411111${"X".repeat(6)}1111`);
  });
});

describe("text blocks", () => {
  const text = (line: string): RawTag => tag("textLine", line);
  const attribute = (value: number): RawTag => tag("attribute", value);

  test("have a card number masked over three lines or around an empty line", () => {
    expect(lines([0, "Karte 4111 1111"], [0, "  1111"], [0, "1111 ok"])).toBe(
      "Karte 4111 11XX|  XXXX|1111 ok",
    );
    expect(lines([0, "4111 1111"], [0, ""], [0, "1111 1111"])).toMatch(/^4111 11XX[|]+XXXX 1111$/);
    expect(lines([0, "12.00 EUR"], [0, "Danke"])).toBe("12.00 EUR|Danke");
  });

  test("hold lines, feeds and the end", () => {
    expect(
      blocks([
        tag("receiptType", 2),
        container("printTexts", [
          attribute(0x40),
          text("Shop"),
          attribute(0xff),
          text("Total"),
          attribute(0x81),
        ]),
      ]),
    ).toBe("Shop||Total");
  });

  test("of one receipt may come in several messages", () => {
    const part = (...children: RawTag[]) => [
      tag("receiptType", 2),
      container("printTexts", children),
    ];
    expect(blocks(part(text("one")), part(text("two"), attribute(0x81)))).toBe("one|two");
  });

  test("of the merchant's copy are left out when there is one for the customer", () => {
    const copy = (type: number, line: string) => [
      tag("receiptType", type),
      container("printTexts", [text(line)]),
    ];
    expect(blocks(copy(1, "merchant"), copy(2, "customer"))).toBe("customer");
    expect(blocks(copy(1, "merchant"))).toBe("merchant");
  });
});

test("a terminal that prints for ever does not fill the memory", () => {
  const collector = new PrintCollector();
  const line = { parts: { attribute: 0, text: "x".repeat(1_000) } };
  const message = decodeMessage(encodeMessage("print-line", line));
  for (let printed = 0; printed < 1_000; printed++) collector.add(message);
  expect(collector.ticket.length).toBeGreaterThan(190_000);
  expect(collector.ticket.length).toBeLessThan(210_000);
});

test.each([
  ["541333008", "9604111"],
  ["Card 5413 3300", "     8960 4111"],
  ["5413-33", "00-8960-4111"],
  ["5413  3300  8960  4111", "approved"],
])("a card number that is printed as %j and %j is masked", (...lines) => {
  const collector = new PrintCollector();
  for (const text of lines) {
    const line = { parts: { attribute: 0, text } };
    collector.add(decodeMessage(encodeMessage("print-line", line)));
  }
  expect(collector.ticket.replace(/[^\dX]/g, "")).toBe("541333XXXXXX4111");
  expect(collector.ticket.length).toBe(lines.join("|").length);
});

test("numbers in lines of their own stay as they are", () => {
  const collector = new PrintCollector();
  for (const text of [
    "Receipt 0042",
    "000077 22.11.26 13:00",
    "52500001",
    "5413 1",
    "Total 12.50",
  ]) {
    const line = { parts: { attribute: 0, text } };
    collector.add(decodeMessage(encodeMessage("print-line", line)));
  }
  expect(collector.ticket).not.toContain("X");
});

describe.skipIf(!hasVectors)("printed receipts of real terminals", () => {
  test.each(
    vectors("apdu-receipts")
      .filter(({ control }) => control === "06d3")
      .map((vector) => [vector.id, vector] as const),
  )("%s gives a ticket of many lines", (_id, { hex }) => {
    const collector = new PrintCollector();
    collector.add(decodeMessage(decodeApdu(fromHex(hex))));
    expect(collector.ticket.split("|").length).toBeGreaterThan(4);
  });

  test("the customer copy over print lines ends with its last line", () => {
    const session = vectors("sessions-tcp").find(
      ({ id }) => id === "tcp-print-lines-customer-copy",
    );
    const collector = new PrintCollector();
    for (const { hex = "", direction } of session?.steps ?? []) {
      if (direction === "PT->ECR") collector.add(decodeMessage(decodeApdu(fromHex(hex))));
    }
    expect(collector.ticket).toMatch(/^\*\* KUNDENBELEG \*\*\|/);
  });
});
