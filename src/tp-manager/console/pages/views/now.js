import { AcknowledgeButton, acknowledge } from "../actions.js";
import { gigabytes, timeOf } from "../format.js";
import { useLive } from "../live.js";
import { Answered, Facts, OrderLink, Silence, Unread } from "../parts.js";
import {
  ConditionText,
  conditionKey,
  Detail,
  moreOf,
  OutcomeText,
  own,
  saysReady,
  useOutcome,
} from "../sentences.js";
import { html } from "../vendor/htm-preact.js";

/**
 * The connector at this moment: whether it would accept a payment, what runs, what waits for a
 * person.
 * @param {import("../main.js").ViewProps} props
 */
export default function Now(props) {
  const { api, texts } = props;
  const [outcome, setOutcome] = useOutcome(texts);
  const read = async () => {
    const { status, body } = await api.get("/health?http=200");
    if (status !== 200) throw new Error(body.error?.message);
    return body;
  };
  const { value: health, silent, again } = useLive(api, read);
  if (!health) return html`<${Unread} texts=${texts} silent=${silent} />`;
  const { running } = health;
  const at = health.clock.now;
  const mark = async (/** @type {any} */ alarm, /** @type {string} */ about) => {
    setOutcome(await acknowledge(props, "alarm", [String(alarm.id)], about));
    again();
  };
  const live = running?.promptTexts?.[texts.language] ?? running?.prompt;
  return html`
    <${Banner} health=${health} at=${at} silent=${silent} texts=${texts} />
    <${Answered} texts=${texts} silent=${silent} at=${at}>
    <section aria-labelledby="running-title" class=${running ? "" : "row"}>
      <h2 id="running-title">${texts("now.running")}</h2>
      <p>${running ? runningText(running, texts) : texts("now.nothingRuns")}</p>
      ${
        running?.goodsBy &&
        html`<p>${texts("now.goodsBy", { time: timeOf(running.goodsBy, texts) })}</p>`
      }
      <p class="prompt" aria-live="polite">${live ?? ""}</p>
    </section>
    <section aria-labelledby="alarms-title" class=${health.alarms.length > 0 ? "" : "row"}>
      <h2 id="alarms-title">${texts("now.alarms")}</h2>
      <p role="status" class=${outcome && !outcome.good ? "fault" : "empty"}>
        <${OutcomeText} outcome=${outcome} /></p>
      ${health.alarms.length === 0 && html`<p>${texts("now.noAlarms")}</p>`}
      <ul class="plain">${health.alarms.map(
        (/** @type {any} */ alarm) =>
          html`<${Alarm} key=${alarm.id} alarm=${alarm} texts=${texts} mark=${mark} />`,
      )}</ul>
    </section>
    <section aria-labelledby="state-title">
      <h2 id="state-title">${texts("now.state")}</h2>
      <${State} health=${health} texts=${texts} />
    </section><//>`;
}

/** @param {any} props */
function Alarm({ alarm, texts, mark }) {
  const { at, trouble: condition, message, orderId, endsWhenSeen, finding } = alarm;
  const name = finding ? `${alarm.alarm}.${finding}` : alarm.alarm;
  // An alarm about one transaction may have the name of a condition.
  const about = condition
    ? own(texts, conditionKey(condition.trouble), alarm.alarm, { count: condition.count ?? "" })
    : own(texts, `alarm.${name}`, own(texts, `condition.${alarm.alarm}`, alarm.alarm));
  const order = orderId ? texts("order", { orderId }) : "";
  const view = alarm.alarm === "payment-unknown" ? "in-doubt" : "payments";
  return html`<li>
    <time datetime=${at}>${timeOf(at, texts)}</time>${" "}
    <strong>${about}</strong>
    ${" "}${order && html`<a href=${`#${view}/${encodeURIComponent(orderId)}`}>${order}</a>`}
    <${Detail} text=${message.replace(about, "").replace(/^[\s>-]+/, "")} />
    ${
      endsWhenSeen &&
      html` <${AcknowledgeButton} texts=${texts}
        mark=${() => mark(alarm, `${about}${order && ` ${order}.`}`)} />`
    }</li>`;
}

/**
 * The banner, which is green only when a payment would be accepted and nothing waits for a person.
 * @param {{ health: any, at: string, silent: boolean, texts: import("../texts.js").Texts }} props
 */
