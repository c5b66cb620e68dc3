import { expect } from "vitest";
import { abortsYetStores, type Course, losesLine } from "./dialogue.ts";
import { PRICE, type Shop, shopTest, variants, variantTest } from "./shop.ts";

/** Staff sell at the terminal too. */
const shared = { shared: true };

/** Two worlds look alike: the order's customer was charged, or one of staff. */
async function expectDoubted(shop: Shop, charges: number): Promise<void> {
  expect(await shop.known("A")).toEqual({
    status: "Unknown",
    charged: "unknown",
    commands: 1,
    charges,
  });
  await shop.alarmsOf("A");
  await shop.expectSound();
}

shopTest.concurrent.for(
  variants<[string, number, Course]>([
    ["its own sale", 1, losesLine((terminal) => terminal.book(terminal.next(PRICE)))],
    ["a sale of staff", 0, losesLine((terminal) => terminal.sellByStaff(PRICE))],
  ]),
)("%s without a report is unknown after a lost line", async ([, charges, course], { open }) => {
  const shop = await open(shared);
  await shop.pay("A", PRICE, course);
  await expectDoubted(shop, charges);
});

shopTest.concurrent.for(
  variants<[string, number, Course]>([
    ["its own sale", 1, abortsYetStores()],
    [
      "a sale of staff",
      0,
      async (at) => {
        await at.abort();
        at.terminal.sellByStaff(PRICE);
      },
    ],
    [
      "a late report of a sale of staff",
      0,
      async (at) => {
        await at.abort();
        await at.report(at.terminal.sellByStaff(PRICE));
      },
    ],
  ]),
)("an aborted order is unknown because of %s", async ([, charges, course], { open }) => {
  const shop = await open(shared);
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, course);
  await shop.asked("A");
  await expectDoubted(shop, charges);
});

shopTest.concurrent.for(
  variants([
    ["was not charged", 0],
    ["was charged too", 1],
  ] as const),
)("a staff sale in the second of an order that %s proves none", async ([, charges], { open }) => {
  const shop = await open(shared);
  const { terminal } = shop;
  await shop.pay("A", PRICE, async (at) => {
    const record = terminal.next(PRICE);
    await at.report(record);
    if (charges > 0) terminal.book(record);
    at.hangUp();
    const { date, time } = record;
    terminal.book(terminal.next(PRICE, { date, time }), "staff");
  });
  await expectDoubted(shop, charges);
  await shop.reverse("A");
  expect([terminal.reversed, terminal.count("staff", "money back")]).toEqual([[], 0]);
});

variantTest.concurrent("a kept aborted sale found before another is unknown", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores());
  await shop.sell("C", 900);
  await shop.asked("A");
  await expectDoubted(shop, 1);
});

variantTest.concurrent("a kept aborted sale is unknown after a kill", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores());
  await shop.restart();
  await shop.asked("A");
  await expectDoubted(shop, 1);
});

shopTest.concurrent.for(
  variants([
    ["its receipt number alone", { trace: null, date: null, time: null }],
    ["its moment alone", { receipt: null, trace: null }],
  ] as const),
)("a kept aborted sale is unknown when reported by %s", async ([, less], { open }) => {
  const shop = await open(shared, (terminal) => {
    terminal.repeat = () => terminal.stored && { ...terminal.stored, ...less };
  });
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores());
  await shop.asked("A");
  await expectDoubted(shop, 1);
});

variantTest.concurrent(
  "one kept sale of two aborted orders makes both unknown",
  async ({ open }) => {
    const shop = await open(shared);
    const { terminal } = shop;
    await shop.sell("P", 500);
    await shop.pay("A", PRICE, abortsYetStores());
    terminal.repeat = () => 0xa0;
    await shop.pay("B", PRICE, (at) => at.abort());
    terminal.repeat = () => terminal.stored;
    await shop.asked("B");
    expect(await shop.known("B")).toMatchObject({ charged: "unknown", commands: 1 });
    await expectDoubted(shop, 1);
  },
);

shopTest.concurrent("a lost line with nothing new stored is not charged", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P");
  await shop.pay("A", PRICE, losesLine());
  expect(await shop.known("A")).toMatchObject({ charged: "no", commands: 1, charges: 0 });
});

shopTest.concurrent("sales between equal sales of staff keep their orders", async ({ open }) => {
  const shop = await open(shared);
  await shop.sell("P");
  shop.terminal.sellByStaff(PRICE);
  await shop.sell("A");
  shop.terminal.sellByStaff(PRICE);
  await shop.sell("B");
  await shop.expectSound();
  expect([shop.terminal.paid, shop.alarms()]).toEqual([["P", "A", "B"], []]);
});
