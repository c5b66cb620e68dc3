import { expect } from "vitest";
import { abortsYetStores, type Course } from "./dialogue.ts";
import { PRICE, shopTest } from "./shop.ts";
import type { Till } from "./till.ts";

const byReceipt = (terminal: Till): void => {
  const less = { trace: null, date: null, time: null };
  terminal.repeat = () => terminal.stored && { ...terminal.stored, ...less };
};
/** Staff close the day at the terminal's own keys; its numbers begin again. */
const staffCloses = (terminal: Till): void => {
  terminal.stored = null;
  terminal.receipt = 411;
};

/** The terminal says that it did not work, and gives the money back all the same. */
const abortsYetReverses: Course = async (at) => {
  const booked = at.terminal.reversalOf(at.receipt);
  await at.abort();
  at.terminal.bank.push(booked);
  at.terminal.stored = booked.told;
};

shopTest.concurrent("a reversal that was carried out, and a look is refused", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("A");
  terminal.reversal = abortsYetReverses;
  expect((await shop.reverse("A")).one.error?.code).toBe("REVERSAL_REFUSED");
  terminal.repeat = () => 0xa0;
  expect((await shop.reverse("A")).one.error?.code).toBe("REVERSAL_NOT_SAFE");
  expect(terminal.count("A", "money back")).toBe(1);
});

shopTest.concurrent("staff close, and honest sales are told by receipt", async ({ open }) => {
  const shop = await open({}, byReceipt);
  await shop.sell("P", 300);
  await shop.sell("Q", 400);
  staffCloses(shop.terminal);
  await shop.sell("A", 500);
  await shop.sell("B", 600);
});

shopTest.concurrent("an aborted sale that is kept, by a clock two days ahead", async ({ open }) => {
  const shop = await open();
  const { terminal } = shop;
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores(terminal.moment(2 * 86_400_000)));
  await shop.asked("A");
  await shop.alarmsOf("A");
});
