import { describe, expect, test } from "vitest";
import { report } from "../../support/terminals/reports.ts";
import { approves, saleReport } from "../../support/terminals/scripted-terminal.ts";
import { api } from "./rig.ts";

test("the listing goes on in the archive, page by page, with the same filters", async () => {
  const { call, at } = await api();
  const post = (payload: object) => call("POST", "/payment", payload);
  for (const orderId of ["A-1", "A-2", "A-3"]) await post({ amount: 1, orderId });
  const { baseline } = at.terminal;
  at.terminal.stores(saleReport(2, { amountMinor: 100 }));
  await at.afterSale.reverse("A-3");
  at.terminal.baseline = baseline;
  await at.clock.advance(0);
  at.terminal.script = () => Promise.resolve({ end: "refused", code: "83", text: "not possible" });
  await post({ amount: 1, orderId: "A-4" });
  at.journal.archive.putAway(at.clock.now() + 1, 100);
  at.terminal.script = approves;
  for (const orderId of ["A-5", "A-6"]) await post({ amount: 1, orderId });
  const walk = async (query: string): Promise<string[]> => {
    const listed: string[] = [];
    let cursor: string | undefined = "";
    for (let pages = 0; cursor !== undefined && pages < 20; pages++) {
      const { text, headers } = await call("GET", `/payments?${query}${cursor}`);
      for (const one of JSON.parse(text))
        listed.push(`${one.orderId} ${one.status} ${one.archived}`);
      const next = headers["next-cursor"];
      cursor = next === undefined ? undefined : `&cursor=${next}`;
    }
    return listed;
  };
  const all = [
    "A-6 Success false",
    "A-5 Success false",
    "A-4 Failed true",
    "A-3 Reversed true",
    "A-2 Success true",
    "A-1 Success true",
  ];
  for (const limit of [1, 2, 3, 4, 6, 50]) expect(await walk(`limit=${limit}`)).toEqual(all);
  const good = all.filter((line) => line.includes("Success"));
  for (const limit of [1, 3, 4]) expect(await walk(`status=Success&limit=${limit}`)).toEqual(good);
  expect(await walk("status=Reversed&limit=1")).toEqual(["A-3 Reversed true"]);
  expect(await walk("status=Failed&limit=1")).toEqual(["A-4 Failed true"]);
  for (const none of ["Approved", "Declined", "Cancelled", "Unknown"]) {
    expect(await walk(`status=${none}`)).toEqual([]);
  }
  expect(await walk("since=2100-01-01T00:00:00Z&limit=1")).toEqual([]);
});

describe("GET /payments", () => {
  test("lists attempts newest first, by status, in pages", async () => {
    const { post, call, at } = await api();
    for (const orderId of ["A-1", "A-2", "A-3"]) await post({ amount: 1, orderId });
    at.terminal.script = () =>
      Promise.resolve({ end: "refused", code: "83", text: "not possible" });
    await post({ amount: 1, orderId: "A-4" });
    const ids = async (query: string) => {
      const { body, headers } = await call("GET", `/payments${query}`);
      const orders = body.map(({ orderId }: { orderId: string }) => orderId);
      return { orders, next: headers["next-cursor"] };
    };
    expect(await ids("")).toEqual({ orders: ["A-4", "A-3", "A-2", "A-1"], next: undefined });
    expect((await ids("?status=Failed")).orders).toEqual(["A-4"]);
    const first = await ids("?status=Success&limit=2");
    expect(first.orders).toEqual(["A-3", "A-2"]);
    expect((await ids(`?status=Success&cursor=${first.next}`)).orders).toEqual(["A-1"]);
    expect((await ids("?since=2100-01-01T00:00:00Z")).orders).toEqual([]);
  });

  test("names what it does not understand", async () => {
    const { call } = await api();
    for (const query of [
      "cursor=archive-x",
      "status=success",
      "limit=0",
      "limit=501",
      "since=x",
      "cursor=-1",
      "x=1",
    ]) {
      const { http, one } = await call("GET", `/payments?${query}`);
      expect([query, http, one.error.code]).toEqual([query, 400, "REQUEST_INVALID"]);
    }
  });
});

describe("GET /unmatched-transactions", () => {
  test("lists what is of no order for certain, masked, and what became of it", async () => {
    const { call, at } = await api();
    at.start();
    at.terminal.last = { kind: "transaction", report: report() };
    at.terminal.emit({ type: "unmatched-report", report: report() });
    const health = await call("GET", "/health");
    expect(health.one.reasons).toEqual(["the terminal has an unmatched transaction and is asked"]);
    await at.clock.advance(15_000);
    const { http, body } = await call("GET", "/unmatched-transactions");
    expect([http, body]).toMatchObject([
      200,
      [{ finding: "held", receiptNumber: "0002", amountMinor: 999, currency: "EUR" }],
    ]);
    expect(body[0].maskedPan).toBe("541333XXXXXX4444");
  });
});
