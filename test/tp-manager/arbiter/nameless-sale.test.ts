import { expect, test } from "vitest";
import { house, outcome, pay, request } from "../../support/payment-house.ts";
import { baseline, declined, report } from "../../support/reports.ts";
import { lost } from "../../support/scripted-terminal.ts";

const nameless = { receiptNumber: null, traceNumber: null } as const;
const stored = (localTime: string) =>
  ({ kind: "transaction", report: report({ ...nameless, localTime }) }) as const;

// Such a terminal stores the reversal of A as if it were a sale.
test("a reversal in doubt that names no original is told as no sale of nobody", async () => {
  const at = house();
  at.terminal.remembers = true;
  await pay(at, request("A-1"));
  at.terminal.reversal = () => Promise.resolve(lost("the line broke"));
  await at.afterSale.reverse("A-1");
  const told = { receiptNumber: "0009", traceNumber: "000013", localTime: "130500" };
  const last = { kind: "transaction", report: report(told) } as const;
  at.terminal.last = last;
  await at.clock.advance(400_000);
  at.terminal.baseline = { ...baseline, last };
  await pay(at, request("B-1")).catch(() => undefined);
  await at.clock.advance(400_000);
  const alarms = at.hub.source.alarms(20).map(({ data }) => JSON.stringify(data));
  expect(alarms.join()).not.toContain("unmatched-transaction");
});

// A moment alone names a sale: no terminal makes two in one second.
test("a stored sale that only its moment names settles its order, and holds up one", async () => {
  const at = house();
  at.terminal.baseline = { ...baseline, last: stored("124511") };
  at.terminal.last = stored("124511");
  at.terminal.script = () => Promise.resolve(lost("the line broke"));
  expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
  await at.clock.advance(400_000);
  at.terminal.baseline = { ...baseline, last: stored("130001") };
  at.terminal.last = stored("130001");
  at.terminal.script = (_order, observer) => {
    const localTime = `130${700 + at.terminal.paid.length}`;
    observer.report(report({ ...nameless, localTime }));
    observer.acknowledged();
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  const answers: string[] = [];
  for (const orderId of ["B-1", "B-2", "B-3"]) {
    const answer = await pay(at, request(orderId)).then(outcome, ({ code }) => String(code));
    answers.push(answer);
    await at.clock.advance(400_000);
  }
  expect(answers.slice(1)).toEqual(["Success", "Success"]);
  expect(at.journal.attempts.latest("A-1")?.state.phase).toBe("charged");
  const alarms = at.hub.source.alarms(20).map(({ data }) => JSON.stringify(data));
  expect(alarms.join()).not.toContain('"finding":"unclear"');
});

// Nothing more can be found out about a record that is told without a name each time.
test.each([999, 500])(
  "a record without any name, of %d, holds up one sale",
  async (amountMinor) => {
    const at = house();
    const names = { ...nameless, localDate: null, localTime: null };
    at.terminal.script = () => Promise.resolve(lost("the line broke"));
    expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
    const last = { kind: "transaction", report: report({ ...names, amountMinor }) } as const;
    at.terminal.baseline = { ...baseline, last };
    at.terminal.last = last;
    await at.clock.advance(400_000);
    at.terminal.script = (_order, observer) => {
      observer.report(declined());
      return Promise.resolve({
        end: "aborted",
        code: "6C",
        text: "",
        reason: "declined",
        ticket: "",
      });
    };
    const answers: string[] = [];
    for (const orderId of ["B-1", "B-2", "B-3"]) {
      const answer = await pay(at, request(orderId)).then(outcome, ({ code }) => String(code));
      answers.push(answer);
      await at.clock.advance(400_000);
    }
    expect(answers.slice(1)).toEqual(["Declined", "Declined"]);
  },
);
