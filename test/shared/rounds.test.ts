import { expect, test } from "vitest";
import { Rounds } from "../../src/shared/rounds.ts";
import { TestClock } from "../support/test-clock.ts";

test("a round begins a pause after the one before has ended, never beside it", async () => {
  const clock = new TestClock();
  const rounds = new Rounds(clock, "test", 1_000);
  const ends: (() => void)[] = [];
  rounds.later(() => new Promise((resolve) => ends.push(resolve)));
  await clock.advance(999);
  expect(ends).toHaveLength(0);
  await clock.advance(1);
  await clock.advance(60_000);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await clock.advance(1_000);
  expect(ends).toHaveLength(2);
  ends[1]?.();
  await rounds.close();
});

test("closing waits for the round that runs, and none comes after it", async () => {
  const clock = new TestClock();
  const rounds = new Rounds(clock, "test", 1_000);
  let [begun, end] = [0, (): void => {}];
  rounds.begin(() => {
    begun++;
    return new Promise((resolve) => {
      end = resolve;
    });
  });
  let isClosed = false;
  const closing = rounds.close().then(() => {
    isClosed = true;
  });
  await clock.advance(5_000);
  expect([isClosed, rounds.closed]).toEqual([false, true]);
  end();
  await closing;
  await clock.advance(5_000);
  expect(begun).toBe(1);
});
