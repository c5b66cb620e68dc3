import { describe, expect, test } from "vitest";
import { random, sleep, systemClock, within } from "../../src/shared/time.ts";
import { TestClock } from "../support/clocks/test-clock.ts";

describe("waiting", () => {
  test("sleeps as long as it says and not a millisecond less", async () => {
    const clock = new TestClock();
    let woke = false;
    const sleeping = sleep(clock, "nap", 100).then(() => (woke = true));
    await clock.advance(99);
    expect([woke, clock.running]).toEqual([false, ["nap"]]);
    await clock.advance(1);
    expect([woke, clock.running]).toEqual([true, []]);
    await sleeping;
  });

  test("wakes with the signal's reason and leaves no timer", async () => {
    const clock = new TestClock();
    const stop = new AbortController();
    const sleeping = sleep(clock, "nap", 100, stop.signal);
    const reason = new Error("stopping");
    stop.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    expect(clock.running).toEqual([]);
  });

  test("does not begin when the signal was aborted before", async () => {
    const clock = new TestClock();
    await expect(sleep(clock, "nap", 100, AbortSignal.abort("early"))).rejects.toBe("early");
    expect(clock.running).toEqual([]);
  });

  test("stops listening to the signal when it is over", async () => {
    const clock = new TestClock();
    const stop = new AbortController();
    const sleeping = sleep(clock, "nap", 1, stop.signal);
    await clock.advance(1);
    await sleeping;
    stop.abort(new Error("late")); // an unheard rejection would fail the run
  });
});

describe("a limit on a promise", () => {
  test("gives its value and clears the timer", async () => {
    const clock = new TestClock();
    expect(await within(clock, "answer", 100, Promise.resolve(7))).toBe(7);
    expect(clock.running).toEqual([]);
  });

  test("gives its failure and clears the timer", async () => {
    const clock = new TestClock();
    const failure = new Error("refused");
    await expect(within(clock, "answer", 100, Promise.reject(failure))).rejects.toBe(failure);
    expect(clock.running).toEqual([]);
  });

  test("gives undefined when time is over, and a late failure harms nobody", async () => {
    const clock = new TestClock();
    const { promise, reject } = Promise.withResolvers<number>();
    const limited = within(clock, "answer", 100, promise);
    await clock.advance(100);
    expect(await limited).toBeUndefined();
    reject(new Error("late"));
    await clock.advance(1);
  });
});

describe("the system clock", () => {
  test("fires after the delay, not before, and a cleared timer never", async () => {
    const startedMs = systemClock.monotonicMs();
    let cleared = false;
    systemClock.startTimer("cleared", 5, () => (cleared = true)).clear();
    await sleep(systemClock, "short", 30);
    expect(systemClock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(29);
    expect(cleared).toBe(false);
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
  });

  test("takes a delay below zero as zero, and one above its range as the longest", async () => {
    await new Promise<void>((resolve) => void systemClock.startTimer("past", -5, resolve));
    let fired = false;
    const timer = systemClock.startTimer("far", 2 ** 40, () => (fired = true));
    await sleep(systemClock, "short", 5);
    timer.clear();
    expect(fired).toBe(false);
  });

  test("random is a number from 0 to 1", () => {
    const numbers = Array.from({ length: 1_000 }, random);
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
    expect(new Set(numbers).size).toBeGreaterThan(900);
  });
});

describe("the test clock", () => {
  test("fires in the order of time, then of the start, each at its own time", async () => {
    const clock = new TestClock(1_000);
    const fired: string[] = [];
    const note = (name: string, delayMs: number) =>
      clock.startTimer(name, delayMs, () => fired.push(`${name} ${clock.now()}`));
    note("b", 20);
    note("a", 10);
    note("c", 20);
    note("cleared", 15).clear();
    note("later", 21);
    await clock.advance(20);
    expect(fired).toEqual(["a 1010", "b 1020", "c 1020"]);
    expect(clock.running).toEqual(["later"]);
    expect(clock.monotonicMs()).toBe(20);
  });

  test("fires timers that were started by timers and promises on the way", async () => {
    const clock = new TestClock(0);
    const fired: number[] = [];
    const tick = (): void => {
      fired.push(clock.now());
      void Promise.resolve().then(() => clock.startTimer("tick", 10, tick));
    };
    clock.startTimer("tick", 10, tick);
    await clock.advance(35);
    expect(fired).toEqual([10, 20, 30]);
    expect(clock.now()).toBe(35);
  });

  test("lets the wall clock jump without moving durations", async () => {
    const clock = new TestClock(1_000);
    clock.jumpWallClock(-600);
    await clock.advance(50);
    expect([clock.now(), clock.monotonicMs()]).toEqual([450, 50]);
  });

  test("fires a delay of zero or less at the next advance, not at once", async () => {
    const clock = new TestClock();
    let fired = 0;
    clock.startTimer("zero", 0, () => fired++);
    clock.startTimer("past", -10, () => fired++);
    expect(fired).toBe(0);
    await clock.advance(0);
    expect(fired).toBe(2);
  });
});
