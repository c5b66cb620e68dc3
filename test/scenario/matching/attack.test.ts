import { expect } from "vitest";
import { abortsYetStores, type Course } from "./dialogue.ts";
import { PRICE, type Shop, shopTest, variants, variantTest } from "./shop.ts";
import type { Till } from "./till.ts";
import type { TerminalRecord } from "./zvt-line.ts";

/** The next probes are answered so; those after them with the truth. */
function showsNext(terminal: Till, ...answers: readonly (TerminalRecord | number | null)[]): void {
  let count = 0;
  terminal.repeat = () => {
    const answer = answers[count];
    count += 1;
    return answer === undefined ? terminal.stored : answer;
  };
}

async function closesDay(shop: Shop): Promise<void> {
  expect((await shop.at.call("POST", "/tlc")).http).toBe(200);
  await shop.quiet();
}

/** The reversal of A is refused: no money of anybody goes back. */
async function expectNotReversed(shop: Shop): Promise<void> {
  const { terminal } = shop;
  expect((await shop.reverse("A")).one.error?.charged).toBe("yes");
  expect([terminal.reversed, terminal.bank.filter(({ kind }) => kind !== "charge")]).toEqual([
    [],
    [],
  ]);
}

/** The terminal says that it did not work, and gives the money back all the same. */
const abortsYetReverses: Course = async (at) => {
  const booked = at.terminal.reversalOf(at.receipt);
  await at.abort();
  at.terminal.bank.push(booked);
  at.terminal.stored = booked.record;
};

shopTest.concurrent("no reversal by a number that an aborted sale has too", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("A");
  await shop.sell("C", 700);
  await closesDay(shop);
  terminal.receipt = 411;
  await shop.pay("D", PRICE, abortsYetStores());
  terminal.repeat = () => 0xa0;
  await expectNotReversed(shop);
  terminal.repeat = () => terminal.stored;
  await expectNotReversed(shop);
  await shop.asked("D");
  expect(await shop.known("D")).toMatchObject({ charged: "yes", commands: 1, charges: 1 });
  await shop.expectSound();
});

variantTest.concurrent("no reversal by a number that a hidden staff sale has", async ({ open }) => {
  const shop = await open({ shared: true });
  const { terminal } = shop;
  await shop.sell("A");
  await shop.sell("C", 700);
  terminal.receipt = 411;
  terminal.sellByStaff(PRICE);
  showsNext(terminal, 0xa0);
  await shop.sell("B", 900);
  await expectNotReversed(shop);
  await shop.expectSound();
});

variantTest.concurrent("a sale is found whose number came before the closing", async ({ open }) => {
  const shop = await open({}, (terminal) => {
    const less = { trace: null, date: null, time: null };
    terminal.repeat = () => terminal.stored && { ...terminal.stored, ...less };
  });
  await shop.sell("P");
  await closesDay(shop);
  shop.terminal.receipt = 411;
  await shop.pay("A", PRICE, abortsYetStores());
  expect(shop.terminal.last.receipt).toBe("0412");
  await shop.asked("A");
  expect(await shop.known("A")).toMatchObject({ charged: "yes", commands: 1, charges: 1 });
  await shop.alarmsOf("A");
});

variantTest.concurrent(
  "the kept sale of the first of three attempts is found",
  async ({ open }) => {
    const shop = await open();
    const { terminal } = shop;
    await shop.sell("P", 500);
    const late = terminal.next(PRICE);
    for (let attempt = 1; attempt <= 3; attempt += 1)
      await shop.pay("A", PRICE, (at) => at.abort());
    terminal.book(late, "A");
    await shop.asked("A");
    expect(await shop.known("A")).toMatchObject({ charged: "yes", commands: 3, charges: 1 });
    await shop.alarmsOf("A");
  },
);

shopTest.concurrent("a lost reversal is proved by the next payment's report", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("A");
  const sale = terminal.last;
  terminal.reversal = (at) => {
    const booked = terminal.reversalOf(at.receipt);
    terminal.bank.push(booked);
    terminal.stored = booked.record;
    terminal.repeat = () => sale;
    at.hangUp();
    return Promise.resolve();
  };
  await shop.reverse("A");
  await shop.pay("B", PRICE, async (at) => {
    await at.report(terminal.last);
    await at.complete();
  });
  terminal.repeat = () => terminal.stored;
  await shop.asked("B");
  await shop.expectSound();
  expect((await shop.known("A")).status).toBe("Reversed");
});

shopTest.concurrent("a kept sale is found although a kill cut its probe off", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores());
  const arrived = Promise.withResolvers<void>();
  terminal.repeat = () => {
    arrived.resolve();
    return terminal.stored;
  };
  const paying = shop.at.pay(PRICE / 100, "A").catch(() => {});
  await arrived.promise;
  await shop.restart(() => showsNext(terminal, 0xa0));
  await paying;
  await shop.asked("A");
  expect(await shop.known("A")).toMatchObject({ charged: "yes", commands: 1, charges: 1 });
});

shopTest.concurrent.for(variants([true, false]))(
  "an order stays unknown whose kept sale is shown once, then nothing, shared: %s",
  async (shared, { open }) => {
    const shop = await open({ shared });
    const { terminal } = shop;
    await shop.sell("P", 500);
    await shop.pay("A", PRICE, abortsYetStores());
    showsNext(terminal, terminal.last, null, null, 0xa0, 0xa0, 0xa0);
    await shop.asked("A");
    await shop.asked("A");
    expect(await shop.known("A")).toMatchObject({ charged: "unknown", commands: 1, charges: 1 });
    await shop.alarmsOf("A");
    terminal.repeat = () => terminal.stored;
    await shop.sell("B", 700);
  },
);

shopTest.concurrent("a late second charge of an order raises an alarm", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P", 500);
  const late = terminal.next(PRICE);
  await shop.pay("A", PRICE, (at) => at.abort());
  await shop.sell("A");
  await shop.sell("C", 700);
  terminal.book(late, "A");
  await shop.asked("D", 800);
  expect(await shop.alarmsOf("A")).toContain("order-charged-twice");
});

shopTest.concurrent("a reversal carried out despite a refusal is not resent", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("A");
  terminal.reversal = abortsYetReverses;
  expect((await shop.reverse("A")).one.error?.code).toBe("REVERSAL_REFUSED");
  terminal.repeat = () => 0xa0;
  expect((await shop.reverse("A")).one.error?.code).toBe("REVERSAL_NOT_SAFE");
  expect(terminal.count("A", "money back")).toBe(1);
});
