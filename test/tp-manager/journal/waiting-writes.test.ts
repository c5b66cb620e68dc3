import { expect, test } from "vitest";
import { WaitingWrites } from "../../../src/tp-manager/journal/database/statements.ts";
import { TestClock } from "../../support/test-clock.ts";

/** The journal's waiting writes, with a commit that `during` runs in. */
function waitingWrites(during: (waiting: WaitingWrites) => void) {
  const clock = new TestClock(0);
  const waiting: WaitingWrites = new WaitingWrites(clock, () => commit());
  const commit = (): void => {
    waiting.write();
    during(waiting);
    waiting.written();
  };
  return { clock, waiting, commit };
}

test("what is added while a commit is made is written with the next one", async () => {
  const written: string[] = [];
  const told: string[] = [];
  const ride = (to: WaitingWrites, what: string): void =>
    to.add(
      () => written.push(what),
      () => told.push(what),
    );
  let isAdding = true;
  const { clock, waiting, commit } = waitingWrites((to) => {
    if (isAdding) ride(to, "added meanwhile");
    isAdding = false;
  });
  ride(waiting, "added before");
  commit();
  expect([written, told]).toEqual([["added before"], ["added before"]]);
  expect(waiting.isEmpty).toBe(false);
  await clock.advance(1_000);
  expect(written).toEqual(["added before", "added meanwhile"]);
  expect(told).toEqual(written);
  expect(waiting.isEmpty).toBe(true);
});
