import { expect } from "vitest";
import { abortsYetStores, losesLine } from "./dialogue.ts";
import { PRICE, shopTest, variantTest } from "./shop.ts";

/** Staff sell at the terminal too, so a sale that it shows may be theirs. */
const shared = { shared: true };
const unknown = { status: "Unknown", charged: "unknown", commands: 1 };

shopTest.concurrent("F1: an aborted sale that was kept, behind 25 requests", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores());
  await shop.turnAway(25);
  await shop.asked("A");
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 1 });
  await shop.alarmsOf("A");
});

variantTest.concurrent("F3: an aborted sale that was kept, with no baseline", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P", 500);
  shop.terminal.repeat = () => 0xa0;
  await shop.pay("A", PRICE, abortsYetStores());
  shop.terminal.repeat = () => shop.terminal.stored;
  await shop.asked("A");
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 1 });
  await shop.alarmsOf("A");
});

variantTest.concurrent("F5: staff sell the same amount behind a lost line", async ({ open }) => {
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

shopTest.concurrent("F5: staff sell between two sales of one amount", async ({ open }) => {
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

shopTest.concurrent("F5: a record that equals the order's own report is its", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P");
  await shop.pay("A", PRICE, async (at) => {
    const told = at.terminal.next(PRICE);
    await at.report(told);
    at.terminal.book(told);
    at.hangUp();
  });
  expect(await shop.known("A")).toMatchObject({ status: "Success", charges: 1 });
});

variantTest.concurrent(
  "F11: an aborted sale that was kept, told without time",
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

shopTest.concurrent("F12: a sale by staff behind a kill is not given back", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P", 500);
  await shop.killedPaying("A", (terminal) => terminal.sellByStaff(PRICE));
  await shop.reverse("A");
  expect([shop.terminal.reversed, shop.terminal.count("staff", "money back")]).toEqual([[], 0]);
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 0 });
  await shop.alarmsOf("A");
});
