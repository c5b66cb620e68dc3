import { expect } from "vitest";
import { until } from "../../support/programs/child-program.ts";
import { abortsYetStores, type Course, losesLine } from "./dialogue.ts";
import { PRICE, type Shop, shopTest, variants, variantTest } from "./shop.ts";
import type { Till } from "./till.ts";

/** The sale that was kept is the order's: no second one leaves, and a person hears of the order. */
async function expectFound(shop: Shop): Promise<void> {
  await shop.asked("A");
  const { charged, commands, charges } = await shop.known("A");
  expect([commands, charges]).toEqual([1, 1]);
  expect(charged).toBeOneOf(["unknown", "yes"]);
  await shop.alarmsOf("A");
  expect(shop.alarms()).not.toContain("journal-lost");
}

shopTest.concurrent("a kept aborted sale is found without a baseline", async ({ open }) => {
  const shop = await open();
  await shop.sell("P", 500);
  shop.terminal.repeat = () => 0xa0;
  await shop.pay("A", PRICE, abortsYetStores());
  shop.terminal.repeat = () => shop.terminal.stored;
  await expectFound(shop);
});

shopTest.concurrent.for(
  variants<[string, Course]>([
    ["declined", (at) => at.abort(0x05)],
    ["aborted", (at) => at.abort()],
    ["lost", losesLine()],
  ]),
)("a sale from before makes the first order unknown, when %s", async ([, course], { open }) => {
  const shop = await open({}, (terminal) => {
    terminal.sellByStaff(PRICE);
    terminal.repeat = () => 0xa0;
  });
  await shop.pay("A", PRICE, course);
  shop.terminal.repeat = () => shop.terminal.stored;
  await shop.pay("B", 500);
  await shop.alarmsOf("A");
  expect((await shop.known("A")).charged).toBe("unknown");
});

variantTest.concurrent.for(
  variants([
    ["its receipt number alone", { trace: null, date: null, time: null }],
    ["its moment alone", { receipt: null, trace: null }],
  ] as const),
)("a kept aborted sale is found when reported by %s", async ([, less], { open }) => {
  const shop = await open({}, (terminal) => {
    terminal.repeat = () => terminal.stored && { ...terminal.stored, ...less };
  });
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores());
  await expectFound(shop);
});

variantTest.concurrent("an aborted sale stored after another sale is found", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P", 500);
  const late = terminal.next(PRICE);
  await shop.pay("A", PRICE, (at) => at.abort());
  await shop.sell("B", 700);
  terminal.book(late, "A");
  await expectFound(shop);
});

shopTest.concurrent("a kept aborted sale delays the end of day and is found", async ({ open }) => {
  const shop = await open();
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores());
  const closed = await shop.at.call("POST", "/tlc");
  expect(closed.one.error?.code).toBe("TERMINAL_IN_DOUBT");
  await expectFound(shop);
});

shopTest.concurrent("a kept sale of one of two orders makes both unknown", async ({ open }) => {
  const shop = await open();
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, (at) => at.abort());
  await shop.killedPaying("B", (terminal) => terminal.book(terminal.next(PRICE), "A"));
  expect((await shop.known("A")).charged).toBe("unknown");
  expect((await shop.known("B")).charged).toBe("unknown");
  await shop.alarmsOf("A");
});

variantTest.concurrent("a baseline shown with another time charges nothing", async ({ open }) => {
  const shop = await open({}, (terminal) => {
    terminal.book(terminal.next(PRICE), "staff");
  });
  const { terminal } = shop;
  await shop.pay("A", PRICE, (at) => at.abort());
  terminal.repeat = () => ({ ...terminal.last, ...terminal.moment(60_000) });
  await shop.asked("A");
  expect((await shop.known("A")).status).not.toBe("Success");
});

shopTest.concurrent("a cancelled sale kept over another amount is an alarm", async ({ open }) => {
  const shop = await open();
  await shop.sell("P", 500);
  const begun = Promise.withResolvers<void>();
  const paying = shop.pay("A", PRICE, async (at) => {
    begun.resolve();
    await at.cancelled;
    const record = at.terminal.next(PRICE + 50);
    await at.abort();
    at.terminal.book(record);
  });
  await begun.promise;
  await shop.at.call("POST", "/cancel", {});
  await paying;
  await shop.asked("A");
  await shop.alarmsOf("A");
  expect(shop.alarms()).not.toContain("journal-lost");
});

variantTest.concurrent("a late report of another amount raises an alarm", async ({ open }) => {
  const shop = await open();
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, async (at) => {
    const record = at.terminal.next(PRICE + 50);
    await at.abort();
    await at.report(at.terminal.book(record));
  });
  await shop.asked("A");
  await shop.alarmsOf("A");
  expect(shop.alarms()).not.toContain("journal-lost");
});

