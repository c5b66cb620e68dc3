import { moneyOfMinor, timeOf } from "../format.js";
import { Because, GatewayFaults } from "../in-doubt/others.js";
import { Facts, OrderLink } from "../parts.js";
import { faultOf, useSentence } from "../sentences.js";
import { html, useState } from "../vendor/htm-preact.js";
import { Table } from "./table.js";

/**
 * The ends of day with their totals, next to those of the journal and of the gateway.
 * @param {import("../main.js").ViewProps & { day: any, isToday: boolean,
 *   again: () => Promise<void> }} props
 */
export function EndsOfDay({ api, ask, texts, day, isToday, again }) {
  const [outcome, setOutcome] = useSentence(texts, { text: "", bad: false });
  const [busy, setBusy] = useState(false);
  const close = async () => {
    const person = await ask({
      title: texts("eod.run"),
      sentence: texts("eod.sentence"),
      confirm: texts("eod.confirm"),
    });
    if (!person) return;
    setBusy(true);
    setOutcome({ text: texts("eod.runs"), bad: false });
    try {
      const { status, body } = await api.post("/tlc", undefined, person);
      const done = status === 200;
      const why = done ? "" : ` ${faultOf(texts, body.error)}`;
      const isOpen = body.status === "Unknown";
      const end = done ? "eod.done" : isOpen ? "act.unknown" : "eod.failed";
      setOutcome({ text: texts(end) + why, bad: !done });
    } catch {
      setOutcome({ text: texts("act.noAnswer"), bad: true });
    }
    await again();
    setBusy(false);
  };
  return html`<section aria-labelledby="eod-title">
    <h2 id="eod-title">${texts("eod.title")}</h2>
    ${day.endsOfDay.length === 0 && html`<p>${texts("eod.none")}</p>`}
    ${day.endsOfDay.map(
      (/** @type {any} */ one) => html`<${Closing} key=${one.startedAt} one=${one}
      unit=${day.sums[0]?.currency ?? "EUR"} texts=${texts} />`,
    )}
    ${
      isToday &&
      html`<button type="button" disabled=${busy} onclick=${close}>${texts("eod.run")}</button>`
    }
    <p role="status" class=${outcome.bad ? "fault" : ""}>${outcome.text}</p></section>`;
}

/**
 * @param {{ one: any, unit: string, texts: import("../texts.js").Texts }} props
 */
function Closing({ one, unit, texts }) {
  const { startedAt, askedBy, end, text, applications, ticket, reconciliation } = one;
  const isGood = end === "completed";
  const currency = reconciliation?.currency ?? unit;
  const cards = applications.map((/** @type {any} */ { name, count, sumMinor }) => [
    name,
    count,
    moneyOfMinor(sumMinor, currency, texts),
  ]);
  return html`<article class="closing">
    <h3>${timeOf(startedAt, texts)}${texts("colon")}<span class=${isGood ? "" : "bad-text"}>
      ${texts(`eod.end.${end ?? "open"}`)}</span></h3>
    <p>${texts(`eod.by.${askedBy}`)}${text && html` <q lang="en">${text}</q>`}</p>
    ${
      applications.length > 0 &&
      html`<${Table} title=${texts("eod.cards")} rows=${cards}
        heads=${[texts("eod.card"), texts("eod.count"), texts("eod.sum")]} />`
    }
    ${reconciliation && html`<${Compared} it=${reconciliation} texts=${texts} />`}
    ${
      ticket &&
      html`<details><summary>${texts("eod.ticket")}</summary>
      <pre class="paper" lang="">${String(ticket).replaceAll("|", "\n")}</pre></details>`
    }
  </article>`;
}

/** @param {{ it: any, texts: import("../texts.js").Texts }} props */
function Compared({ it, texts }) {
  const { result, because, terminal, journal, differenceMinor, currency, orders, gateway } = it;
  const sum = (/** @type {any} */ totals, /** @type {string} */ unit = currency ?? "EUR") =>
    totals
      ? texts("eod.countAndSum", {
          count: totals.count ?? "?",
          sum: moneyOfMinor(totals.sumMinor, unit, texts),
        })
      : texts("notKnown");
  const isGood = result === "agrees";
  const kind = isGood ? "good-text" : result === "differs" ? "bad-text" : "";
  const difference = moneyOfMinor(Math.abs(differenceMinor ?? 0), currency ?? "EUR", texts);
  const isLess = differenceMinor !== null && differenceMinor < 0;
  const key = result !== "differs" ? result : differenceMinor ? "differs" : "gateway";
  /** @type {(rows: Array<[string, unknown]>) => unknown} */
  const facts = (rows) => html`<${Facts} texts=${texts} rows=${rows} />`;
  /** @type {(one: any) => [string, unknown]} */
  const journalOf = (one) => ["eod.journal", sum(one.charged, one.currency)];
  return html`
    <p class=${kind}>${texts(`eod.result.${isLess ? "less" : key}`, { difference })}</p>
    ${!isGood && html`<p><${Because} texts=${texts} text=${because} /></p>`}
    ${
      terminal &&
      facts([
        ["eod.terminal", sum(terminal)],
        ["eod.journal", sum(journal)],
      ])
    }
    ${(gateway?.sums ?? []).map((/** @type {any} */ one) =>
      facts([
        // The terminal's own totals stand next to those of the journal above.
        ...(terminal ? [] : [journalOf(one)]),
        ["eod.sent", sum(one.sent, one.currency)],
        ["eod.waiting", sum(one.waiting, one.currency)],
        ["eod.closed", sum(one.closed, one.currency)],
      ]),
    )}
    ${
      gateway?.faults.length > 0 &&
      html`<${GatewayFaults} texts=${texts} faults=${gateway.faults} />`
    }
    ${
      orders.length > 0 &&
      html`<p>${texts("eod.orders")}</p><ul>${orders.map(
        (
          /** @type {any} */ { orderId, amountMinor },
        ) => html`<li><${OrderLink} orderId=${orderId} />
          ${" "}${moneyOfMinor(amountMinor, currency ?? "EUR", texts)}</li>`,
      )}</ul>`
    }`;
}
