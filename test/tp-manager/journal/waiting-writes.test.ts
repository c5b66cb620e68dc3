import { join } from "node:path";
import { expect, test } from "vitest";
import { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

test("what is added while a commit is made is written with the next one", async () => {
  const clock = new TestClock(0);
  const { statements } = new Journal(join(temporaryFolder(), "journal.db"), clock);
  const written: string[] = [];
  const announced: string[] = [];
  const writeWithNext = (what: string): void =>
    statements.waiting.add(
      () => written.push(what),
      () => announced.push(what),
    );
  writeWithNext("added before");
  statements.transaction(() => writeWithNext("added meanwhile"));
  expect([written, announced]).toEqual([["added before"], ["added before"]]);
  expect(statements.waiting.isEmpty).toBe(false);
  await clock.advance(1_000);
  expect(written).toEqual(["added before", "added meanwhile"]);
  expect(announced).toEqual(written);
  expect(statements.waiting.isEmpty).toBe(true);
});
