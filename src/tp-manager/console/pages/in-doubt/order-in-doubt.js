import { noteOf, useReading } from "../actions.js";
import { money, moneyOfMinor, plainNumber, terminalTimeOf, timeOf } from "../format.js";
import { isReversalOpen } from "../open-reversal.js";
import { Facts } from "../parts.js";
import { askingText, Detail, own } from "../sentences.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/htm-preact.js";
import { recalledKey, sentencesOf } from "../views/step-texts.js";
import { against, attemptOf, likely, same } from "./likely.js";
import { Difference } from "./others.js";

/**
 * One payment in doubt: what is likely, its evidence side by side, and the form for a person's
 * settlement. A warning comes first while the connector itself still asks the terminal.
 * @param {import("../main.js").ViewProps & { listed: any, compared: any[], act: any,
 *   first: boolean }} props
 */
export function OrderInDoubt(props) {
  const { api, texts, listed, compared, first } = props;
  const head = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (first) head.current?.focus();
  }, [first]);
  /** @type {ReturnType<typeof useReading<any>>} */
  const { value: found, fault, read } = useReading(texts);
  // The evidence grows while the status stays the same, so it is read again with the list.
  useEffect(
    () => void read(() => api.get(`/story/${encodeURIComponent(listed.orderId)}`)),
    [listed],
  );
  const id = `doubt-${listed.transactionId}`;
  const title = texts("timeline.title", { orderId: listed.orderId });
  const asked = money(listed.amount, listed.currency, texts);
  const { error } = listed;
  const isReversal = isReversalOpen(error);
  const unknown = isReversal ? texts("reversal.unknown") : own(texts, `error.${error?.code}`);
  const asking = (found ?? listed).error?.details?.asking;
  const warning =
    asking &&
    html`<p class="note warn"><strong>${askingText(asking, texts)}</strong>
      ${" "}${texts(`likely.because.${asking.until === null ? "away" : "asking"}`)}</p>`;
  const judged = found && likely(found, compared);
  return html`<section aria-labelledby=${id}>
    <h2 id=${id} ref=${head} tabindex="-1">${title}${texts("colon")}${asked}</h2>
    <p>${timeOf(listed.startedAt, texts)} –
      ${" "}${unknown}
      <${Detail} text=${error?.details?.why ?? error?.message} /></p>
    ${fault && html`<p class="fault" role="status">${fault}</p>`}
    <div role="status">${warning}</div>
    ${
      found &&
      html`<${Judgement} texts=${texts} judged=${judged} />
      <${Evidence} ...${props} found=${found} />`
    }
    ${
      found?.settlement?.from &&
      html`<p class="note">${texts("settle.waitsUntil", {
        time: timeOf(found.settlement.from, texts),
      })}</p>`
    }
    ${
      found?.may.includes("settle") &&
      html`<${SettlementForm} ...${props} warning=${warning} settlement=${found.settlement}
        evidenceAgainst=${(/** @type {string} */ outcome) => against(found, judged, outcome)} />`
    }
  </section>`;
}

/** @param {any} props */
function Evidence({ texts, found, compared }) {
  const attempt = attemptOf(found);
  const { currency } = found;
  const stored = answersOf(attempt, texts);
  const steps = sentencesOf(attempt.events, currency, texts).map(
    ({ text, quote }) => html`${text}${quote && html` <q lang="en">${quote}</q>`}`,
  );
  const own = compared.filter((/** @type {any} */ one) =>
    one.orders.some((/** @type {any} */ order) => order.transactionId === found.transactionId),
  );
  return html`<div class="side-by-side">
    <div><h3>${texts("inDoubt.sent")}</h3>
      <p>${texts("inDoubt.sentWords", {
        amount: money(attempt.amount, currency, texts),
        time: timeOf(attempt.startedAt, texts),
        number: attempt.number,
      })}</p></div>
    ${stored.slice(0, 1)}
    <div><h3>${texts("timeline.steps")}</h3>
      <ol class="plain">${attempt.events.map(
        (/** @type {any} */ event, /** @type {number} */ at) => html`<li key=${at}>
          <span class="faint">${timeOf(event.at, texts)}</span> ${steps[at]}
          ${event.report && transaction({ report: event.report }, texts)}</li>`,
      )}</ol></div>
    ${stored.slice(1)}
    <div><h3>${texts("inDoubt.ticket")}</h3>
      ${
        found.ticket
          ? html`<pre>${found.ticket.replaceAll("|", "\n")}</pre>`
          : texts("inDoubt.noTicket")
      }
    </div>
    <div><h3>${texts("inDoubt.gateway")}</h3>${gateway(found, texts)}</div>
    <div><h3>${texts("inDoubt.totals")}</h3>
      ${
        own.length === 0
          ? texts("inDoubt.noTotals")
          : own.map(
              (/** @type {any} */ one) => html`<p key=${one.id}>
          ${timeOf(one.at, texts)}${texts("colon")}<${Difference} texts=${texts} one=${one} />
          ${
            one.differenceMinor !== null &&
            html` (${moneyOfMinor(one.differenceMinor, one.currency ?? currency, texts)})`
          }</p>`,
            )
      }
    </div>
  </div>`;
}

