import { noteOf, outcomeOf } from "../actions.js";
import { money, timeOf } from "../format.js";
import { OutcomeText, own, useOutcome } from "../sentences.js";
import { html } from "../vendor/htm-preact.js";

/**
 * Shows operations whose answer from the gateway was lost, and orders that the gateway may have
 * twice, each with the decisions that a person can make about it.
 * @param {any} props
 */
export function AtGateway({ open, ...props }) {
  const { operations, copies, more } = open;
  if (operations.length + copies.length === 0) return null;
  const { texts } = props;
  return html`<section aria-labelledby="lost-title">
    <h2 id="lost-title">${texts("lost.title")}</h2>
    ${operations.length > 0 && html`<p>${texts("lost.words")}</p>`}
    <ul class="plain">
      ${operations.map(
        (/** @type {any} */ one) =>
          html`<${Operation} key=${one.operationId} ...${props} operation=${one} />`,
      )}
      ${copies.map(
        (/** @type {any} */ one) =>
          html`<${Copies} key=${one.transactionId} ...${props} order=${one} />`,
      )}
    </ul>
    ${more && html`<p>${texts("lost.more")}</p>`}
  </section>`;
}

/** @param {any} props */
function Operation({ api, texts, operation, act, again }) {
  const { transactionPublicId, orderId, currency, description } = operation;
  const [answer, setAnswer] = useOutcome(texts);
  const order = orderId === null ? texts("lost.foreign") : texts("timeline.title", { orderId });
  const kind = texts(`timeline.op.${operation.kind}`);
  const amount =
    operation.amount === null ? texts("lost.all") : money(operation.amount, currency, texts);
  const settle = (/** @type {boolean} */ happened) => {
    const key = happened ? "lost.happened" : "lost.not";
    const body = (/** @type {import("../api.js").Person} */ person) => ({
      transactionPublicId,
      happened,
      note: noteOf(person),
    });
    void act("/gateway/settle", body, {
      title: texts(key),
      sentence: texts(`${key}.sentence`, { kind, amount, order }),
      confirm: texts("settle.say"),
      critical: true,
      orderId,
    });
  };
  const askGateway = async () => {
    const call = () => api.get(`/gateway/transaction/${encodeURIComponent(transactionPublicId)}`);
    const done = (/** @type {any} */ { state }) => ({
      text: texts("lost.state", { state: own(texts, `gateway.${state}`, state) }),
    });
    const outcome = await outcomeOf(texts, call, done, true);
    setAnswer(outcome);
    again();
  };
  const time = timeOf(operation.askedAt, texts);
  return html`<li>
    <p><strong>${order}</strong>${texts("colon")}
      ${texts("lost.asked", { kind, amount, time, id: transactionPublicId })}
      ${description && html`<br /><q lang="en">${description}</q>`}</p>
    <div class="row">
      <button type="button" onclick=${askGateway}>${texts("lost.ask")}</button>
      <button type="button" onclick=${() => settle(true)}>${texts("lost.happened")}</button>
      <button type="button" onclick=${() => settle(false)}>${texts("lost.not")}</button>
    </div>
    <p role="status"><${OutcomeText} outcome=${answer} /></p></li>`;
}

/** @param {any} props */
function Copies({ texts, order, act }) {
  const { orderId, currency, possibleOrders: count, transactionPublicIds, mayBeSent } = order;
  const amount = money(order.amount, currency, texts);
  const ids = transactionPublicIds.join(", ") || texts("lost.noIds");
  const body = (/** @type {import("../api.js").Person} */ person) => ({
    orderId,
    note: noteOf(person),
  });
  const question = {
    title: texts("lost.once"),
    sentence: texts("lost.once.sentence", { orderId, amount }),
    confirm: texts("settle.say"),
    critical: true,
    orderId,
  };
  return html`<li>
    <p><strong>${texts("timeline.title", { orderId })}</strong>${texts("colon")}${amount}<br />
      ${texts("lost.copies", { count, ids })}</p>
    ${
      mayBeSent
        ? html`<p>${texts("lost.waits")}</p>`
        : html`<p>${texts("lost.check")}</p>
          <button type="button" onclick=${() => act("/gateway/copies", body, question)}>
          ${texts("lost.once")}</button>`
    }</li>`;
}
