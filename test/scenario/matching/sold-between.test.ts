import { expect } from "vitest";
import { losesLine } from "./dialogue.ts";
import { PRICE, shopTest } from "./shop.ts";

shopTest.concurrent("an honest abort, another sale, then a lost line", async ({ open }) => {
  const shop = await open();
  await shop.sell("P", 500);
  await shop.pay("Q", PRICE, (at) => at.abort());
  await shop.sell("B", 700);
  await shop.pay(
    "A",
    PRICE,
    losesLine((terminal) => terminal.book(terminal.next(PRICE))),
  );
  expect((await shop.known("A")).charged).toBe("yes");
  expect((await shop.known("Q")).charged).toBe("no");
  await shop.expectSound();
});

shopTest.concurrent("a kept sale, another one, then an order in doubt", async ({ open }) => {
  const shop = await open();
  await shop.sell("P", 500);
  const kept = shop.terminal.next(PRICE);
  await shop.pay("Q", PRICE, (at) => at.abort());
  await shop.sell("B", 700);
  await shop.pay(
    "A",
    PRICE,
    losesLine((terminal) => terminal.book(kept, "Q")),
  );
  await shop.quiet();
  expect((await shop.known("A")).charged).not.toBe("yes");
  expect((await shop.known("Q")).charged).not.toBe("no");
  await shop.expectSound();
});
