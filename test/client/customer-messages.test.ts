import { describe, expect, test } from "vitest";
import {
  customerLanguages,
  customerMessage,
  customerMessageName,
  customerMessageOfCode,
  customerMessages,
} from "../../src/client/customer-messages.ts";
import { type ErrorCode, errorTable } from "../../src/shared/catalog/errors.ts";
import { openApiDocument } from "../../src/tp-manager/http/openapi/document.ts";

const codes = Object.keys(errorTable) as ErrorCode[];
const answers = ["no", "yes", "unknown"] as const;

describe("what the customer is shown", () => {
  test("says of the money what the answer says, whatever the error code is", () => {
    for (const code of [...codes, "A_CODE_OF_TOMORROW"]) {
      for (const charged of answers) {
        const name = customerMessageName({ status: "Failed", error: { code, charged } });
        expect([code, charged, customerMessages[name].charged]).toEqual([code, charged, charged]);
      }
    }
  });

  test("is chosen by the status of the answer when the payment has no error", () => {
    const named = (status: string) => customerMessageName({ status, error: null });
    expect(["Success", "Approved", "Reversed"].map(named)).toEqual(["paid", "collect", "returned"]);
    expect(["Declined", "Cancelled"].map(named)).toEqual(["declined", "cancelled"]);
    expect(["Unknown", "SomethingNew"].map(named)).toEqual(["unknown", "unknown"]);
  });

  test("says in every language that nothing was charged, where that is so", () => {
    const free = Object.values(customerMessages).filter(({ charged }) => charged === "no");
    const last = (text: string) => text.split(/(?<=\.) /).at(-1);
    for (const language of customerLanguages) {
      const said = Map.groupBy(free, (message) => last(message[language]));
      // The other message says that the money went back.
      expect([language, [...said.values()].map((of) => of.length).sort()]).toEqual([
        language,
        [1, free.length - 1],
      ]);
    }
  });

  test("has a whole sentence of each message, and no sentence twice, in each language", () => {
    for (const language of customerLanguages) {
      const all = Object.values(customerMessages).map((message) => message[language]);
      expect(all.filter((text) => !/^\p{Lu}.{20,}[.]$/u.test(text))).toEqual([]);
      expect(new Set(all).size).toBe(all.length);
    }
    const declined = { code: "PAYMENT_DECLINED", charged: "no" } as const;
    expect(customerMessage({ status: "Declined", error: declined }, "de")).toBe(
      "Ihre Karte wurde abgelehnt. Bitte versuchen Sie eine andere Karte. " +
        "Ihnen wurde nichts berechnet.",
    );
  });

  test("promises no short wait where an operator may have to act first", () => {
    const error = { code: "TERMINAL_IN_DOUBT", charged: "no" } as const;
    const text = customerMessage({ status: "Failed", error });
    expect(text).toMatch(/ask the staff/);
    expect(text).not.toMatch(/moment/);
  });

  test("is chosen only by error codes that exist", () => {
    expect(Object.keys(customerMessageOfCode).filter((code) => !(code in errorTable))).toEqual([]);
  });

  test("follows the same choice as the OpenAPI document describes", () => {
    const documented = openApiDocument()["x-customer-messages"] as {
      readonly [part in "messages" | "byStatus" | "byCharged" | "byCode"]: Record<string, unknown>;
    } & { readonly otherwise: string };
    expect(documented.messages).toEqual(customerMessages);
    for (const [status, name] of Object.entries(documented.byStatus)) {
      expect(customerMessageName({ status, error: null })).toBe(name);
    }
    for (const code of codes) {
      const named = customerMessageName({ status: "Failed", error: { code, charged: "no" } });
      expect(documented.byCode[code] ?? documented.otherwise).toBe(named);
    }
    for (const [charged, name] of Object.entries(documented.byCharged)) {
      const error = { code: "INTERNAL", charged: charged as "yes" | "unknown" };
      expect(customerMessageName({ status: "Failed", error })).toBe(name);
    }
  });
});
