import { useReading } from "../actions.js";
import { timeOf } from "../format.js";
import { own } from "../sentences.js";
import { html } from "../vendor/htm-preact.js";
import { actionText, endText } from "./entry-texts.js";

/**
 * The audit entries, newest first.
 * @param {import("../main.js").ViewProps} props
 */
export function AuditEntries({ api, texts }) {
  /** @type {ReturnType<typeof useReading<{ entries: any[], next: string | null }>>} */
  const { value, fault, read } = useReading(texts);
  const show = (/** @type {string | null} */ cursor) =>
    read(
      () => api.list(`/acts${cursor ? `?cursor=${cursor}` : ""}`),
      ({ body, next }, before) => ({
        entries: [...(cursor ? (before?.entries ?? []) : []), ...body],
        next,
      }),
    );
  return html`<section aria-labelledby="audit-title">
    <h2 id="audit-title">${texts("audit.title")}</h2>
    <button type="button" onclick=${() => show(null)}>${texts("audit.show")}</button>
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${value?.entries.length === 0 && html`<p>${texts("audit.none")}</p>`}
    ${
      value &&
      html`<ul class="plain">${value.entries.map(
        (one) => html`<li key=${one.id}>
      ${timeOf(one.at, texts)} <strong>${one.name}</strong> (${one.login}): ${one.reason}<br />
      ${actionText(one, texts)} → ${endText(one, texts, (code) => reasonOf(code, texts))}
      <details class="faint"><summary>${texts("audit.raw")}</summary>
        <code>${one.call}</code> ${one.body && html`<code>${one.body}</code>`}</details>
      </li>`,
      )}</ul>`
    }
    ${
      value?.next &&
      html`<button type="button" onclick=${() => show(value.next)}>${texts("audit.more")}</button>`
    }
  </section>`;
}

/**
 * Returns the sentence for an entry's code. An entry does not have whether PAYMENT_UNKNOWN is about
 * a payment or about its reversal.
 * @param {string} code
 * @param {import("../texts.js").Texts} texts
 */
export function reasonOf(code, texts) {
  if (code === "PAYMENT_UNKNOWN") return texts("audit.unknown");
  return own(texts, `error.${code}`, texts("error.other"));
}
