import { expect, test } from "vitest";
import { inquiryOfAttempt } from "../../../src/tp-manager/matching/facts.ts";
import { house, pay, request } from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

const T4_MS = 180_000;
const times = { lostSinceMs: 0, limitMs: T4_MS, printsCount: false };

async function limitOf(delivery: { withinSeconds: number } | null) {
  const at = house();
  at.terminal.script = () => Promise.resolve(lost("the line broke"));
  await pay(at, request("A-1", { delivery }));
  const attempt = at.journal.attempts.decisive("A-1");
  if (attempt?.state.phase !== "in-doubt") throw new Error("the payment was not lost");
  const { limitMs, asked } = inquiryOfAttempt(attempt, attempt.state, times);
  return [limitMs, asked?.limitMs];
}

// A process that starts while the terminal holds a sale knows its window from the order alone.
test("the silence of recovery covers the goods window of a two-phase sale as well", async () => {
  expect(await limitOf({ withinSeconds: 60 })).toEqual([T4_MS + 75_000, T4_MS + 75_000]);
  expect(await limitOf(null)).toEqual([T4_MS, T4_MS]);
});

test("an unchanged storage proves nothing while the window for goods can be open", async () => {
  const at = house();
  at.terminal.script = () => Promise.resolve(lost("the line broke"));
  await pay(at, request("A-1", { delivery: { withinSeconds: 60 } }));
  const phase = (): string | undefined => at.journal.attempts.decisive("A-1")?.state.phase;
  await at.clock.advance(T4_MS + 30_000);
  expect(phase()).toBe("in-doubt");
  await at.clock.advance(60_000);
  expect(phase()).toBe("not-charged");
});

test("a good result with its ACK still counts after a contrary one", async () => {
  const at = house();
  at.terminal.script = (_order, observer) => {
    observer.report(report());
    observer.ackArrived();
    observer.report(declined());
    return Promise.resolve(lost("the line broke"));
  };
  await pay(at, request("A-1"));
  const attempt = at.journal.attempts.decisive("A-1");
  if (attempt?.state.phase !== "in-doubt") throw new Error("the payment was not lost");
  const { heard } = inquiryOfAttempt(attempt, attempt.state, times);
  expect(heard).toMatchObject({ good: { traceNumber: "000012" }, ackArrived: true });
});
