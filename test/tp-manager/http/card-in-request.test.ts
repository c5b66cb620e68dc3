import { expect, test } from "vitest";
import { api } from "./rig.ts";

const pan = "4111111111111111";

const positions: ReadonlyArray<
  [what: string, method: "GET" | "POST", path: string, body?: object]
> = [
  ["an unknown member of a payment", "POST", "/payment", { amount: 1, [pan]: 1 }],
  [
    "the article number in a basket",
    "POST",
    "/payment",
    { amount: 1, basket: { european_article_numbering: pan } },
  ],
  [
    "the number of an article in a list",
    "POST",
    "/payment",
    { amount: 1, basket: [{ european_article_numbering: Number(pan) }] },
  ],
  ["an unknown member of a reversal", "POST", "/reversal", { orderId: "a", [pan]: 1 }],
  ["an unknown member of a delivery", "POST", "/delivery", { orderId: "a", [`x ${pan}`]: 1 }],
  ["an unknown member of a note", "POST", "/payment/a/settle", { [pan]: 1 }],
  ["an unknown parameter", "GET", `/payments?${pan}=1`],
  ["the value of a parameter", "GET", `/payments?status=${pan}`],
  ["a path that is no call", "GET", `/${pan}`],
  ["an order id in a path", "GET", `/payment/${pan}`],
];

test.each(positions)(
  "a card number as %s is not in the answer",
  async (_what, method, path, body) => {
    const { call } = await api();
    const { http, text } = await call(method, path, body);
    expect(http).toBeGreaterThanOrEqual(400);
    expect(text).not.toContain(pan);
  },
);
