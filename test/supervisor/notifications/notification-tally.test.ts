import { expect, test } from "vitest";
import { NotificationTally } from "../../../src/supervisor/notifications/notification-tally.ts";
import { openRig } from "../supervisor-rig.ts";

const QUIET_MS = 10 * 60_000;

test("the count and its begin outlive a restart, until a good notification came", async () => {
  const { tally, clock, database } = await openRig();
  const sinceMs = clock.now();
  for (let i = 0; i < 3; i++) tally.count("wrong-digest", "wrong digest");
  tally.save();
  await clock.advance(48 * 3_600_000);
  const again = new NotificationTally(database, clock);
  expect(again.figures.refused).toEqual({ count: 3, sinceMs, reason: "wrong digest" });
  again.count("accepted", "");
  expect(again.figures.refused).toBeNull();
  again.save();
  expect(new NotificationTally(database, clock).figures.refused).toBeNull();
});

test("wrong notifications among good ones are one condition until ten quiet minutes", async () => {
  const { tally, clock } = await openRig();
  const sinceMs = clock.now();
  for (let i = 0; i < 30; i++) {
    tally.count("wrong-digest", "wrong digest");
    tally.count("accepted", "");
    await clock.advance(QUIET_MS - 1);
    expect(tally.figures.refused).toMatchObject({ count: i + 1, sinceMs });
  }
  await clock.advance(1);
  expect(tally.figures.refused).toBeNull();
});

test("junk that is no notification is counted, is no condition and ends none", async () => {
  const { tally, clock } = await openRig();
  for (let i = 0; i < 5; i++) tally.count("malformed", "not UTF-8");
  expect(tally.figures).toMatchObject({ verdicts: { malformed: 5 }, refused: null });
  tally.count("mismatch", "not about our order");
  tally.count("malformed", "not UTF-8");
  await clock.advance(2 * QUIET_MS);
  expect(tally.figures.refused).toMatchObject({ count: 1, reason: "not about our order" });
});

test("a clock that went back does not keep the condition for ever", async () => {
  const { tally, clock } = await openRig();
  tally.count("wrong-digest", "wrong digest");
  tally.count("accepted", "");
  clock.jumpWallClock(-365 * 24 * 3_600_000);
  expect(tally.figures.refused).not.toBeNull();
  await clock.advance(QUIET_MS);
  expect(tally.figures.refused).toBeNull();
});
