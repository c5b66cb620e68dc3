import { expect, test } from "vitest";
import { BrokenInvariant } from "../../../src/shared/invariant.ts";
import { Poll } from "../../../src/tp-manager/supervisor/polls.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { recordingLog } from "../../support/house/recording-log.ts";

/** How often the supervisor is asked. */
const POLL_MS = 5_000;

function polling(round: (isClosed: () => boolean) => Promise<void>) {
  const clock = new TestClock();
  const { log } = recordingLog();
  return { clock, poll: new Poll({ name: "test", failure: "nothing asked", round }, clock, log) };
}

test("a round begins one pause after the previous round has ended", async () => {
  const ends: (() => void)[] = [];
  const { clock, poll } = polling(() => new Promise((resolve) => ends.push(resolve)));
  poll.start();
  await clock.advance(POLL_MS - 1);
  expect(ends).toHaveLength(0);
  await clock.advance(1);
  await clock.advance(60_000);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await clock.advance(POLL_MS);
  expect(ends).toHaveLength(2);
  ends[1]?.();
  await poll.close();
});

test("closing waits for the running round, and no round follows it", async () => {
  let [begun, end, isClosedInside] = [0, (): void => {}, (): boolean => false];
  const { clock, poll } = polling((isClosed) => {
    begun++;
    isClosedInside = isClosed;
    return new Promise((resolve) => {
      end = resolve;
    });
  });
  poll.nudge();
  let isClosed = false;
  const closing = poll.close().then(() => {
    isClosed = true;
  });
  await clock.advance(5_000);
  expect([isClosed, isClosedInside()]).toEqual([false, true]);
  end();
  await closing;
  await clock.advance(5_000);
  expect(begun).toBe(1);
});

test("a broken invariant is not taken for a supervisor that does not answer", async () => {
  const { poll } = polling(() => Promise.reject(new BrokenInvariant("no such attempt")));
  await expect(poll.ask()).rejects.toThrow("no such attempt");
});

test("a round that fails is followed by the next one", async () => {
  let begun = 0;
  const { clock, poll } = polling(() => {
    begun++;
    return Promise.reject(new Error("nobody listens"));
  });
  poll.nudge();
  await clock.advance(2 * POLL_MS);
  expect(begun).toBe(3);
  await poll.close();
});
