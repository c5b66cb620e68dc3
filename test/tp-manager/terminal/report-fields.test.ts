import { expect, test } from "vitest";
import { encodeTagged, type Tagged } from "../../../src/concert/index.ts";
import { caisseApMessages } from "../../../src/tp-manager/terminal/caisse-ap/caisse-ap-messages.ts";
import { tenEuro } from "./zvt/driver.ts";

const { read } = caisseApMessages({
  version: "0300",
  identifier: "012345678901",
  register: "01",
  reference: "CF",
  receipt: false,
});

function ticketOf(...tags: Tagged[]): string {
  const reading = read(encodeTagged([["CZ", "0300"], ["CA", "01"], ...tags]), tenEuro);
  return reading.reading === "result" ? reading.report.fallbackTicket : reading.reading;
}

test("a decline without an amount prints no amount, not its currency alone", () => {
  expect(ticketOf(["CD", "0"], ["CE", "978"], ["AE", "01"], ["AF", "04"])).toBe("refused");
});

test("an approval without an amount prints that of its order", () => {
  const ticket = ticketOf(["CD", "0"], ["AC", "123456"], ["AE", "10"]);
  expect(ticket).toBe("Approval: 123456|Amount: 10.00 EUR|approved");
});

test("a separator of lines inside a field begins no line", () => {
  const ticket = ticketOf(["CD", "0"], ["CB", "1000"], ["CG", "12|34"], ["AE", "10"]);
  expect(ticket).toBe("Contract: 12 34|Amount: 10.00 EUR|approved");
});
