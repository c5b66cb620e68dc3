import { moneyOfMinor, timeOf } from "../format.js";

/** The kinds of steps whose sentence needs nothing but the kind. */
const plain = new Set([
  "acknowledged",
  "second-sale",
  "interrupted",
  "end-not-sent",
  "end-completed",
  "cancel",
  "recovery-look",
  "recovery-charged",
  "recovery-reversed",
  "recovery-not-reversed",
  "charged-late",
  "doubted-late",
  "found-reversed",
  "reversal-begins",
  "told-after-charge",
  "told-settled",
  "closed-while-in-doubt",
  "hand-over-dropped",
  "hand-over-requeued",
]);
/** The kinds of steps whose sentence is followed by a text of the terminal or of the verdict. */
const quoting = new Set([
  "end-withdrawn",
  "end-refused",
  "end-aborted",
  "end-lost",
  "recovery-unsettled",
  "recovery-not-charged",
]);

/**
 * Returns a step of an attempt as a sentence, with the text of the terminal, verdict or person.
 * @param {any} event
 * @param {string} currency
 * @param {import("../texts.js").Texts} texts
 * @returns {{ text: string, quote: string }}
 */
export function sentenceOf(event, currency, texts) {
  const { kind } = event;
  const amount = (/** @type {unknown} */ minor) =>
    typeof minor === "number" ? moneyOfMinor(minor, currency, texts) : texts("notKnown");
  const say = (/** @type {string} */ key, values = {}, quote = "") => ({
    text: texts(`timeline.step.${key}`, values),
    quote,
  });
  const quote = String(event.text || event.because || event.why || event.reason || "");
  const asked = askedById(event);
  if (asked !== null) return say(asked);
  if (plain.has(kind)) return say(kind);
  if (quoting.has(kind)) return say(kind, {}, quote);
  switch (kind) {
    case "report":
    case "reversal-report":
    case "told-late":
      return said(kind === "reversal-report" ? "reversal" : "report", event, amount, texts);
    case "approved":
      return say("approved", { time: timeOf(event.decideBy, texts) });
    case "goods-decided":
    case "goods-decided-late": {
      const goods = say(`goods.${event.goods}`, { amount: amount(event.amountMinor) });
      return kind === "goods-decided" ? goods : say("goodsLate", {}, goods.text);
    }
    case "settled-by-operator":
      return say(`settled.${event.outcome}`, {}, String(event.note ?? ""));
    case "gateway-return-reserved":
      return say(`return.${event.returnKind}`, { amount: amount(event.amountMinor) });
    case "gateway-return-ended":
      return say(`returned.${event.state}`, {}, String(event.description ?? ""));
    case "gateway-return-notified":
      return say("returnNotified", { amount: amount(event.returnedMinor) });
    default:
      return say("other", { kind }, quote);
  }
}

/**
 * Returns what a terminal that is asked by id says of a payment or reversal. null: no such step.
 * @param {any} event
 */
function askedById({ kind, code, because, observation }) {
  if (kind === "recovery-requested" || code === "requested") return "reversal-received";
  const isReturned = kind === "recovery-not-reversed" && /^the gateway says /.test(because);
  if (isReturned) return "reversal-returned";
  if (observation?.recalled?.kind !== "answered") return null;
  if (kind === "recovery-charged") return "recalled-charged";
  return kind === "recovery-not-charged" ? "recalled-not-charged" : null;
}

/**
 * @param {string} what
 * @param {any} event
 * @param {(minor: unknown) => string} amount
 * @param {import("../texts.js").Texts} texts
 */
function said(what, { judgement, report }, amount, texts) {
  const good = judgement === "agrees" || judgement === undefined ? "good" : judgement;
  const facts = [
    report?.cardName,
    report?.maskedPan,
    report?.receiptNumber && texts("timeline.receipt", { number: report.receiptNumber }),
    report?.authorisationNumber &&
      texts("timeline.authorisation", { number: report.authorisationNumber }),
  ].filter(Boolean);
  const text = texts(`timeline.step.${what}.${good}`, { amount: amount(report?.amountMinor) });
  const more = facts.length > 0 ? ` (${facts.join(", ")}).` : ".";
  if (good === "good") return { text: text + more, quote: "" };
  return { text, quote: String(report?.resultText ?? "") };
}
