import { expect, test } from "vitest";
import { house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { baseline, declined, report } from "../../support/terminals/reports.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

const nameless = { receiptNumber: null, traceNumber: null } as const;
const stored = (localTime: string) =>
  ({ kind: "transaction", report: report({ ...nameless, localTime }) }) as const;

// Such a terminal stores the reversal of order A-1 as if it were a sale.
test("a reversal in doubt, stored without its original, is no unmatched transaction", async () => {
  const at = house();
  at.terminal.remembers = true;
  await pay(at, request("A-1"));
  at.terminal.reversal = () => Promise.resolve(lost("the line broke"));
  await at.afterSale.reverse("A-1");
  const numbers = { receiptNumber: "0009", traceNumber: "000013", localTime: "130500" };
  const last = { kind: "transaction", report: report(numbers) } as const;
  at.terminal.last = last;
  await at.clock.advance(400_000);
  at.terminal.baseline = { ...baseline, last };
  await pay(at, request("B-1")).catch(() => undefined);
  await at.clock.advance(400_000);
  const alarms = at.hub.source.alarms(20).map(({ data }) => JSON.stringify(data));
  expect(alarms.join()).not.toContain("unmatched-transaction");
});

// Date and time alone identify a sale: no terminal makes two sales in one second.
test("a stored sale with date and time only charges its order and stops one sale", async () => {
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
    observer.ackArrived();
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  const answers: string[] = [];
  for (const orderId of ["B-1", "B-2", "B-3"]) {
    const answer = await pay(at, request(orderId)).then(outcome, ({ code }) => String(code));
    answers.push(answer);
    await at.clock.advance(400_000);
  }
  expect(answers.slice(1)).toEqual(["Success", "Success"]);
  expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("charged");
  const alarms = at.hub.source.alarms(20).map(({ data }) => JSON.stringify(data));
  expect(alarms.join()).not.toContain('"finding":"unclear"');
});

// Further probes can find out nothing more about a record that never names its sale.
test.each([999, 500])(
  "a stored record of %d without numbers, date and time holds up one sale only",
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
