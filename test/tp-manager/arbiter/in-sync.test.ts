import { expect, test } from "vitest";
import { house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { baseline, declined, earlierReport, report } from "../../support/terminals/reports.ts";
import { approves, lost, type PayScript } from "../../support/terminals/scripted-terminal.ts";

const declines: PayScript = (_order, observer) => {
  observer.report(declined());
  const said = { code: "05", text: "do not honour", reason: "declined", ticket: "" } as const;
  return Promise.resolve({ end: "aborted", ...said });
};

const before = { ...baseline, last: { kind: "transaction", report: report() } } as const;

async function afterOneSale(isShared = false) {
  const at = house(undefined, undefined, { isShared });
  expect(outcome(await pay(at, request("A-1")))).toBe("Success");
  at.terminal.baseline = before;
  return at;
}

test("the terminal hears that both know the same when its last sale is our last one", async () => {
  const at = await afterOneSale();
  at.terminal.script = declines;
  expect(outcome(await pay(at, request("A-2")))).toBe("Declined");
  at.terminal.script = approves;
  await pay(at, request("A-3"));
  expect(at.terminal.inSyncAnswers).toEqual([false, true, true]);
});

test("not when it has another one, older or newer", async () => {
  const at = await afterOneSale(true);
  for (const other of [earlierReport, report({ receiptNumber: "0003" })]) {
    at.terminal.baseline = { ...before, last: { kind: "transaction", report: other } };
    await pay(at, request(`other-${other.receiptNumber}`));
    expect(at.terminal.inSyncAnswers.at(-1)).toBe(false);
  }
});

test("not while an earlier payment is unknown, though sales go on", async () => {
  const at = await afterOneSale();
  at.terminal.script = () => Promise.resolve(lost("line broken"));
  at.terminal.last = { kind: "not-told", why: "bare completion" };
  expect(outcome(await pay(at, request("A-2")))).toBe("Unknown");
  at.terminal.script = approves;
  await pay(at, request("A-3"));
  expect(at.terminal.inSyncAnswers.at(-1)).toBe(false);
});

test("not after a reversal: what the terminal has last is not a sale of ours", async () => {
  const at = await afterOneSale();
  await at.afterSale.reverse("A-1");
  await pay(at, request("A-2"));
  expect(at.terminal.inSyncAnswers.at(-1)).toBe(false);
});
