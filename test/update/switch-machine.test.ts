import { describe, expect, test } from "vitest";
import {
  nextSwitchState,
  type SwitchEvent,
  switchBegins,
} from "../../src/update/switch-machine.ts";

/** docs/updates.md 4.2. */

const done: SwitchEvent = { event: "carried-out" };
const cut: SwitchEvent = { event: "cut" };
const fails = (bars: boolean): SwitchEvent => ({ event: "failed", why: "so", bars });
const givenUp = (received: boolean, readableByOlder: boolean): SwitchEvent => ({
  event: "given-up",
  received,
  readableByOlder,
});

const reached = (...events: readonly SwitchEvent[]) => events.reduce(nextSwitchState, switchBegins);
const probation = [done, done, done] as const;

test("a version that works goes through every step", () => {
  const steps = [1, 2, 3, 4, 5].map((count) => reached(...Array(count).fill(done)).step);
  expect(steps).toEqual(["stopping", "switching", "probation", "staying", "done"]);
});

test("a version that fails its self-test changes nothing, and is not taken again", () => {
  expect(reached(fails(true))).toMatchObject({ step: "undone", bars: true, withStores: false });
});

describe("a version that fails on its probation", () => {
  test("goes back with the stores when nothing was received", () => {
    const state = reached(...probation, fails(true), givenUp(false, false));
    expect(state).toMatchObject({ step: "going-back", withStores: true, bars: true, why: "so" });
    expect(nextSwitchState(nextSwitchState(state, done), done).step).toBe("undone");
  });

  test("goes back without them when the older version can read what was received", () => {
    const state = reached(...probation, fails(false), givenUp(true, true));
    expect(state).toMatchObject({ step: "going-back", withStores: false, bars: false });
  });

  test("stays when the older one could not read what was received", () => {
    const state = reached(...probation, fails(true), givenUp(true, false));
    expect(state).toMatchObject({ step: "staying", withStores: false });
  });
});

describe("a cut", () => {
  test("before the switch ends in the previous version, and bars nothing", () => {
    expect(reached(cut)).toMatchObject({ step: "undone", bars: false });
    expect(reached(done, cut)).toMatchObject({
      step: "going-back",
      withStores: false,
      bars: false,
    });
    expect(reached(done, fails(false))).toMatchObject({ step: "going-back", withStores: false });
  });

  test("while the version is named continues with that version", () => {
    expect(reached(done, done, cut)).toMatchObject({ step: "switching" });
  });

  test("on the probation tries again, and goes back at the third cut", () => {
    expect(reached(...probation, cut)).toMatchObject({ step: "probation", probations: 2 });
    expect(reached(...probation, cut, cut, cut)).toMatchObject({ step: "giving-up", bars: false });
  });

  test("later changes no decision", () => {
    const decided = [
      reached(...probation, done),
      reached(...probation, fails(true)),
      reached(...probation, fails(true), givenUp(false, true)),
      reached(...probation, fails(true), givenUp(false, true), done),
    ];
    for (const state of decided) expect(nextSwitchState(state, cut)).toEqual(state);
  });
});

test("a finished switch goes back on the present stores, and bars its version", () => {
  const back = nextSwitchState(reached(...probation, done, done), { event: "go-back", why: "so" });
  expect(back).toMatchObject({ step: "giving-up", withStores: false, bars: true, why: "so" });
  expect(() => reached(done, { event: "go-back", why: "so" })).toThrow("stopping");
});

test("a missing version ends the switch at each step, and bars nothing", () => {
  const steps = [[], [done], probation, [...probation, fails(true)]];
  for (const before of steps) {
    const end = reached(...before, { event: "version-missing", why: "gone" });
    expect(end).toMatchObject({ step: "undone", bars: false, why: "gone" });
  }
});

test("an event that a step does not know is a fault of the program", () => {
  expect(() => reached(givenUp(true, true))).toThrow("testing");
  expect(() => reached(...probation, done, done, done)).toThrow("done");
});
