import { expect, test } from "vitest";
import { preferencesOf } from "../../../src/tp-manager/http/prefer.ts";

const nothing = { isAsync: false, waitSeconds: 0 };
const isAsync = { isAsync: true, waitSeconds: 0 };
const waits = (waitSeconds: number) => ({ isAsync: false, waitSeconds });

test.each([
  [undefined, nothing],
  ["", nothing],
  ["respond-async", isAsync],
  ["Respond-Async", isAsync],
  [" respond-async ; why=now", isAsync],
  ['respond-async=""', isAsync],
  [", respond-async,, return=minimal", isAsync],
  ["respond-async, wait=10", { isAsync: true, waitSeconds: 10 }],
  ["handling=lenient, WAIT=10, respond-async", { isAsync: true, waitSeconds: 10 }],
  ["wait=30", waits(30)],
  ['wait = "30"', waits(30)],
  ["wait=0", waits(0)],
  ["wait=60", waits(60)],
  ["wait=61", waits(60)],
  ["wait=99999999999999999999", waits(60)],
  // The first of two counts.
  ["wait=5, wait=50", waits(5)],
  ["respond-async=no, respond-async", nothing],
  // A value that is none of a known preference.
  ["respond-async=yes", nothing],
  ["wait", nothing],
  ["wait=-1", nothing],
  ["wait=1.5", nothing],
  ["wait=soon, respond-async", isAsync],
  ['note="a, respond-async"', nothing],
  ['note="a \\", respond-async", wait=2', waits(2)],
  // Malformed as a whole.
  ["respond async", nothing],
  ["respond-async, wait=1=2", nothing],
  ["respond-async, =5", nothing],
  ['respond-async, "wait"', nothing],
  ['respond-async, note="open', nothing],
  ["respond-async; (x)", nothing],
])("%j prefers %j", (header, preferences) => {
  expect(preferencesOf(header)).toEqual(preferences);
});

test("a long header is read at once", () => {
  const long = 'a="\\", ; '.repeat(2_000);
  expect(preferencesOf(`${long}"`)).toEqual(nothing);
});
