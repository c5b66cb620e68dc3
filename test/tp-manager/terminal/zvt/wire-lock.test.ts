import { expect, test } from "vitest";
import { systemClock } from "../../../../src/shared/time.ts";
import { WireLock } from "../../../../src/tp-manager/terminal/zvt/zvt-connection.ts";

const WAIT_MS = 60_000;

test("a caller that is cancelled in the moment of its turn leaves it to the next one", async () => {
  const lock = new WireLock(systemClock);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const ran: string[] = [];
  const runs = (who: string) => () => Promise.resolve(void ran.push(who));
  const first = lock.run({ waitMs: WAIT_MS }, () => ended);
  const leaving = new AbortController();
  const cancelled = lock.run({ waitMs: WAIT_MS, signal: leaving.signal }, runs("cancelled"));
  const next = lock.run({ waitMs: WAIT_MS }, runs("next"));
  leaving.abort(new Error("the caller has left"));
  end();
  await expect(cancelled).rejects.toThrow("the caller has left");
  await Promise.all([first, next]);
  expect([ran, lock.held]).toEqual([["next"], false]);
});
