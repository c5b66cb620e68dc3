import { expect } from "vitest";
import { ConnectorClient } from "../../../src/client/client.ts";
import { until } from "../../support/programs/child-program.ts";
import { abortsYetStores } from "./dialogue.ts";
import { PRICE, type Shop, shopTest } from "./shop.ts";

type AlarmData = Readonly<Record<string, unknown>>;

/** The first alarms that GET /events of the running program repeats. */
async function alarmsOf({ at }: Shop, count: number): Promise<AlarmData[]> {
  const client = new ConnectorClient({ url: at.url, login: "kiosk", password: at.password });
  const stop = new AbortController();
  const raised: AlarmData[] = [];
  for await (const { name, data } of client.events({ signal: stop.signal, afterId: 0 })) {
    if (name === "alarm") raised.push(data as AlarmData);
    if (raised.length === count) stop.abort();
  }
  return raised;
}

shopTest.concurrent("an unmatched transaction raises one alarm, by one name", async ({ open }) => {
  const shop = await open();
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, (dialogue) => dialogue.abort());
  await shop.pay("B", PRICE, abortsYetStores());
  await shop.asked("C", 700);
  // The alarm, both orders unknown, the finding.
  await until("the finding", () => shop.alarms().length > 3 || undefined);
  const raised = await alarmsOf(shop, shop.alarms().length);
  const named = { alarm: "unmatched-transaction", orderId: "B", orders: ["B", "A"] };
  expect(raised.filter(({ alarm }) => alarm !== "payment-unknown")).toEqual([
    expect.objectContaining({ ...named, formerly: "unexpected-report" }),
    expect.objectContaining({ ...named, formerly: "sale-without-order", finding: "held" }),
  ]);
  expect(raised[0]).not.toHaveProperty("finding");
  const now = await shop.at.call("GET", "/unmatched-transactions");
  expect([now.http, now.one]).toMatchObject([200, { finding: "held", amountMinor: PRICE }]);
  const before = await shop.at.call("GET", "/unexpected-reports");
  expect([before.http, before.one]).toEqual([now.http, now.one]);
});
