import { expect } from "vitest";
import { abortsYetStores, losesLine } from "./dialogue.ts";
import { PRICE, shopTest, variantTest } from "./shop.ts";

/** Staff sell at the terminal too, so a sale that it shows may be theirs. */
const shared = { shared: true };
const unknown = { status: "Unknown", charged: "unknown", commands: 1 };

variantTest.concurrent("F1: a kept aborted sale is unknown after 25 refusals", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores());
  await shop.refuseRequests(25);
  await shop.asked("A");
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 1 });
  await shop.alarmsOf("A");
});

variantTest.concurrent("F3: a kept aborted sale is unknown with no baseline", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P", 500);
  shop.terminal.repeat = () => 0xa0;
  await shop.pay("A", PRICE, abortsYetStores());
  shop.terminal.repeat = () => shop.terminal.stored;
  await shop.asked("A");
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 1 });
  await shop.alarmsOf("A");
});

variantTest.concurrent("F5: a staff sale after a lost line charges no order", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P", 500);
  await shop.pay(
    "A",
    PRICE,
    losesLine((terminal) => terminal.sellByStaff(PRICE)),
  );
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 0 });
  await shop.alarmsOf("A");
});

shopTest.concurrent("F5: a staff sale between two equal sales charges none", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P");
  await shop.pay(
    "A",
    PRICE,
    losesLine((terminal) => terminal.sellByStaff(PRICE)),
  );
  await shop.sell("B");
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 0 });
  await shop.alarmsOf("A");
  await shop.expectSound();
});

shopTest.concurrent("F5: a record equal to the order's own report charges it", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P");
  await shop.pay("A", PRICE, async (at) => {
    const record = at.terminal.next(PRICE);
    await at.report(record);
    at.terminal.book(record);
    at.hangUp();
  });
  expect(await shop.known("A")).toMatchObject({ status: "Success", charges: 1 });
});

variantTest.concurrent(
  "F11: a kept aborted sale is unknown when it is reported without time",
  async ({ open }) => {
    const shop = await open(shared, (terminal) => {
      terminal.repeat = () => terminal.stored && { ...terminal.stored, date: null, time: null };
    });
    await shop.sell("P", 500);
    await shop.pay("A", PRICE, abortsYetStores());
    await shop.asked("A");
    expect(await shop.known("A")).toEqual({ ...unknown, charges: 1 });
    await shop.alarmsOf("A");
  },
);

shopTest.concurrent("F12: a staff sale after a kill is not given back", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P", 500);
  await shop.killedPaying("A", (terminal) => terminal.sellByStaff(PRICE));
  await shop.reverse("A");
  expect([shop.terminal.reversed, shop.terminal.count("staff", "money back")]).toEqual([[], 0]);
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 0 });
  await shop.alarmsOf("A");
});
