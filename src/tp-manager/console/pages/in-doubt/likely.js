import { majorOf } from "../format.js";

/**
 * Returns the likely outcome of a payment in doubt, from the evidence that a person sees. The outcome
 * helps with the decision and settles nothing.
 * @param {any} found the answer of GET /story/{orderId}
 * @param {readonly any[]} compared
 * @returns {{ verdict: "charged" | "not-charged" | "open", because: string }}
 */
export function likely(found, compared) {
  const attempt = found.attempts.at(-1);
  const reported = attempt.events.filter((/** @type {any} */ { report }) => report);
  const good = reported.some(
    (/** @type {any} */ { report }) => report.good && report.amountMinor !== null,
  );
  const bad = reported.length > 0 && !good;
  const inTotals = compared.some(
    ({ orders, differenceMinor, sole }) =>
      sole &&
      differenceMinor > 0 &&
      orders.some((/** @type {any} */ one) => one.transactionId === found.transactionId),
  );
  const probes = attempt.events.flatMap((/** @type {any} */ { observation }) => observation ?? []);
  const after = probes.at(-1)?.last.report;
  const before = attempt.baseline?.last.report;
  if (inTotals) return { verdict: "charged", because: "totals" };
  if (after && before && same(after, before)) {
    return { verdict: good ? "open" : "not-charged", because: good ? "disagree" : "storageSame" };
  }
  if (after?.good && majorOf(after.amountMinor, found.currency) === found.amount) {
    return { verdict: "charged", because: "storageNew" };
  }
  if (good) return { verdict: "charged", because: "goodReport" };
  if (bad) return { verdict: "not-charged", because: "badReport" };
  if (reported.length === 0 && !attempt.baseline) return { verdict: "open", because: "notAsked" };
  return { verdict: "open", because: "nothingHeard" };
}

/**
 * @param {any} one
 * @param {any} other
 */
function same(one, other) {
  const compared = ["receiptNumber", "traceNumber", "localDate", "localTime", "amountMinor"];
  return compared.every((name) => one[name] === other[name]);
}
