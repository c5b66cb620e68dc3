import { h, moneyText, timeOf } from "./dom.js";
import { summaryOf } from "./fleet.js";

/**
 * @import { Child } from "./dom.js"
 * @import { Kiosk, Metrics } from "./fleet.js"
 */

/** @typedef {[name: string, value: Child]} Row */

/**
 * One kiosk, all that is known of it.
 * @param {Kiosk} kiosk
 * @param {() => void} onClose
 */
export function kioskView(kiosk, onClose) {
  const heading = h("h2", { tabindex: "-1", id: "kiosk-heading" }, kiosk.name);
  const close = h("button", { type: "button", onclick: onClose }, "Close");
  return h(
    "div",
    { class: "kiosk" },
    h("div", { class: "bar" }, heading, close),
    facts("State", stateFacts(kiosk)),
    table("Alarms", ["When", "Alarm", "Phase", "From", "Transaction"], kiosk.alarm, (one) => [
      timeOf(one.at),
      one.alarm,
      one.phase,
      one.source ?? "",
      one.transactionId ?? "",
    ]),
    table(
      "Last payments",
      ["When", "Outcome", "Charged", "Amount", "Error"],
      kiosk.payment,
      (one) => [
        timeOf(one.at),
        one.outcome,
        one.charged,
        moneyText(one.chargedAmountMinor ?? one.amountMinor, one.currency),
        one.error ?? "",
      ],
    ),
    table(
      "Reconciliation",
      ["When", "Kind", "Result", "Count", "Sum", "Difference"],
      kiosk.reconciliation,
      (one) => [
        timeOf(one.at),
        one.kind,
        one.result,
        one.transactions ?? "",
        moneyText(one.sumMinor, one.currency),
        moneyText(one.differenceMinor, one.currency),
      ],
    ),
    facts("Figures", metricFacts(kiosk.metrics)),
  );
}

/**
 * @param {Kiosk} kiosk
 * @returns {Row[]}
 */
function stateFacts(kiosk) {
  const { state } = kiosk;
  if (!state) return [];
  /** @type {Row[]} */
  const rows = [
    ["State", summaryOf(kiosk)[0]],
    ["Connection", state.connection],
    ["Since", timeOf(state.since)],
    ["Reported", timeOf(state.at)],
  ];
  const { now } = state;
  if (!now) return rows;
  const { terminal, payments, gateway, versions, update } = now;
  rows.push(
    ["Can take payments", now.canPay],
    ["Why not", now.obstacles.join(", ")],
    ["Conditions", now.troubles.join(", ")],
    [
      "Terminal",
      terminal ? `${terminal.terminalId ?? ""} ${terminal.link}, ${terminal.state}` : "",
    ],
    ["Payments running", payments?.running ?? ""],
    ["Payments in doubt", payments?.inDoubt ?? ""],
    ["Not handed off", payments?.notHandedOver ?? ""],
    ["Waiting for the gateway", gateway.pending],
    ["Refused by the gateway", gateway.parked],
    ["Oldest waits", gateway.oldestAgeSeconds === null ? "" : `${gateway.oldestAgeSeconds} s`],
    ["Sending is paused", gateway.paused ? "yes" : "no"],
    ["Possible copies", gateway.possibleCopies],
    ["Version of the supervisor", versions.supervisor ?? ""],
    ["Version of tp-manager", versions.tpManager ?? ""],
    ["Documents dropped", now.dropped],
  );
  if (!update) return rows;
  const wrong = /** @type {const} */ (["held", "stuck", "failed"]).filter((name) => update[name]);
  return [...rows, ["Update", [update.ready ?? "none ready", ...wrong].join(", ")]];
}

/**
 * @param {Metrics | null} metrics
 * @returns {Row[]}
 */
function metricFacts(metrics) {
  if (!metrics) return [];
  const { uptimeSeconds, outbox, payments, queue } = metrics;
  return [
    ["Reported", timeOf(metrics.at)],
    ["Supervisor runs", `${uptimeSeconds.supervisor} s`],
    ["tp-manager runs", uptimeSeconds.tpManager === null ? "" : `${uptimeSeconds.tpManager} s`],
    ["Memory", `${Math.round(metrics.memoryBytes / 2 ** 20)} MiB`],
    ["Sent to the gateway", outbox.sent],
    .../** @type {Row[]} */ (
      Object.entries(payments).map(([name, count]) => [`Payments ${name}`, count])
    ),
    ["Alarms raised", metrics.alarmsRaised],
    ["Documents waiting", queue.waiting],
    ["Documents dropped", queue.dropped],
  ];
}

/**
 * Names and values; those without a value are left out.
 * @param {string} title
 * @param {Row[]} rows
 */
function facts(title, rows) {
  const given = rows.filter(([, value]) => value !== "");
  const list = given.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
  return h("section", {}, h("h3", {}, title), list.length ? h("dl", {}, ...list) : none());
}

/**
 * @template Document
 * @param {string} title
 * @param {string[]} heads
 * @param {Document[]} documents
 * @param {(one: Document) => Child[]} cellsOf
 */
function table(title, heads, documents, cellsOf) {
  const head = h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)));
  const rows = documents.map((one) =>
    h("tr", {}, ...cellsOf(one).map((cell, i) => h("td", { "data-head": heads[i] ?? null }, cell))),
  );
  const body = h("table", { class: "stack" }, h("thead", {}, head), h("tbody", {}, ...rows));
  return h("section", {}, h("h3", {}, title), rows.length ? body : none());
}

const none = () => h("p", { class: "faint" }, "Nothing was reported while this page was open.");
