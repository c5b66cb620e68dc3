import { expect, test } from "vitest";
import { report } from "../../support/reports.ts";
import { approves } from "../../support/scripted-terminal.ts";
import { api } from "./rig.ts";

test("the listing goes on in the archive, page by page, with the same filters", async () => {
  const { call, at } = await api();
  const post = (payload: object) => call("POST", "/payment", payload);
  for (const orderId of ["A-1", "A-2", "A-3"]) await post({ amount: 1, orderId });
  const { baseline } = at.terminal;
  at.terminal.stores(report({ amountMinor: 100 }));
  await at.afterSale.reverse("A-3");
  at.terminal.baseline = baseline;
  await at.clock.advance(0);
  at.terminal.script = () => Promise.resolve({ end: "refused", code: "83", text: "not possible" });
  await post({ amount: 1, orderId: "A-4" });
  at.journal.archive.putAway(at.clock.now() + 1, 100);
  at.terminal.script = approves;
  for (const orderId of ["A-5", "A-6"]) await post({ amount: 1, orderId });
  const walk = async (query: string): Promise<string[]> => {
    const seen: string[] = [];
    let cursor: string | undefined = "";
    for (let pages = 0; cursor !== undefined && pages < 20; pages++) {
      const { text, headers } = await call("GET", `/payments?${query}${cursor}`);
      for (const one of JSON.parse(text)) seen.push(`${one.orderId} ${one.status} ${one.archived}`);
      const next = headers["next-cursor"];
      cursor = next === undefined ? undefined : `&cursor=${next}`;
    }
    return seen;
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
