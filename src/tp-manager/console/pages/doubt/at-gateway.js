import { money, timeOf } from "../format.js";
import { faultOf, own, useTold } from "../said.js";
import { html } from "../vendor/htm-preact.js";

/**
 * Operations of the gateway whose answer was lost, and orders that it may have more than once, each
 * with the words that a person can say about it.
 * @param {any} props
 */
export function AtGateway({ open, ...props }) {
  const { operations, copies, more } = open;
  if (operations.length + copies.length === 0) return null;
  const { words } = props;
  return html`<section aria-labelledby="lost-title">
    <h2 id="lost-title">${words("lost.title")}</h2>
    <p>${words("lost.words")}</p>
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
    ${more && html`<p>${words("lost.more")}</p>`}
  </section>`;
}

/** @param {any} props */
function Operation({ api, words, language, operation, act, again }) {
  const { transactionPublicId, currency } = operation;
  const [said, setSaid] = useTold(words, "");
  const order =
    operation.orderId === null
      ? words("lost.foreign")
      : words("story.title", { orderId: operation.orderId });
  const kind = words(`story.op.${operation.kind}`);
  const amount =
    operation.amount === null ? words("lost.all") : money(operation.amount, currency, language);
  const settle = (/** @type {boolean} */ happened) => {
    const key = happened ? "lost.happened" : "lost.not";
    const body = (/** @type {import("../api.js").Person} */ { name, reason }) => ({
      transactionPublicId,
      happened,
      note: `${reason} (${name})`,
    });
    void act("/gateway/settle", body, {
      title: words(key),
      sentence: words(`${key}.sentence`, { kind, amount, order }),
      confirm: words("word.say"),
      grave: true,
    });
  };
  const look = async () => {
    try {
      const path = `/gateway/transaction/${encodeURIComponent(transactionPublicId)}`;
      const { status, body } = await api.get(path);
      setSaid(
        status === 200
          ? words("lost.state", { state: own(words, `gateway.${body.state}`, body.state) })
          : faultOf(words, body.error),
      );
    } catch {
      setSaid(words("noAnswer"));
    }
    again();
  };
  const time = timeOf(operation.askedAt, language);
  return html`<li>
    <p><strong>${order}</strong>${words("colon")}
      ${words("lost.asked", { kind, amount, time, id: transactionPublicId })}
      ${operation.description && html`<br /><q lang="en">${operation.description}</q>`}</p>
    <div class="row">
      <button type="button" onclick=${look}>${words("lost.look")}</button>
      <button type="button" onclick=${() => settle(true)}>${words("lost.happened")}</button>
      <button type="button" onclick=${() => settle(false)}>${words("lost.not")}</button>
    </div>
    <p role="status">${said}</p></li>`;
}

/** @param {any} props */
function Copies({ words, language, order, act }) {
  const { orderId, currency, possibleOrders: count, transactionPublicIds, mayBeSent } = order;
  const amount = money(order.amount, currency, language);
  const ids = transactionPublicIds.join(", ") || words("lost.noIds");
  const once = () =>
    act(
      "/gateway/copies",
      (/** @type {import("../api.js").Person} */ { name, reason }) => ({
        orderId,
        note: `${reason} (${name})`,
      }),
      {
        title: words("lost.once"),
        sentence: words("lost.once.sentence", { orderId, amount }),
        confirm: words("word.say"),
        grave: true,
      },
    );
  return html`<li>
    <p><strong>${words("story.title", { orderId })}</strong>${words("colon")}${amount}<br />
      ${words("lost.copies", { count, ids })}</p>
    ${
      mayBeSent
        ? html`<p>${words("lost.waits")}</p>`
        : html`<button type="button" onclick=${once}>${words("lost.once")}</button>`
    }</li>`;
}
