import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { recordingLibrary } from "../crash/power/recorder.ts";
import { Random } from "../support/inputs/random.ts";
import { rowsOf, tries } from "../support/run/scope.ts";
import { type Recording, stepMoments, UpdatePath } from "./path-cuts.ts";

const library = recordingLibrary();
const AT_RANDOM = tries(12);

describe.skipIf(library === null)("an update that a power cut ends anywhere", () => {
  let path: UpdatePath;
  let recordings: Record<"works" | "fails", Recording>;
  beforeAll(async () => {
    path = await new UpdatePath().begin();
    const recorded = (course: "works" | "fails") => path.record(library ?? "", course);
    recordings = { works: await recorded("works"), fails: await recorded("fails") };
  });
  afterAll(() => path.end());

  test.each(["works", "fails"] as const)(
    "leaves a whole version and all payments, and the next night takes it: it %s",
    async (course) => {
      const { cuts, ran, violations } = await path.cutAtRandom(recordings[course], AT_RANDOM, 1);
      expect(violations).toEqual([]);
      expect(cuts).toBe(AT_RANDOM);
      expect(ran).toHaveProperty(["1.0.0"]);
    },
  );

  test("is whole after a cut between every two recorded steps", async () => {
    const recording = recordings.works;
    const moments = stepMoments(recording);
    expect(moments.length).toBeGreaterThan(20);
    const tried = rowsOf(moments, 3);
    const { ran, violations } = await path.cutAt(recording, tried, new Random(2));
    expect(violations).toEqual([]);
    expect(Object.keys(ran).sort()).toEqual(["1.0.0", "2.0.0"]);
  });

  test("is whole after a second cut, while the next launcher ends the update", async () => {
    const recording = recordings.fails;
    const random = new Random(4);
    const moments = stepMoments(recording).filter((_moment, i) => i % 8 === 5);
    const two = { random, each: 2 };
    const { cuts, violations } = await path.cutTwice(library ?? "", recording, moments, two);
    expect(violations).toEqual([]);
    expect(cuts).toBeGreaterThan(5);
  });

  test("a program that leaves out a sync is found", async () => {
    const recording = recordings.works;
    const records = recording.records.filter(
      ({ what, path: file }) => what !== "sync" || !/unpacking/.test(file),
    );
    const careless = { ...recording, records };
    // The new version sells: nothing leads back any more.
    const atEnd = Array.from({ length: 10 }, (_each, i) => records.length - 1 - 4 * i);
    const { violations } = await path.cutAt(careless, atEnd, new Random(3));
    expect(violations.join("\n")).toMatch(/database has schema 2|runs without/);
  });
});
