import { expect, test } from "vitest";
import { breachText } from "./breach-text.ts";
import { product } from "./judges.ts";
import { faultsPutBack } from "./put-back.ts";
import { reduced } from "./scopes.ts";
import { walk } from "./walk.ts";

test("no order of messages, losses, crashes and reports breaks a law, in a reduced scope", () => {
  const walked = reduced.map((scope) => walk(scope, product));
  expect(walked.flatMap(({ found }) => found.map(breachText))).toEqual([]);
  expect(walked.every(({ isCut }) => !isCut)).toBe(true);
  expect(walked.reduce((sum, { states }) => sum + states, 0)).toBeGreaterThan(50_000);
});

test.each(faultsPutBack)("the walk finds a fault put back: $fault", ({ judges, scope, law }) => {
  const { found } = walk(scope, judges, { stopAtFirst: true });
  expect(found.map((each) => each.law)).toContain(law);
  // The kiosk asks first, and the way is short enough to be read.
  expect(found[0]?.steps[0]).toBe("the kiosk asks for A");
  expect(found[0]?.steps.length).toBeLessThan(25);
});
