import { expect } from "vitest";
import { abortsYetStores, approves } from "./dialogue.ts";
import { PRICE, type Shop, shopTest, variants, variantTest } from "./shop.ts";

/** A was aborted and asked again; the returned function has the terminal keep the first sale. */
async function soldAgain(shop: Shop): Promise<() => void> {
  const { terminal } = shop;
  await shop.sell("P", 500);
  const late = terminal.next(PRICE);
  await shop.pay("A", PRICE, (at) => at.abort());
  await shop.sell("A");
  return () => void terminal.book(late, "A");
}

shopTest.concurrent.for(variants([true, false]))(
  "a reversed order whose aborted attempt is charged later raises an alarm, shared: %s",
  async (shared, { open }) => {
    const shop = await open({ shared });
    const keeps = await soldAgain(shop);
    expect((await shop.reverse("A")).one.status).toBe("Reversed");
    keeps();
    await shop.asked("B", 700);
    await shop.alarmsOf("A");
    await shop.expectSound();
    await shop.asked("A");
    await shop.expectSound();
  },
);

shopTest.concurrent(
  "a second reversal does not hide the late charge of an aborted attempt",
  async ({ open }) => {
    const shop = await open();
    const keeps = await soldAgain(shop);
    await shop.reverse("A");
    keeps();
    await shop.asked("B", 700);
    await shop.quiet();
    const { one } = await shop.reverse("A");
    expect([one.status, one.error?.charged]).not.toEqual(["Reversed", "no"]);
    await shop.expectSound();
  },
);

variantTest.concurrent("a silent second sale of a charged order is an alarm", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P", 500);
  await shop.sell("A");
  terminal.book(terminal.next(PRICE), "A");
  await shop.asked("B", 700);
  await shop.alarmsOf("A");
});

shopTest.concurrent("a late second report of a charged order is an alarm", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, async (at) => {
    await approves(at);
    await at.report(terminal.book(terminal.next(PRICE)));
  });
  await shop.alarmsOf("A");
});

shopTest.concurrent.for(variants([true, false]))(
  "a kept sale by a clock two days ahead is not charged again, shared: %s",
  async (shared, { open }) => {
    const shop = await open({ shared });
    const { terminal } = shop;
    await shop.sell("P", 500);
    await shop.pay("A", PRICE, abortsYetStores(terminal.moment(2 * 86_400_000)));
    await shop.asked("A");
    await shop.alarmsOf("A");
    const charged = shared ? "unknown" : "yes";
    expect(await shop.known("A")).toMatchObject({ charged, commands: 1, charges: 1 });
    await shop.expectSound();
  },
);

variantTest.concurrent(
  "a kept sale by yesterday's clock is an alarm before another order",
  async ({ open }) => {
    const shop = await open();
    const { terminal } = shop;
    await shop.sell("P", 500);
    await shop.sell("B", 700);
    await shop.pay("A", PRICE, abortsYetStores(terminal.moment(-86_400_000)));
    await shop.asked("C", 800);
    await shop.asked("A");
    await shop.alarmsOf("A");
    await shop.expectSound();
  },
);
