import { describe, expect, test } from "vitest";
import { AppError, type ErrorCode, errorTable } from "../../../src/shared/catalog/errors.ts";
import texts from "../../../src/shared/catalog/texts-en.json" with { type: "json" };
import { BrokenInvariant, invariant, unreachable } from "../../../src/shared/invariant.ts";
import { exitCodes, ProgramExit } from "../../../src/shared/process/exit-codes.ts";
import { emptyReceipt, receiptFields } from "../../../src/shared/receipt.ts";

type ErrorRow = (typeof errorTable)[ErrorCode];
const rows = Object.entries(errorTable) as Array<[ErrorCode, ErrorRow]>;

describe.each(rows)("error %s", (code, row) => {
  test("has a code in capitals, a known HTTP status and known words", () => {
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    expect([
      200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 431, 500, 501, 503, 504,
    ]).toContain(row.http);
    expect(["no", "yes", "unknown"]).toContain(row.charged);
    expect(["safe", "same_order", "after_recovery", "never"]).toContain(row.retry);
  });

  test("explains itself in sentences", () => {
    for (const sentence of [row.meaning, row.action]) {
      expect(sentence).toMatch(/^[A-Z`][^\n]*[^.\s]\.$/);
    }
  });

  test("never calls a repetition safe while the order may be charged", () => {
    if (row.charged !== "no") expect(row.retry).not.toBe("safe");
  });

  test("becomes an error with the table's message, which can be made more exact", () => {
    expect(new AppError(code)).toMatchObject({ code, message: row.meaning, charged: row.charged });
    const cause = new Error("below");
    const exact = new AppError(code, "more exactly", { charged: "yes", details: { a: 1 }, cause });
    expect(exact).toMatchObject({ message: "more exactly", charged: "yes", details: { a: 1 } });
    expect(exact.cause).toBe(cause);
    expect(exact.name).toBe("AppError");
  });
});

test("the table is not empty, and has all texts of the catalogue", () => {
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.map(([code]) => code)).toEqual(Object.keys(texts.errors));
});

test("a call that is refused before it reaches an order has charged nobody", () => {
  const atTheDoor = rows.slice(
    0,
    rows.findIndex(([code]) => code === "ORDER_NOT_FOUND"),
  );
  expect(atTheDoor).toHaveLength(15);
  // A path that is no call may have lost the order id that it asks about.
  const ofPaths = ["NOT_FOUND", "METHOD_NOT_ALLOWED"];
  for (const [code, { charged }] of atTheDoor) {
    expect([code, charged]).toEqual([code, ofPaths.includes(code) ? "unknown" : "no"]);
  }
});

test("an answer with 504 says unknown, because nobody has seen the payment end", () => {
  for (const [, row] of rows) if (row.http === 504) expect(row.charged).toBe("unknown");
});

test("exit codes are those of docs/design.md 9.3", () => {
  expect(exitCodes).toEqual({
    ok: 0,
    usage: 64,
    unavailable: 69,
    internal: 70,
    alreadyRunning: 75,
    configuration: 78,
  });
  expect(new ProgramExit(78, "why")).toMatchObject({ exitCode: 78, message: "why" });
});

test("a broken invariant says what was broken, a kept invariant throws nothing", () => {
  expect(() => invariant(false, "one payment at a time")).toThrow(BrokenInvariant);
  expect(() => invariant(false, "one payment at a time")).toThrow("one payment at a time");
  expect(invariant(true, "anything")).toBeUndefined();
  expect(() => unreachable("odd" as never)).toThrow('unexpected value "odd"');
});

test("a receipt has all 32 fields, every one an empty string at first", () => {
  expect(receiptFields.length).toBe(32);
  expect(new Set(receiptFields).size).toBe(32);
  expect(Object.keys(emptyReceipt)).toEqual([...receiptFields]);
  expect(Object.values(emptyReceipt)).toEqual(Array.from({ length: 32 }, () => ""));
});
