import { money } from "../format.js";
import { Detail, own, refusal, useSentence } from "../sentences.js";
import { html, useState } from "../vendor/htm-preact.js";
import { forgetKey, keyOf } from "./operation-key.js";

/**
 * Shows the actions that an order allows, each after one question. The connector has listed those
 * that this login may take, and checks again when the call comes.
 * @param {import("../main.js").ViewProps & { order: any, orderId: string,
 *   again: () => Promise<void> }} props
 */
export function Actions({ api, ask, texts, goTo, order, orderId, again }) {
  const [part, setPart] = useState("");
  const [outcome, setOutcome] = useSentence(texts, { text: "", detail: "", bad: false });
  const [busy, setBusy] = useState(false);
  const { may, amount: askedFor, chargedAmount, refundable, currency } = order;
  const whole = chargedAmount ?? askedFor;
  // When a part has gone back, the sentence and the call name the rest.
  const rest = refundable !== null && refundable < whole ? refundable : undefined;
  const money_ = (/** @type {number} */ value) => money(value, currency, texts);
  const nameOf = (/** @type {string} */ act) =>
    act === "refund" && rest !== undefined ? "act.refundRest" : `act.${act}`;
  const run = async (/** @type {string} */ act, /** @type {number | undefined} */ amount) => {
    const sum = money_(amount ?? whole);
    const kind = amount === undefined ? act : `${act}${amount === rest ? "Rest" : "Part"}`;
    const path = paths[act] ?? "";
    const body = { orderId, ...(amount === undefined ? {} : { amount }) };
    const key = path.startsWith("/gateway/") ? keyOf(path, body) : undefined;
    const person = await ask({
      title: texts(`act.${kind}`, { amount: sum }),
      sentence: texts(`act.${kind}.sentence`, { orderId, amount: sum }),
      confirm: texts(`act.${kind}.confirm`, { amount: sum }),
      critical: true,
    });
    if (!person) return;
    setBusy(true);
    setOutcome({ text: texts("act.runs"), detail: "", bad: false });
    try {
      const answer = await api.post(path, { ...body, ...(key && { idempotencyKey: key }) }, person);
      forgetKey(path, body, answer);
      setOutcome(outcomeOf(answer, texts));
    } catch {
      setOutcome({ text: texts("act.noAnswer"), detail: "", bad: true });
    }
    await again();
    setBusy(false);
  };
  if (may.length === 0 && outcome.text === "") {
    return html`<section aria-labelledby="actions-title">
      <h2 id="actions-title">${texts("act.title")}</h2>
      <p>${own(texts, whyNothing(order))}</p></section>`;
  }
  const whole_ = ["reverse", "capture", "cancel", "refund"].filter((act) => may.includes(act));
  return html`<section aria-labelledby="actions-title">
    <h2 id="actions-title">${texts("act.title")}</h2>
    <div class="row">
      ${whole_.map(
        (act) => html`<button type="button" disabled=${busy}
          onclick=${() => run(act, act === "refund" ? rest : undefined)}>
          ${texts(nameOf(act), { amount: money_(rest ?? whole) })}</button>`,
      )}
      ${
        may.includes("settle") &&
        html`<button type="button"
          onclick=${() => goTo(`in-doubt/${encodeURIComponent(orderId)}`)}>
          ${own(texts, "act.settle")}</button>`
      }
    </div>
    ${
      may.includes("refund") &&
      html`<${PartRefund} ...${{ texts, busy, part, setPart }} most=${money_(refundable)}
        refund=${(/** @type {number} */ amount) => void run("refund", amount)} />`
    }
    ${may.includes("reverse") && may.length > 1 && html`<p class="faint">${texts("act.which")}</p>`}
    <p role="status" class=${outcome.bad ? "fault" : ""}>${outcome.text}
      <${Detail} text=${outcome.detail} /></p></section>`;
}

/**
 * The form for a refund of a part, which keeps what was typed in `part`.
 * @param {{ texts: import("../texts.js").Texts, most: string, busy: boolean, part: string,
 *   setPart: (part: string) => void, refund: (amount: number) => void }} props
 */
function PartRefund({ texts, most, busy, part, setPart, refund }) {
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    refund(Number(part.replace(",", ".")));
  };
  return html`<form class="row" onsubmit=${submit}>
    <label>${texts("act.part", { amount: most })}
      <input required inputmode="decimal" pattern="\\d{1,8}([.,]\\d{1,4})?" autocomplete="off"
        size="10" value=${part}
        oninput=${(/** @type {any} */ event) => setPart(event.target.value)} />
    </label>
    <button type="submit" disabled=${busy}>${texts("act.refundPart")}</button></form>`;
}

/**
 * Returns whether the money went back on the terminal, and the gateway still has the order.
 * @param {any} order
 */
export function isReversedHereOnly({ status, attempts, gateway }) {
  const events = attempts.flatMap((/** @type {any} */ one) => one.events);
  // A reversal with a reference was only passed on: its money went back at the gateway.
  const isHere = (/** @type {any} */ { kind, reference }) =>
    kind === "found-reversed" || (kind === "reversal-begins" && !reference);
  const isHeld = /^(authorized|captured)$/.test(gateway?.state);
  return status === "Reversed" && isHeld && events.some(isHere);
}

/** @param {any} order */
function whyNothing(order) {
  const { status, error, notes } = order;
  const isOpen = notes.some((/** @type {any} */ { note }) => /^(cancel|refund)-open$/.test(note));
  if (isOpen) return "error.GATEWAY_OPERATION_OPEN";
  const isRunning = error?.code === "PAYMENT_RUNNING" || error?.details?.asking;
  if (status === "Approved" || isRunning) return "act.later";
  if (isReversedHereOnly(order)) return "condition.reversed-at-terminal-only.todo";
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
 * @param {import("../texts.js").Texts} texts
 */
export function outcomeOf({ status, body, replayed }, texts) {
  if (status === 200) {
    return { text: texts(replayed ? "act.doneBefore" : "act.done"), detail: "", bad: false };
  }
  const nothing = { text: texts("noAnswer"), detail: "" };
  const { text, detail = "" } = body?.error ? refusal(texts, body.error) : nothing;
  // `status` is about the call, `charged` about the order: a charged order's refund can be unknown.
  const open = body?.status === "Unknown";
  return { text: `${texts(open ? "act.unknown" : "act.refused")} ${text}`, detail, bad: true };
}
