import { expect } from "vitest";
import { rowsOf } from "../../support/run/scope.ts";
import { reports } from "./dialogue.ts";
import { PRICE, type Shop, shopTest, variants, variantTest } from "./shop.ts";
import type { Till } from "./till.ts";
import type { TerminalRecord } from "./zvt-line.ts";

/** Another transaction's result for an order leaves it in doubt, and the result is not taken. */
async function expectRefused(shop: Shop, record: TerminalRecord, orderId = "B"): Promise<void> {
  const { one } = await shop.pay(orderId, PRICE, reports(record));
  expect([one.status, one.error?.charged]).toEqual(["Unknown", "unknown"]);
  expect(shop.terminal.refused.at(-1)).toEqual(record);
  expect(await shop.known(orderId)).toMatchObject({
    charged: expect.toBeOneOf(["unknown", "no"]),
    commands: 1,
    charges: 0,
  });
  await shop.alarmsOf(orderId);
  await shop.expectSound();
}

shopTest.concurrent.for(
  variants<[string, (terminal: Till) => TerminalRecord | number]>([
    ["refuses to repeat", () => 0xa0],
    ["repeats without the time", ({ last }) => ({ ...last, time: null })],
  ]),
)("F4: a repeated report is refused, of a terminal that %s", async ([, repeat], { open }) => {
  const shop = await open();
  await shop.sell("A");
  shop.terminal.repeat = () => repeat(shop.terminal);
  await expectRefused(shop, shop.terminal.last);
});

variantTest.concurrent(
  "F10: the last sale but one, reported again, is refused",
  async ({ open }) => {
    const shop = await open();
    await shop.sell("A");
    const record = shop.terminal.last;
    await shop.sell("C", 1_300);
    await expectRefused(shop, record);
  },
);

shopTest.concurrent("F10: a reversed sale, reported again, is refused", async ({ open }) => {
  const shop = await open();
  await shop.sell("A");
  const record = shop.terminal.last;
  expect((await shop.reverse("A")).one.status).toBe("Reversed");
  await expectRefused(shop, record);
});

variantTest.concurrent(
  "the last sale but one, reported again after a kill, is refused",
  async ({ open }) => {
    const shop = await open();
    await shop.sell("A");
    const record = shop.terminal.last;
    await shop.sell("C", 1_300);
    await shop.restart();
    await expectRefused(shop, record);
  },
);

shopTest.concurrent("a sale in doubt, reported again, is refused", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P", 500);
  const former = terminal.last;
  await shop.pay("A", PRICE, async (at) => {
    await at.report(terminal.book(terminal.next(PRICE)));
    terminal.repeat = () => former;
    await at.print("SUMME 23.45");
    at.hangUp();
  });
  await shop.quiet();
  await expectRefused(shop, terminal.last);
});

/** Forms of a repeated result; a result of another amount is repeated with the current amount. */
const retellings: ReadonlyArray<readonly [amountMinor: number, change: Partial<TerminalRecord>]> = [
  [PRICE, {}],
  [PRICE, { date: null, time: null }],
  [PRICE, { receipt: null, trace: null }],
  [PRICE, { receipt: null, date: null, time: null }],
  [900, { amountMinor: PRICE }],
];

shopTest.concurrent("the last sale, reported again, is refused in any form", async ({ open }) => {
  const shop = await open();
  for (const [number, [amountMinor, change]] of rowsOf(retellings, 2).entries()) {
    await shop.sell(`A-${number}`, amountMinor);
    await expectRefused(shop, { ...shop.terminal.last, ...change }, `B-${number}`);
  }
});

variantTest.concurrent(
  "the last sale but one, reported again, is refused in every form",
  async ({ open }) => {
    const shop = await open();
    for (const [number, [amountMinor, change]] of retellings.entries()) {
      await shop.sell(`A-${number}`, amountMinor);
      const record = { ...shop.terminal.last, ...change };
      await shop.sell(`C-${number}`, 1_300);
      await expectRefused(shop, record, `B-${number}`);
    }
  },
);

shopTest.concurrent("an older report before the right one is not taken", async ({ open }) => {
  const shop = await open();
  await shop.sell("A");
  const record = shop.terminal.last;
  await shop.sell("C", 1_300);
  await shop.pay("B", PRICE, async (at) => {
    await at.report(record);
    const own = at.terminal.next(PRICE);
    if (!(await at.report(own))) return await at.abort();
    at.terminal.book(own);
    await at.complete();
  });
  await shop.expectSound();
});

variantTest.concurrent("an older report before a lost line is not taken", async ({ open }) => {
  const shop = await open();
  await shop.sell("A");
  const record = shop.terminal.last;
  await shop.sell("C", 1_300);
  await shop.pay("B", PRICE, async (at) => {
    await at.report(record);
    await at.print("SUMME 23.45");
    at.hangUp();
  });
  await shop.expectSound();
});

variantTest.concurrent("an older report after an abort is refused", async ({ open }) => {
  const shop = await open();
  await shop.sell("A");
  const record = shop.terminal.last;
  await shop.sell("C", 1_300);
  await shop.pay("B", PRICE, async (at) => {
    await at.abort();
    await at.report(record);
  });
  expect(shop.terminal.refused).toEqual([record]);
  await shop.sell("B");
  await shop.expectSound();
});

shopTest.concurrent("an older report in a two-phase sale is refused", async ({ open }) => {
  const shop = await open({}, (terminal) => {
    terminal.isVending = true;
  });
  const { terminal } = shop;
  await shop.sell("A");
  const record = terminal.last;
  await shop.sell("C", 1_300);
  terminal.customer = "B";
  terminal.courses.push(reports(record));
  const { one } = await shop.at.pay(PRICE / 100, "B", { delivery: { withinSeconds: 5 } });
  expect(one.status).toBe("Unknown");
  expect(terminal.refused).toEqual([record]);
});