/**
 * Returns what the terminal has stored before and after a command; of a terminal that is asked by
 * id, what it answered about the command.
 * @param {any} attempt
 * @param {import("../texts.js").Texts} texts
 */
function answersOf({ events, baseline }, texts) {
  const begun = events.findLastIndex((/** @type {any} */ { kind }) => kind === "reversal-begins");
  const command = begun < 0 ? "payment" : "reversal";
  const since = events.slice(begun + 1);
  const probes = since.flatMap((/** @type {any} */ { observation }) => observation ?? []);
  const box = (/** @type {string} */ key, /** @type {unknown} */ content) =>
    html`<div><h3>${texts(`inDoubt.${key}`)}</h3>${content}</div>`;
  const isById = probes.some((/** @type {any} */ { recalled }) => recalled);
  if (isById || events[begun]?.reference) {
    return [box(`answered.${command}`, answerById(since, command, texts))];
  }
  const before = baseline?.last;
  const last = probes.at(-1)?.last;
  const isSame = before?.report && last?.report && same(before.report, last.report);
  const after = isSame ? texts("inDoubt.unchanged") : transaction(last, texts);
  return [box("before", transaction(before, texts)), box("after", after)];
}

/**
 * Returns what the terminal answered about a command: its newest answer to the command itself, and
 * what it said after that.
 * @param {readonly any[]} events those since the command
 * @param {"payment" | "reversal"} command
 * @param {import("../texts.js").Texts} texts
 */
function answerById(events, command, texts) {
  if (events.some(({ kind, code }) => kind === "recovery-requested" || code === "requested")) {
    return html`<p>${texts("timeline.step.reversal-received")}</p>`;
  }
  const answers = events.flatMap(({ observation }) => observation?.recalled ?? []);
  if (answers.length === 0) return html`<p>${texts("inDoubt.notAsked")}</p>`;
  const answered = answers.findLast(({ kind }) => kind === "answered");
  const { kind } = answers.at(-1);
  const key = `timeline.step.${recalledKey(kind, command)}`;
  return html`${answered && transaction(answered, texts)}
    ${kind !== "answered" && html`<p>${texts(key)}</p>`}`;
}

/**
 * A transaction as the terminal reported it.
 * @param {any} last
 * @param {import("../texts.js").Texts} texts
 */
function transaction(last, texts) {
  const report = last?.report;
  if (!report) {
    const known = last?.kind === undefined ? "inDoubt.notAsked" : `inDoubt.last.${last.kind}`;
    const text = texts(known);
    return html`<p>${text === known ? texts("inDoubt.noAnswer") : text}</p>`;
  }
  const { amountMinor, receiptNumber, traceNumber, maskedPan, cardName } = report;
  const currency = report.receipt?.currencyAlphaCode || "EUR";
  const time = terminalTimeOf(report.localDate, report.localTime, texts);
  /** @type {Array<[string, unknown]>} */
  const rows = [
    ["inDoubt.amount", moneyOfMinor(amountMinor, currency, texts)],
    ["inDoubt.result", resultOf(report, texts)],
    ["inDoubt.receipt", receiptNumber],
    ["inDoubt.trace", traceNumber],
    ["inDoubt.card", [cardName, maskedPan].filter((one) => one).join(" ")],
    ["inDoubt.time", time],
  ];
  return html`<${Facts} texts=${texts} tight rows=${rows.filter(([, value]) => value)} />`;
}

/**
 * Returns the page's sentence for a good result, and the terminal's text for any other result.
 * @param {any} report
 * @param {import("../texts.js").Texts} texts
 */
function resultOf({ good, resultText, resultCode }, texts) {
  if (good) return texts("inDoubt.result.good");
  const text = resultText || resultCode;
  return text && html`<q lang="en">${text}</q>`;
}

