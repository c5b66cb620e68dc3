import { expect } from "vitest";
import { abortsYetStores, type Course, losesLine } from "./dialogue.ts";
import { PRICE, shopTest, variants, variantTest } from "./shop.ts";
import type { TerminalRecord } from "./zvt-line.ts";

const nameless: Partial<TerminalRecord> = { receipt: null, trace: null, date: null, time: null };

shopTest.concurrent("a kept sale without any name leaves its order unknown", async ({ open }) => {
  const shop = await open();
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores(nameless));
  await shop.asked("B", 700);
  expect(await shop.known("A")).toMatchObject({ charged: "unknown", charges: 1 });
  await shop.alarmsOf("A");
});

variantTest.concurrent("a sale stored over a kept sale makes no wrong answer", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P", 500);
  const late = terminal.next(900);
  await shop.pay("A", 900, (at) => at.abort());
  await shop.pay("C", PRICE, abortsYetStores());
  let probes = 0;
  terminal.repeat = () => {
    probes += 1;
    if (probes === 3) terminal.book(late, "A");
    return terminal.stored;
  };
  await shop.asked("B", 500);
  await shop.expectSound();
  expect((await shop.known("C")).charged).not.toBe("no");
  await shop.alarmsOf("A");
  await shop.alarmsOf("C");
});

shopTest.concurrent.for(
  variants<[string, Course[]]>([
    ["of a second attempt", [(at) => at.abort()]],
    ["of the only attempt", []],
  ]),
)("two sales %s are found, although one is shown briefly", async ([, before], { open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P", 500);
  for (const course of before) await shop.pay("A", PRICE, course);
  const sales = [terminal.next(PRICE), terminal.next(PRICE)] as const;
  await shop.pay(
    "A",
    PRICE,
    losesLine(() => {
      for (const sale of sales) terminal.book(sale, "A");
      let probes = 0;
      terminal.repeat = () => {
        probes += 1;
        return probes <= 2 ? sales[0] : sales[1];
      };
    }),
  );
  expect(await shop.known("A")).toMatchObject({ charged: "yes", charges: 2 });
  expect(await shop.alarmsOf("A")).toContain("order-charged-twice");
});

variantTest.concurrent(
  "another amount that is shown while an older order is asked about raises an alarm",
  async ({ open }) => {
    const shop = await open();
    const { terminal } = shop;
    await shop.sell("P", 500);
    const former = terminal.stored;
    await shop.pay("A", PRICE, async (at) => {
      await at.report(terminal.book(terminal.next(PRICE)));
      terminal.repeat = () => former;
      await at.print("SUMME 23.45");
      at.hangUp();
    });
    await shop.asked("A");
    await shop.pay("B", PRICE, async (at) => {
      const record = terminal.next(PRICE + 50);
      await at.abort();
      terminal.book(record);
      terminal.repeat = () => terminal.stored;
    });
    await shop.pay("A");
    await shop.alarmsOf("B");
  },
);

variantTest.concurrent("a charged second attempt is unknown when staff sell", async ({ open }) => {
  const shop = await open({ shared: true });
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, (at) => at.abort());
  await shop.pay(
    "A",
    PRICE,
    losesLine((terminal) => terminal.book(terminal.next(PRICE))),
  );
  await shop.asked("A");
  await shop.asked("A");
  expect(await shop.known("A")).toMatchObject({ charged: "unknown", charges: 1 });
  expect(shop.alarms("A")).not.toContain("order-charged-twice");
});
