import { expect } from "vitest";
import { type LyingTerminal, tells } from "./lying-terminal.ts";
import { type Shop, shopTest } from "./shop.ts";

/** The terminal told B a result that another order had: it is not taken, and B is in doubt. */
async function expectRefused(shop: Shop, told: LyingTerminal["stored"]): Promise<void> {
  const { one } = await shop.at.call("GET", "/payment/B");
  expect(shop.terminal.refused).toEqual([told]);
  expect(one.status).not.toBe("Success");
  expect(await shop.known("B")).toMatchObject({
    ...{ charged: expect.toBeOneOf(["unknown", "no"]), commands: 1, charges: 0 },
  });
  await shop.alarmsOf("B");
  await shop.expectSound();
}

shopTest.concurrent.for([
  ["refuses to repeat", () => 0xa0],
  ["repeats without the time", ({ stored }: LyingTerminal) => stored && { ...stored, time: null }],
] as const)("F4: a report again, of a terminal that %s", async ([, repeat], { open }) => {
  const shop = await open();
  await shop.sell("A");
  const told = shop.terminal.stored;
  shop.terminal.repeat = () => repeat(shop.terminal);
  const { one } = await shop.pay("B", undefined, tells(told));
  expect([one.status, one.error?.charged]).toEqual(["Unknown", "unknown"]);
  await expectRefused(shop, told);
});

shopTest.concurrent("F10: the report of the last sale but one again", async ({ open }) => {
  const shop = await open();
  await shop.sell("A");
  const told = shop.terminal.stored;
  await shop.sell("C", 1_300);
  const { one } = await shop.pay("B", undefined, tells(told));
  expect([one.status, one.error?.charged]).toEqual(["Unknown", "unknown"]);
  await expectRefused(shop, told);
});

shopTest.concurrent("F10: the report of a reversed sale again", async ({ open }) => {
  const shop = await open();
  await shop.sell("A");
  const told = shop.terminal.stored;
  expect((await shop.reverse("A")).one.status).toBe("Reversed");
  const { one } = await shop.pay("B", undefined, tells(told));
  expect([one.status, one.error?.charged]).toEqual(["Unknown", "unknown"]);
  await expectRefused(shop, told);
});
