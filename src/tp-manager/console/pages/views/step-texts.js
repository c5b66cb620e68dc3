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

/** The kinds of steps of which a reversal has a sentence of its own. */
const ofReversal = new Set([
  "interrupted",
  "end-not-sent",
  "end-withdrawn",
  "recovery-unsettled",
  "closed-while-in-doubt",
]);

/** @typedef {"payment" | "reversal"} Command */

/**
 * Returns the steps of an attempt as sentences.
 * @param {readonly any[]} events
 * @param {string} currency
 * @param {import("../texts.js").Texts} texts
 */
export function sentencesOf(events, currency, texts) {
  /** @type {Command} */
  let command = "payment";
  return events.map((event) => {
    if (event.kind === "reversal-begins") command = "reversal";
    return sentenceOf(event, currency, texts, command);
  });
}

/**
 * Returns a step of an attempt as a sentence, with the text of the terminal, verdict or person.
 * @param {any} event
 * @param {string} currency
 * @param {import("../texts.js").Texts} texts
 * @param {Command} [command] what the step is about
 * @returns {{ text: string, quote: string }}
 */
export function sentenceOf(event, currency, texts, command = "payment") {
  const { kind } = event;
  const amount = (/** @type {unknown} */ minor) =>
    typeof minor === "number" ? moneyOfMinor(minor, currency, texts) : texts("notKnown");
  const say = (/** @type {string} */ key, values = {}, quote = "") => ({
    text: texts(`timeline.step.${key}`, values),
    quote,
  });
  const quote = String(event.text || event.because || event.why || event.reason || "");
  const asked = askedById(event, command);
  if (asked !== null) return say(asked);
  const key = command === "reversal" && ofReversal.has(kind) ? `${kind}-reversal` : kind;
  if (plain.has(kind)) return say(key);
  if (quoting.has(kind)) return say(key, {}, quote);
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
 * Returns the key of the sentence for what a terminal that is asked by id says of a command, other
 * than its answer to the command itself.
 * @param {string} kind of `observation.recalled`
 * @param {Command} command
 */
export function recalledKey(kind, command) {
  if (kind === "running" || kind === "not-found") return `recalled.${command}.${kind}`;
  return `recalled.${kind === "unanswered" ? kind : "not-told"}`;
}

/**
 * Returns what a terminal that is asked by id says of a payment or reversal. null: no such step.
 * @param {any} event
 * @param {Command} command
 */
function askedById({ kind, code, because, observation }, command) {
  if (kind === "recovery-requested" || code === "requested") return "reversal-received";
  const isReturned = kind === "recovery-not-reversed" && /^the gateway says /.test(because);
  if (isReturned) return "reversal-returned";
  const recalled = observation?.recalled;
  if (kind === "recovery-look" && recalled) return recalledKey(recalled.kind, command);
  if (recalled?.kind !== "answered") return null;
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
