import { majorOf } from "../format.js";

/**
 * Returns the likely outcome of a payment in doubt, from the evidence that a person sees. The
 * outcome helps with the decision and settles nothing. While recovery asks the terminal no outcome
 * is named: an unchanged storage says nothing before the lost command's own time limit is over. An
 * unchanged storage that recovery did not accept as a proof decides nothing afterwards either.
 * @param {any} found the answer of GET /story/{orderId}
 * @param {readonly any[]} compared
 * @returns {{ verdict: "charged" | "not-charged" | "open" | "asking", because: string }}
 */
export function likely(found, compared) {
  const attempt = attemptOf(found);
  const inTotals = compared.some(
    ({ orders, differenceMinor, sole }) =>
      sole &&
      differenceMinor > 0 &&
      orders.some((/** @type {any} */ one) => one.transactionId === found.transactionId),
  );
  if (inTotals) return { verdict: "charged", because: "totals" };
  if (found.error?.details?.asking) return { verdict: "asking", because: "asking" };
  const isReversal = attempt.events.some(
    (/** @type {any} */ { kind }) => kind === "reversal-begins",
  );
  if (isReversal) return { verdict: "open", because: "reversal" };
  const reported = attempt.events.filter((/** @type {any} */ { report }) => report);
  const good = hasGoodReport(attempt);
  const bad =
    reported.length > 0 &&
    reported.every((/** @type {any} */ { judgement }) => judgement === "not-good");
  const probes = attempt.events.flatMap((/** @type {any} */ { observation }) => observation ?? []);
  const after = probes.at(-1)?.last.report;
  const before = attempt.baseline?.last.report;
  if (after && before && same(after, before)) {
    return { verdict: "open", because: good ? "disagree" : "storageSame" };
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
 * Returns the attempt that a person settles, which is not always the last one.
 * @param {any} found
 */
export function attemptOf({ attempts, settlement }) {
  const isOurs = (/** @type {any} */ { number }) => number === settlement?.attempt;
  return attempts.find(isOurs) ?? attempts.at(-1);
}

/** @param {any} attempt */
function hasGoodReport({ events }) {
  return events.some(
    (/** @type {any} */ { report }) => report?.good && report.amountMinor !== null,
  );
}

/**
 * Whether the terminal has answered by id that it approved, be it something else than was asked.
 * @param {any} attempt
 */
function hasApproval({ events }) {
  return events.some((/** @type {any} */ { observation }) => observation?.recalled?.report?.good);
}

/**
 * Returns the evidence against a decision of a person; null: there is none. A good result that the
 * terminal reported speaks against "not charged" even where the outcome is open.
 * @param {any} found
 * @param {ReturnType<typeof likely> | null} judged
 * @param {string} outcome
 * @returns {ReturnType<typeof likely> | null}
 */
export function against(found, judged, outcome) {
  if (!judged || outcome === "") return null;
  if (judged.verdict === (outcome === "charged" ? "not-charged" : "charged")) return judged;
  const attempt = attemptOf(found);
  if (outcome !== "not_charged") return null;
  if (hasApproval(attempt)) return { verdict: "open", because: "goodReport" };
  if (!hasGoodReport(attempt)) return null;
  return judged.verdict === "asking" ? { verdict: "open", because: "goodReport" } : judged;
}

/**
 * Whether two reports of the terminal are about one transaction.
 * @param {any} one
 * @param {any} other
 */
export function same(one, other) {
  const compared = ["receiptNumber", "traceNumber", "localDate", "localTime", "amountMinor"];
  return compared.every((name) => one[name] === other[name]);
}
