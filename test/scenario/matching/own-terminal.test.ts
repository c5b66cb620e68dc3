import { expect } from "vitest";
import { abortsYetStores, type Course, losesLine } from "./dialogue.ts";
import { PRICE, shopTest, variantTest } from "./shop.ts";
import type { Till } from "./till.ts";
import type { TerminalRecord } from "./zvt-line.ts";

const unknown = { status: "Unknown", charged: "unknown", commands: 1 };
const charged = { status: "Success", charged: "yes", commands: 1, charges: 1 };

shopTest.concurrent("F1b: a kept aborted sale is found after 25 refusals", async ({ open }) => {
  const shop = await open({ whole: true });
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores());
  await shop.refuseRequests(25);
  await shop.asked("A");
  expect(await shop.known("A")).toEqual(charged);
  expect(await shop.alarmsOf("A")).toContain("charged-late");
  expect(shop.alarms()).not.toContain("journal-lost");
});

shopTest.concurrent("F2: a repeated order waits for the probe of its sale", async ({ open }) => {
  const shop = await open();
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores());
  const answers = await shop.answers("A");
  expect(answers.map(({ one }) => one.error?.charged ?? "yes")).not.toContain("no");
  expect(await shop.known("A")).toEqual(charged);
});

variantTest.concurrent("F6: the old sale with other numbers charges nothing", async ({ open }) => {
  const shop = await open();
  await shop.sell("P");
  const retold = { ...shop.terminal.last, receipt: "0413", trace: "070514" };
  await shop.pay("A", PRICE, losesLine(showing(retold)));
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 0 });
  await shop.alarmsOf("A");
});

variantTest.concurrent("F6: the old sale with another time charges nothing", async ({ open }) => {
  const shop = await open();
  await shop.sell("P");
  const retold = { ...shop.terminal.last, ...shop.terminal.moment(3 * 60_000) };
  await shop.pay("A", PRICE, losesLine(showing(retold)));
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 0 });
  await shop.alarmsOf("A");
});

variantTest.concurrent("F7: a sale is not lost when the numbers wrap to 0000", async ({ open }) => {
  const shop = await open({}, (terminal) => {
    terminal.receipt = 9_998;
  });
  const { terminal } = shop;
  await shop.sell("P", 500);
  const former = terminal.stored;
  await shop.pay("A", PRICE, async (at) => {
    const record = terminal.next(PRICE, { receipt: "0000" });
    terminal.receipt = 0;
    await at.report(record);
    terminal.book(record);
    terminal.repeat = () => former;
    await at.print("SUMME 23.45");
    at.hangUp();
  });
  await shop.sell("B", 700);
  terminal.repeat = () => terminal.stored;
  expect(terminal.stored?.receipt).toBe("0001");
  expect((await shop.known("A")).charged).toBeOneOf(["unknown", "yes"]);
  await shop.asked("A");
  expect(await shop.known("A")).toMatchObject({ commands: 1, charges: 1 });
});

variantTest.concurrent("F8: a sale kept over another amount raises an alarm", async ({ open }) => {
  const shop = await open({ whole: true });
  await shop.sell("P", 500);
  await shop.pay("A", PRICE, abortsYetStores({ amountMinor: PRICE + 50 }));
  await shop.asked("A");
  await shop.alarmsOf("A");
  expect(shop.alarms()).not.toContain("journal-lost");
});

variantTest.concurrent("F9: a lost reversal and a stale storage stay unknown", async ({ open }) => {
  const shop = await open();
  await shop.sell("A");
  shop.terminal.reversal = goesBackUnseen;
  await shop.reverse("A");
  expect(await shop.known("A")).toEqual({ ...unknown, charges: 0 });
  await shop.alarmsOf("A");
});

variantTest.concurrent(
  "F11b: a kept aborted sale is found when it is reported without time",
  async ({ open }) => {
    const shop = await open({ whole: true }, (terminal) => {
      terminal.repeat = () => terminal.stored && { ...terminal.stored, date: null, time: null };
    });
    await shop.sell("P", 500);
    await shop.pay("A", PRICE, abortsYetStores());
    await shop.asked("A");
    expect(await shop.known("A")).toMatchObject({ commands: 1, charges: 1 });
    expect((await shop.known("A")).charged).toBeOneOf(["unknown", "yes"]);
    await shop.alarmsOf("A");
    expect(shop.alarms()).not.toContain("journal-lost");
  },
);

/** From now on Repeat Receipt answers with this record. */
const showing =
  (record: TerminalRecord) =>
  (terminal: Till): void => {
    terminal.repeat = () => record;
  };

/** The money goes back, the line is lost, and the terminal goes on reporting the sale. */
const goesBackUnseen: Course = (at) => {
  at.terminal.bank.push(at.terminal.reversalOf(at.receipt));
  at.hangUp();
  return Promise.resolve();
};
