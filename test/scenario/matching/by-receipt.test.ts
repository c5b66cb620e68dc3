import { expect } from "vitest";
import { abortsYetStores, losesLine } from "./dialogue.ts";
import { PRICE, type Shop, shopTest, variants, variantTest } from "./shop.ts";
import type { Till } from "./till.ts";

/** Probes show the receipt number, and neither trace nor moment. */
const byReceipt = (terminal: Till): void => {
  const less = { trace: null, date: null, time: null };
  terminal.repeat = () => terminal.stored && { ...terminal.stored, ...less };
};
/** Staff close the day at the terminal's own keys; its numbers begin again. */
const staffCloses = (terminal: Till): void => {
  terminal.stored = null;
  terminal.receipt = 411;
};

/** The next probe is refused; those after it are answered as before. */
function refusesOneProbe(terminal: Till): void {
  const { repeat } = terminal;
  terminal.repeat = () => {
    terminal.repeat = repeat;
    return 0xa0;
  };
}

/** A was aborted, and its sale is kept as receipt 0412, as that of P was. */
async function expectOnce(shop: Shop, charged: "yes" | "unknown"): Promise<void> {
  expect(shop.terminal.last.receipt).toBe("0412");
  await shop.asked("A");
  await shop.alarmsOf("A");
  expect(await shop.known("A")).toMatchObject({ charged, commands: 1, charges: 1 });
  await shop.expectSound();
}

shopTest.concurrent("a kept sale is found when an older sale has its number", async ({ open }) => {
  const shop = await open({}, byReceipt);
  await shop.sell("P");
  await shop.sell("Q", 700);
  staffCloses(shop.terminal);
  await shop.pay("A", PRICE, abortsYetStores());
  await expectOnce(shop, "yes");
});

variantTest.concurrent("a kept sale is found by the number of the last sale", async ({ open }) => {
  const shop = await open({}, byReceipt);
  await shop.sell("P");
  staffCloses(shop.terminal);
  await shop.pay("A", PRICE, abortsYetStores());
  await expectOnce(shop, "yes");
});

shopTest.concurrent.for(variants([true, false]))(
  "a kept sale with an earlier number is unknown after a refused probe, just after it: %s",
  async (isNext, { open }) => {
    const shop = await open({}, byReceipt);
    await shop.sell("P");
    if (!isNext) await shop.sell("Q", 700);
    staffCloses(shop.terminal);
    refusesOneProbe(shop.terminal);
    await shop.pay("A", PRICE, abortsYetStores());
    await expectOnce(shop, "unknown");
  },
);

variantTest.concurrent(
  "a kept sale with an old number is unknown when shared",
  async ({ open }) => {
    const shop = await open({ shared: true }, byReceipt);
    await shop.sell("P");
    await shop.sell("Q", 700);
    staffCloses(shop.terminal);
    await shop.pay("A", PRICE, abortsYetStores());
    await expectOnce(shop, "unknown");
  },
);

variantTest.concurrent(
  "a kept sale with an earlier number raises an alarm after our end of day",
  async ({ open }) => {
    const shop = await open({}, byReceipt);
    await shop.sell("P");
    expect((await shop.at.call("POST", "/tlc")).http).toBe(200);
    await shop.quiet();
    staffCloses(shop.terminal);
    await shop.pay("A", PRICE, abortsYetStores());
    await shop.asked("A");
    await shop.alarmsOf("A");
    await shop.expectSound();
  },
);

// The probed record equals what P had reported, and is another transaction.
shopTest.concurrent("a kept sale with a number in doubt is charged only once", async ({ open }) => {
  const shop = await open({}, byReceipt);
  const { terminal } = shop;
  await shop.sell("O", 300);
  await shop.pay("P", PRICE, async (at) => {
    await at.report(terminal.next(PRICE));
    at.hangUp();
  });
  await shop.quiet();
  await shop.sell("Q", 700);
  staffCloses(terminal);
  terminal.receipt = 412;
  await shop.pay("A", PRICE, abortsYetStores());
  expect(terminal.last.receipt).toBe("0413");
  await shop.asked("A");
  await shop.quiet();
  await shop.expectSound();
});

variantTest.concurrent("a lost sale kept under an old number raises an alarm", async ({ open }) => {
  const shop = await open({}, byReceipt);
  const { terminal } = shop;
  await shop.sell("P");
  await shop.sell("Q", 700);
  staffCloses(terminal);
  await shop.pay(
    "A",
    PRICE,
    losesLine(() => terminal.book(terminal.next(PRICE))),
  );
  await shop.alarmsOf("A");
  await shop.asked("A");
  await shop.expectSound();
});

shopTest.concurrent("real aborts after a sale of that price raise no alarm", async ({ open }) => {
  const shop = await open({}, byReceipt);
  await shop.sell("O", 700);
  await shop.sell("P");
  await shop.pay("A", PRICE, (at) => at.abort());
  await shop.pay("A", PRICE, (at) => at.abort());
  await shop.sell("A");
  await shop.sell("B");
  expect(shop.alarms()).toEqual([]);
  await shop.expectSound();
});

variantTest.concurrent("a kept sale with a number of staff raises an alarm", async ({ open }) => {
  const shop = await open({}, byReceipt);
  const { terminal } = shop;
  await shop.sell("O", 500);
  terminal.sellByStaff(PRICE);
  const { receipt } = terminal;
  await shop.asked("A", 700);
  staffCloses(terminal);
  terminal.receipt = receipt - 1;
  await shop.pay("B", PRICE, abortsYetStores());
  expect(Number(terminal.last.receipt)).toBe(receipt);
  await shop.asked("B");
  await shop.alarmsOf("B");
  await shop.expectSound();
});

variantTest.concurrent.for(variants([true, false]))(
  "a kept sale with the number of a late report raises an alarm, shared: %s",
  async (shared, { open }) => {
    const shop = await open({ shared }, byReceipt);
    const { terminal } = shop;
    await shop.sell("O", 500);
    await shop.pay("C", PRICE, async (at) => {
      await at.abort();
      if (shared) terminal.sellByStaff(PRICE);
      else await at.report(terminal.sellByStaff(900));
    });
    const { receipt, amountMinor } = terminal.last;
    await shop.asked("A", 700);
    await shop.quiet();
    await shop.asked("A", 700);
    staffCloses(terminal);
    terminal.receipt = Number(receipt) - 1;
    await shop.pay("B", amountMinor ?? 0, abortsYetStores());
    expect(terminal.last.receipt).toBe(receipt);
    await shop.asked("B", amountMinor ?? 0);
    await shop.alarmsOf("B");
    await shop.expectSound();
  },
);

shopTest.concurrent("sales go on by receipt number after staff close the day", async ({ open }) => {
  const shop = await open({}, byReceipt);
  await shop.sell("P", 300);
  await shop.sell("Q", 400);
  staffCloses(shop.terminal);
  await shop.sell("A", 500);
  await shop.sell("B", 600);
});
