import { expect, test } from "vitest";
import type { Answer } from "../../../src/tp-manager/matching/answer.ts";
import { effectsOf } from "../../../src/tp-manager/matching/answer.ts";
import { house, pay, request } from "../../support/house/payment-house.ts";
import { aborted, approves } from "../../support/terminals/scripted-terminal.ts";

test("a record that one of several attempts made changes no order that is charged", async () => {
  const at = house();
  at.start();
  at.terminal.script = () => Promise.resolve(aborted);
  await pay(at, request("A-1"));
  at.terminal.script = approves;
  await pay(at, request("A-1"));
  const [first, second] = at.journal.attempts.ofOrder("A-1");
  if (!first || !second) throw new Error("the order has two attempts");
  expect([first.state.phase, second.state.phase]).toEqual(["not-charged", "charged"]);
  const manyOf = (...attempts: readonly (typeof first)[]): Answer => ({
    answer: "many",
    candidates: attempts.map((attempt) => ({ attempt, as: "sale" })),
    why: "names nothing",
    because: "it names nothing",
  });
  expect(effectsOf(manyOf(first, second))).toEqual([]);
  expect(effectsOf(manyOf(first))).toMatchObject([{ effect: "doubt", attempt: first }]);
});