shopTest.concurrent("a sale is not lost if only its report shows its number", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P", 500);
  const former = terminal.stored;
  await shop.pay("A", PRICE, async (at) => {
    const record = terminal.next(PRICE);
    terminal.receipt -= 1;
    await at.report(terminal.book(record));
    terminal.repeat = () => former;
    await at.print("SUMME 23.45");
    at.hangUp();
  });
  await shop.sell("B", 700);
  terminal.repeat = () => terminal.stored;
  await shop.asked("A");
  expect(await shop.known("A")).toMatchObject({ commands: 1, charges: 1 });
  await shop.expectSound();
});

shopTest.concurrent("a sale after a lost line is charged without a report", async ({ open }) => {
  const shop = await open();
  await shop.sell("P");
  await shop.pay(
    "A",
    PRICE,
    losesLine((terminal) => terminal.book(terminal.next(PRICE))),
  );
  expect(await shop.known("A")).toMatchObject({ status: "Success", commands: 1, charges: 1 });
});

/** A known sale that is reported in another form proves no current sale. */
async function expectNotTaken(shop: Shop): Promise<void> {
  expect(await shop.known("A")).toEqual({
    status: "Unknown",
    charged: "unknown",
    commands: 1,
    charges: 0,
  });
  await shop.alarmsOf("A");
}

variantTest.concurrent("after a kill a renumbered old sale charges nothing", async ({ open }) => {
  const shop = await open();
  await shop.sell("P");
  await shop.killedPaying("A", (terminal) => {
    const record = terminal.last;
    terminal.repeat = () => ({ ...record, receipt: "0413", trace: "070514" });
  });
  await expectNotTaken(shop);
});

shopTest.concurrent.for(
  variants<[string, (terminal: Till) => object]>([
    ["as it was", () => ({})],
    ["with another time", (terminal) => terminal.moment(60_000)],
  ]),
)("the last sale but one is not taken for a lost one, %s", async ([, change], { open }) => {
  const shop = await open();
  await shop.sell("P");
  const record = shop.terminal.last;
  await shop.sell("C", 1_300);
  const reportsAgain = (terminal: Till): void => {
    const changed = { ...record, ...change(terminal) };
    terminal.repeat = () => changed;
  };
  await shop.pay("A", PRICE, losesLine(reportsAgain));
  await expectNotTaken(shop);
});

variantTest.concurrent("before a retry a renumbered old sale charges nothing", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P");
  const changed = { ...terminal.last, receipt: "0413", trace: "070514" };
  await shop.pay("A", PRICE, (at) => at.abort());
  terminal.repeat = () => changed;
  await shop.asked("A");
  await shop.expectSound();
});

/** The money goes back, and nobody hears of it. */
const goesBackUnseen: Course = (at) => {
  at.terminal.bank.push(at.terminal.reversalOf(at.receipt));
  return at.waits();
};

shopTest.concurrent("a reversal cut off by a kill leaves its order unknown", async ({ open }) => {
  const shop = await open();
  await shop.sell("A");
  const begun = Promise.withResolvers<void>();
  shop.terminal.reversal = (at) => {
    begun.resolve();
    return goesBackUnseen(at);
  };
  await Promise.all([
    expect(shop.reverse("A")).rejects.toThrow(),
    begun.promise.then(() => shop.restart()),
  ]);
  await expectNotTaken(shop);
});

shopTest.concurrent("an older reversal's report reverses no other sale", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("A");
  const nameless = { originalTrace: null, card: null };
  terminal.reversal = async (at) => {
    const { record, ...booked } = terminal.reversalOf(at.receipt);
    terminal.stored = { ...record, ...nameless };
    terminal.bank.push({ ...booked, record });
    await at.report(terminal.stored);
    await at.complete();
  };
  expect((await shop.reverse("A")).one.status).toBe("Reversed");
  const record = terminal.last;
  await shop.sell("B");
  terminal.reversal = async (at) => {
    await at.report(record);
    await at.complete();
  };
  await shop.reverse("B");
  expect((await shop.known("B")).charged).toBeOneOf(["unknown", "yes"]);
  await shop.alarmsOf("B");
});

variantTest.concurrent("a lost reversal is disproved if reversals are shown", async ({ open }) => {
  const shop = await open();
  await shop.sell("A");
  expect((await shop.reverse("A")).one.status).toBe("Reversed");
  await shop.sell("B");
  shop.terminal.reversal = losesLine();
  await shop.reverse("B");
  expect(await shop.known("B")).toMatchObject({ status: "Success", charges: 1 });
});

shopTest.concurrent("a sale that belongs to no order raises an alarm", async ({ open }) => {
  const shop = await open();
  await shop.sell("P");
  shop.terminal.sellByStaff(1_700);
  await shop.sell("A");
  expect(shop.alarms()).toContain("unmatched-transaction");
  // The terminal had shown a known sale since the start: the journal has lost nothing.
  expect(shop.alarms()).not.toContain("journal-lost");
});

variantTest.concurrent("a staff sale before a start may show a lost journal", async ({ open }) => {
  const shop = await open();
  await shop.sell("P");
  await shop.restart();
  shop.terminal.sellByStaff(1_700);
  await shop.pay("A");
  await until("the alarm", () => shop.alarms().includes("journal-lost") || undefined);
});
