import { moneyOfMinor, timeOf } from "../format.js";
import { faultOf, useTold } from "../said.js";
import { html, useState } from "../vendor/htm-preact.js";

/**
 * The ends of day with their totals, beside the journal and the gateway.
 * @param {import("../main.js").ViewProps & { day: any, isToday: boolean,
 *   again: () => Promise<void> }} props
 */
export function EndsOfDay({ api, ask, words, language, day, isToday, again }) {
  const [told, setTold] = useTold(
    words,
    /** @type {{ text: string, bad: boolean } | null} */ (null),
  );
  const [busy, setBusy] = useState(false);
  const close = async () => {
    const person = await ask({
      title: words("eod.run"),
      sentence: words("eod.sentence"),
      confirm: words("eod.confirm"),
    });
    if (!person) return;
    setBusy(true);
    setTold({ text: words("eod.runs"), bad: false });
    try {
      const { status, body } = await api.post("/tlc", undefined, person);
      const done = status === 200;
      const why = done ? "" : ` ${faultOf(words, body.error)}`;
      setTold({ text: words(done ? "eod.done" : "eod.failed") + why, bad: !done });
    } catch {
      setTold({ text: words("act.noAnswer"), bad: true });
    }
    await again();
    setBusy(false);
  };
  return html`<section aria-labelledby="eod-title">
    <h2 id="eod-title">${words("eod.title")}</h2>
    ${day.endsOfDay.length === 0 && html`<p>${words("eod.none")}</p>`}
    ${day.endsOfDay.map(
      (/** @type {any} */ one) => html`<${Closing} key=${one.startedAt} one=${one}
      unit=${day.sums[0]?.currency ?? "EUR"} words=${words} language=${language} />`,
    )}
    ${isToday && html`<button type="button" disabled=${busy} onclick=${close}>${words("eod.run")}</button>`}
    <p role="status" class=${told?.bad ? "fault" : ""}>${told?.text ?? ""}</p></section>`;
}

/**
 * @param {{ one: any, unit: string, words: import("../words.js").Words, language: string }} props
 */
function Closing({ one, unit, words, language }) {
  const { startedAt, askedBy, end, text, applications, ticket, reconciliation } = one;
  const isGood = end === "completed";
  const currency = reconciliation?.currency ?? unit;
  return html`<article class="closing">
    <h3>${timeOf(startedAt, language)}${words("colon")}<span class=${isGood ? "" : "bad-word"}>
      ${words(`eod.end.${end ?? "open"}`)}</span></h3>
    <p>${words(`eod.by.${askedBy}`)}${text && html` <q lang="en">${text}</q>`}</p>
    ${
      applications.length > 0 &&
      html`<div class="scroll" role="region" tabindex="0" aria-label=${words("eod.cards")}><table>
      <caption class="out">${words("eod.cards")}</caption>
      <thead><tr><th scope="col">${words("eod.card")}</th><th scope="col">${words("eod.count")}</th>
        <th scope="col">${words("eod.sum")}</th></tr></thead>
      <tbody>${applications.map(
        (
          /** @type {any} */ card,
        ) => html`<tr><th scope="row">${card.name}</th><td>${card.count}</td>
          <td>${moneyOfMinor(card.sumMinor, currency, language)}</td></tr>`,
      )}</tbody></table></div>`
    }
    ${
      reconciliation &&
      html`<${Compared} it=${reconciliation} words=${words} language=${language} />`
    }
    ${
      ticket &&
      html`<details><summary>${words("eod.ticket")}</summary>
      <pre class="paper" lang="">${String(ticket).replaceAll("|", "\n")}</pre></details>`
    }
  </article>`;
}

/** @param {{ it: any, words: import("../words.js").Words, language: string }} props */
function Compared({ it, words, language }) {
  const { result, because, terminal, journal, differenceMinor, currency, orders, gateway } = it;
  const sum = (/** @type {any} */ told, /** @type {string} */ unit = currency ?? "EUR") =>
    told
      ? words("eod.countAndSum", {
          count: told.count ?? "?",
          sum: moneyOfMinor(told.sumMinor, unit, language),
        })
      : words("notKnown");
  const isGood = result === "agrees";
  const kind = isGood ? "good-word" : result === "differs" ? "bad-word" : "";
  const difference = moneyOfMinor(Math.abs(differenceMinor ?? 0), currency ?? "EUR", language);
  const isLess = differenceMinor !== null && differenceMinor < 0;
  const word = result !== "differs" ? result : differenceMinor ? "differs" : "gateway";
  return html`
    <p class=${kind}>${words(`eod.result.${isLess ? "less" : word}`, { difference })}</p>
    ${!isGood && html`<p lang="en" class="faint">${because}</p>`}
    ${
      terminal &&
      html`<dl>
      <div><dt>${words("eod.terminal")}</dt><dd>${sum(terminal)}</dd></div>
      <div><dt>${words("eod.journal")}</dt><dd>${sum(journal)}</dd></div>
    </dl>`
    }
    ${(gateway?.sums ?? []).map(
      (/** @type {any} */ one) => html`<dl>
        <div><dt>${words("eod.sent")}</dt><dd>${sum(one.sent, one.currency)}</dd></div>
        <div><dt>${words("eod.waiting")}</dt><dd>${sum(one.waiting, one.currency)}</dd></div>
        <div><dt>${words("eod.closed")}</dt><dd>${sum(one.closed, one.currency)}</dd></div>
      </dl>`,
    )}
    ${
      gateway?.faults.length > 0 &&
      html`<p>${words("eod.faults")}</p><ul>${gateway.faults.map(
        (/** @type {any} */ fault) => html`<li>
          <a href=${`#payments/${encodeURIComponent(fault.orderId)}`}>${fault.orderId}</a>
          ${" "}${moneyOfMinor(fault.amountMinor, fault.currency, language)}${" "}
          <span lang="en">${fault.because}</span></li>`,
      )}</ul>`
    }
    ${
      orders.length > 0 &&
      html`<p>${words("eod.orders")}</p><ul>${orders.map(
        (/** @type {any} */ order) => html`<li>
        <a href=${`#payments/${encodeURIComponent(order.orderId)}`}>${order.orderId}</a>
        ${" "}${moneyOfMinor(order.amountMinor, currency ?? "EUR", language)}</li>`,
      )}</ul>`
    }`;
}