function Banner({ health, at, silent, texts }) {
  const { status, running, notes, warnings, alarms } = health;
  const [kind, text] = silent
    ? ["bad", texts("now.silent")]
    : status !== "Ready"
      ? ["bad", texts("now.notReady")]
      : warnings.length + alarms.length > 0
        ? ["look", texts("now.attention")]
        : running
          ? ["busy", texts("now.busy")]
          : ["good", texts("now.ready")];
  const others = health.troubles.filter((/** @type {any} */ { trouble: name }) =>
    conditionKey(name).startsWith("condition."),
  );
  const listed = silent
    ? []
    : [
        ...health.obstacles.map((/** @type {any} */ one) => reasonText(one, texts)),
        ...notes.map((/** @type {any} */ one) => noteText(one, texts)),
        ...others.map(
          (/** @type {any} */ one) => html`<${ConditionText} texts=${texts} condition=${one} />`,
        ),
      ];
  const waits =
    others.length > 0 || notes.some((/** @type {any} */ one) => one.note === "in-doubt");
  return html`<div class=${`banner ${kind}`}>
    <div role="status"><h1>${text}</h1>
      ${silent && html`<${Silence} texts=${texts} at=${at} />`}</div>
    ${
      listed.length > 0 &&
      html`<ul>${listed.map((one, at) => html`<li key=${at}>${one}</li>`)}</ul>`
    }
    ${waits && !silent && html`<p><a href="#in-doubt">${texts("nav.in-doubt")} →</a></p>`}
  </div>`;
}

/**
 * @param {any} reason
 * @param {import("../texts.js").Texts} texts
 */
function reasonText({ code, says }, texts) {
  const text = own(texts, `error.${code}`, says);
  const more = text === says ? "" : moreOf(texts, `error.${code}`, says);
  return html`<strong>${text}</strong> ${own(texts, `todo.${code}`)}
    ${more && html`<br /><${Detail} text=${more} />`}`;
}

/**
 * @param {any} note
 * @param {import("../texts.js").Texts} texts
 */
function noteText({ note, says, count }, texts) {
  return own(texts, `note.${note}`, says, { count: count ?? "" });
}

/**
 * @param {any} running
 * @param {import("../texts.js").Texts} texts
 */
function runningText({ what, orderId }, texts) {
  const name = texts(`now.what.${what}`);
  const text = name === `now.what.${what}` ? what : name;
  if (!orderId) return text;
  const link = html`<${OrderLink} orderId=${orderId} text=${texts("order", { orderId })} />`;
  return html`${text}${texts("colon")}${link}`;
}

/**
 * @param {{ health: any, texts: import("../texts.js").Texts }} props
 */
function State({ health, texts }) {
  const { terminal, payments, outbox, disk, versions, clock, updates } = health;
  const lost = terminal.link !== "connected";
  const { problem, detail } = terminal;
  const says = problem || (saysReady(detail) ? "" : detail);
  const isChanged = health.obstacles.some(
    (/** @type {any} */ { code }) => code === "TERMINAL_CHANGED",
  );
  const state = isChanged ? "changed" : terminal.state;
  const named = [terminal.terminalId, terminal.serialNumber].filter((id) => id).join(", ");
  const inDoubt = payments?.inDoubt ?? 0;
  const update = updates?.ready
    ? html`<a href="#maintenance">${updates.ready}</a>`
    : texts("now.noUpdate");
  const count = inDoubt > 0 ? html`<a href="#in-doubt">${inDoubt}</a>` : String(inDoubt);
  /** @type {Array<[string, unknown, boolean?]>} */
  const rows = [
    ["now.terminal", texts(`now.state.${state}`), /changed|action-needed/.test(state)],
    ["now.link", texts(`now.link.${terminal.link}`), lost],
    ["now.since", timeOf(terminal.since, texts)],
    [lost ? "now.why" : "now.says", says && html`<span lang="en">${says}</span>`, lost],
    ["now.terminalId", named || texts("notKnown")],
    ["now.inDoubt", payments ? count : texts("now.noJournal"), !payments || inDoubt > 0],
    ["now.notHandedOver", payments?.notHandedOver ?? "", (payments?.notHandedOver ?? 0) > 0],
    ["now.queue", queueText(outbox, clock, texts), !outbox || outbox.parked > 0 || outbox.paused],
    ["now.disk", disk ? gigabytes(disk.freeBytes, texts) : texts("notKnown")],
    ["now.clock", `${timeOf(clock.now, texts)} ${clock.timeZone}`],
    ["now.versions", `${versions.connector}, Node.js ${versions.node}, ${versions.os}`],
    ["now.update", update],
  ];
  return html`<${Facts} texts=${texts} rows=${rows.filter(([, value]) => value !== "")} />`;
}

/**
 * @param {any} outbox
 * @param {any} clock of the connector, which counted the age
 * @param {import("../texts.js").Texts} texts
 */
function queueText(outbox, clock, texts) {
  if (!outbox) return texts("now.noSupervisor");
  const { pending, parked, paused, oldestAgeSeconds } = outbox;
  const sinceMs = Date.parse(clock.now) - 1_000 * oldestAgeSeconds;
  const since = timeOf(new Date(sinceMs).toISOString(), texts);
  const age = oldestAgeSeconds === null ? "" : texts("now.oldest", { time: since });
  return `${texts("now.queued", { pending, parked })}${age}${paused ? ` ${paused}` : ""}`;
}
