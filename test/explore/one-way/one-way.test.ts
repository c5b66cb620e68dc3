import { expect, test } from "vitest";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { type OneWayRules, productRules } from "./one-way-connector.ts";
import { oneWayReduced } from "./one-way-scopes.ts";
import { walkOneWay } from "./one-way-walk.ts";

/** A rule that takes results without a name for the current payment's where `takes` says so. */
function takingIn(
  takes: (report: TransactionReport, askedMinor: number) => boolean,
): OneWayRules["isOf"] {
  return (oneWay, running, result) =>
    (!result.isEarly &&
      result.report.reference === null &&
      takes(result.report, running.request.amountMinor)) ||
    oneWay.isOf(running, result);
}

test("a terminal that cannot be asked breaks no law, in a reduced scope", () => {
  const walked = oneWayReduced.map((scope) => walkOneWay(scope));
  expect(walked.flatMap(({ found }) => found)).toEqual([]);
  expect(walked.reduce((sum, { states }) => sum + states, 0)).toBeGreaterThan(5_000);
});

test.each([
  [
    "a stored result does not end its payment after a crash",
    { ...productRules, endsStored: false },
    0,
    "what the terminal has reported does not stay unknown",
  ],
  [
    "a refusal of another amount that names no order ends the current payment",
    { ...productRules, isOf: takingIn(({ good, resultCode }) => !good && resultCode !== null) },
    4,
    "no charge is reported as not paid",
  ],
  [
    "a result that names nothing always ends the current payment",
    { ...productRules, isOf: takingIn(({ amountMinor }, asked) => amountMinor === asked) },
    5,
    "no charge is reported as not paid",
  ],
])("the walk finds the fault that was put back: %s", (_, rules, scope, law) => {
  const found = oneWayReduced
    .slice(scope, scope + 1)
    .flatMap((one) => walkOneWay(one, rules).found);
  expect(found.map((each) => each.law)).toContain(law);
});
