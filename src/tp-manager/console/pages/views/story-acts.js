import { money } from "../format.js";
import { faultOf, own, useTold } from "../said.js";
import { html, useState } from "../vendor/htm-preact.js";
import { forgetKey, keyOf } from "./operation-key.js";

/**
 * The acts that an order allows, each after one question. The connector told which of them are
 * allowed to this login, and judges again.
 * @param {import("../main.js").ViewProps & { story: any, orderId: string,
 *   again: () => Promise<void> }} props
 */
export function Acts({ api, ask, words, language, goTo, story, orderId, again }) {
  const [part, setPart] = useState("");
  const [told, setTold] = useTold(
    words,
    /** @type {{ text: string, bad: boolean } | null} */ (null),
  );
  const [busy, setBusy] = useState(false);
  const { may, amount: askedFor, chargedAmount, refundable, currency } = story;
  const whole = chargedAmount ?? askedFor;
  // A part went back before: the sentence names the rest, and so does the call.
  const rest = refundable !== null && refundable < whole ? refundable : undefined;
  const money_ = (/** @type {number} */ value) => money(value, currency, language);
  const nameOf = (/** @type {string} */ act) =>
    act === "refund" && rest !== undefined ? "act.refundRest" : `act.${act}`;
  const run = async (/** @type {string} */ act, /** @type {number | undefined} */ amount) => {
    const sum = money_(amount ?? whole);
    const kind = amount === undefined ? act : `${act}${amount === rest ? "Rest" : "Part"}`;
    const path = paths[act] ?? "";
    const body = { orderId, ...(amount === undefined ? {} : { amount }) };
    const key = path.startsWith("/gateway/") ? keyOf(path, body) : undefined;
    const person = await ask({
      title: words(`act.${kind}`, { amount: sum }),
      sentence: words(`act.${kind}.sentence`, { orderId, amount: sum }),
      confirm: words(`act.${kind}.confirm`, { amount: sum }),
      grave: true,
    });
    if (!person) return;
    setBusy(true);
    setTold({ text: words("act.runs"), bad: false });
    try {
      const answer = await api.post(path, { ...body, ...(key && { idempotencyKey: key }) }, person);
      forgetKey(path, body, answer.status);
      setTold(outcomeOf(answer, words));
    } catch {
      setTold({ text: words("act.noAnswer"), bad: true });
    }
    await again();
    setBusy(false);
  };
  const submitPart = (/** @type {Event} */ event) => {
    event.preventDefault();
    void run("refund", Number(part.replace(",", ".")));
  };
  if (may.length === 0 && !told) {
    return html`<section aria-labelledby="acts-title"><h2 id="acts-title">${words("act.title")}</h2>
      <p>${own(words, whyNothing(story))}</p></section>`;
  }
  const whole_ = ["reverse", "capture", "cancel", "refund"].filter((act) => may.includes(act));
  return html`<section aria-labelledby="acts-title">
    <h2 id="acts-title">${words("act.title")}</h2>
    <div class="row">
      ${whole_.map(
        (act) => html`<button type="button" disabled=${busy}
          onclick=${() => run(act, act === "refund" ? rest : undefined)}>
          ${words(nameOf(act), { amount: money_(rest ?? whole) })}</button>`,
      )}
      ${
        may.includes("settle") &&
        html`<button type="button" onclick=${() => goTo(`doubt/${encodeURIComponent(orderId)}`)}>${words("act.settle")}</button>`
      }
    </div>
    ${
      may.includes("refund") &&
      html`<form class="row" onsubmit=${submitPart}>
      <label>${words("act.part", { currency })}
        <input required inputmode="decimal" pattern="\\d{1,8}([.,]\\d{1,4})?" autocomplete="off"
          size="10" value=${part} oninput=${(/** @type {any} */ event) => setPart(event.target.value)} />
      </label>
      <button type="submit" disabled=${busy}>${words("act.refundPart")}</button></form>`
    }
    ${may.includes("reverse") && may.length > 1 && html`<p class="faint">${words("act.which")}</p>`}
    <p role="status" class=${told?.bad ? "fault" : ""}>${told?.text ?? ""}</p></section>`;
}

/** @param {any} story */
function whyNothing({ status, error, notes }) {
  const isOpen = notes.some((/** @type {any} */ { note }) => /^(cancel|refund)-open$/.test(note));
  if (isOpen) return "error.GATEWAY_OPERATION_OPEN";
  if (status === "Approved" || error?.code === "PAYMENT_RUNNING") return "act.later";
  return /^(Declined|Cancelled|Failed|Reversed)$/.test(status) ? "act.nothing" : "act.none";
}

/** @type {Record<string, string>} */
const paths = {
  reverse: "/reversal",
  capture: "/gateway/confirm",
  cancel: "/gateway/cancel",
  refund: "/gateway/refund",
};

/**
 * @param {import("../api.js").Answer} answer
 * @param {import("../words.js").Words} words
 */
function outcomeOf({ status, body }, words) {
  const message = faultOf(words, body?.error);
  if (status === 200) return { text: words("act.done"), bad: false };
  // A result that nobody knows is not a refusal.
  const open = status === 504 || body?.error?.charged === "unknown";
  return { text: `${words(open ? "act.unknown" : "act.refused")} ${message}`, bad: true };
}
