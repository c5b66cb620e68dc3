import { expect, test } from "vitest";
import { readAttempt } from "../../../src/tp-manager/journal/attempt-columns.ts";
import type { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { house, pay, request } from "../../support/house/payment-house.ts";
import { fullJournal } from "./full-journal.ts";

/** Past everything that the journal keeps in memory. */
function onDisk(journal: Journal, transactionId: string) {
  const row = journal.statements.list
    .find(({ name }) => name === "attempts read")
    ?.get(transactionId);
  return row && readAttempt(row);
}

test("the attempt that was written last is read as it is on disk, at every step", async () => {
  const at = house();
  const { attempts } = at.journal;
  const steps: string[] = [];
  const former = attempts.onStep;
  attempts.onStep = (attempt, step) => {
    const { transactionId } = attempt;
    expect(attempts.read(transactionId)).toStrictEqual(onDisk(at.journal, transactionId));
    expect(attempts.newestRow()).toMatchObject({ attempt, position: 1 });
    steps.push(step.kind);
    former(attempt, step);
  };
  await pay(at, request("A-1"));
  expect(steps).toContain("end-completed");
  const [{ transactionId = "" } = {}] = attempts.ofOrder("A-1");
  at.journal.returns.noteReturns([{ transactionId, returnedMinor: 1 }], 0);
  expect(attempts.read(transactionId)).toStrictEqual(onDisk(at.journal, transactionId));
  expect(attempts.read(transactionId)?.returnedMinor).toBe(1);
});

test("a row is kept only until its table is written to, and not out of a lost commit", () => {
  const { statements, gaps, database } = house().journal;
  expect(gaps.open()).toBeUndefined();
  const lose = (work: () => void): void => {
    const lost = (): void =>
      statements.transaction(() => {
        work();
        throw new Error("no room");
      });
    expect(lost).toThrow("no room");
  };
  lose(() => {
    gaps.begin("lost", false, 0);
    expect(gaps.open()?.because).toBe("lost");
  });
  expect(gaps.open()).toBeUndefined();
  gaps.begin("kept", false, 0);
  expect(gaps.open()?.because).toBe("kept");
  lose(() => gaps.end("operator", 0));
  expect(gaps.open()?.because).toBe("kept");
  expect(database.isTransaction).toBe(false);
  gaps.end("operator", 0);
  expect(gaps.open()).toBeUndefined();
});

test("the ids of all attempts are read page by page, each once", () => {
  const { attempts } = fullJournal(600);
  const ids = [...attempts.ids()];
  const begun = attempts.list({ sinceMs: 0, status: null, limit: 10_000, before: null });
  expect(ids).toHaveLength(begun.length);
  expect(new Set(ids)).toEqual(new Set(begun.map(({ attempt }) => attempt.transactionId)));
});