/**
 * @param {any} found the answer of GET /story/{orderId}
 * @param {import("../texts.js").Texts} texts
 */
function gateway({ gateway: order, delivery }, texts) {
  if (!order) return html`<p>${texts("inDoubt.gatewayNever")}</p>`;
  const { problem, state, operations = [], possibleOrders = 0 } = order;
  // Before the gateway has notified anything, only the way to it is known.
  const stands =
    state === "unknown" && delivery ? `timeline.delivery.${delivery}` : `gateway.${state}`;
  const lost = operations.filter((/** @type {any} */ one) => one.state === "unknown");
  return html`<p>${problem ? texts("timeline.gatewaySilent") : texts(stands)}</p>
    ${lost.map(
      (/** @type {any} */ one) => html`<p key=${one.operationId}>
      ${texts("inDoubt.operationLost", { kind: texts(`timeline.op.${one.kind}`) })}</p>`,
    )}
    ${possibleOrders > 1 && html`<p>${texts("inDoubt.copies", { count: possibleOrders })}</p>`}`;
}

/**
 * `warns`: it speaks against what a person is about to decide.
 * @param {any} props
 */
function Judgement({ texts, judged: { verdict, because }, warns = false }) {
  if (verdict === "asking") return null;
  const kind = warns ? "note warn" : "note";
  return html`<p class=${kind}><strong>${texts(`likely.${verdict}`)}</strong>
    ${" "}${texts(`likely.because.${because}`)}</p>`;
}

/**
 * The form in which a person settles an order, or corrects a decision: what became of it, and the
 * amount. It begins with a warning while the connector itself still asks the terminal, and form and
 * dialogue warn of a decision against the evidence.
 * @param {any} props
 */
function SettlementForm({ texts, listed, act, warning, evidenceAgainst, settlement }) {
  const { orderId, currency, transactionId } = listed;
  const [outcome, setOutcome] = useState("");
  const [typed, setAmount] = useState(/** @type {string | null} */ (null));
  const [only, ...others] = settlement.amounts;
  const isCertain = only !== undefined && others.length === 0;
  const amount = typed ?? (isCertain ? plainNumber(only, texts) : "");
  const isReversal = settlement.outcomes.includes("reversed");
  const isCharged = outcome === "charged" && !isReversal;
  // The sale of a reversal that failed stands, and is not handed off once more.
  const nameOf = (/** @type {string} */ one) =>
    `settle.${one === "charged" && isReversal ? "kept" : one}`;
  const judged = evidenceAgainst(outcome);
  const contrary = judged && html`<${Judgement} texts=${texts} judged=${judged} warns />`;
  const settle = (/** @type {Event} */ event) => {
    event.preventDefault();
    const charged = Number(amount.replace(",", "."));
    const sum = money(isCharged ? charged : listed.amount, currency, texts);
    const body = (/** @type {import("../api.js").Person} */ person) => ({
      outcome,
      note: noteOf(person),
      attempt: settlement.attempt,
      ...(isCharged ? { amount: charged } : {}),
    });
    const title = texts(`${nameOf(outcome)}.title`, { amount: sum });
    void act(`/payment/${encodeURIComponent(orderId)}/settle`, body, {
      title,
      sentence: texts(`${nameOf(outcome)}.sentence`, { orderId, amount: sum }),
      confirm: title,
      critical: true,
      more: (warning || contrary) && html`${warning}${contrary}`,
      orderId,
    });
  };
  const name = `settle-${transactionId}`;
  return html`<form onsubmit=${settle}>
    ${warning}
    <fieldset>
      <legend>${texts("settle.title")}</legend>
      ${settlement.outcomes.map(
        (
          /** @type {string} */ one,
        ) => html`<label key=${one}><input type="radio" name=${name} value=${one} required
          checked=${outcome === one} onchange=${() => setOutcome(one)} /> ${texts(nameOf(one))}
        </label>`,
      )}
      ${
        isCharged &&
        html`<label>${texts("settle.amount", { currency })}
        <input inputmode="decimal" required pattern="[0-9]+([.,][0-9]+)?" value=${amount}
          oninput=${(/** @type {any} */ { target }) => setAmount(target.value)} /></label>`
      }
    </fieldset>
    <div aria-live="polite">${contrary}</div>
    <button type="submit" disabled=${outcome === ""}>${texts("settle.go")}</button>
  </form>`;
}
