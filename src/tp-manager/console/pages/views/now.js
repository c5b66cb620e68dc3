import { gigabytes, timeOf } from "../format.js";
import { useLive } from "../live.js";
import { Detail, own, Said, TroubleTold, troubleKey, useTold } from "../said.js";
import { markSeen, SeenButton } from "../seen.js";
import { html } from "../vendor/htm-preact.js";

/**
 * The connector at this moment: whether a payment would be taken, what runs, what waits for a
 * person.
 * @param {import("../main.js").ViewProps} props
 */
export default function Now(props) {
  const { api, words, language } = props;
  const [told, setTold] = useTold(words, /** @type {import("../said.js").Told | null} */ (null));
  const read = async () => {
    const { status, body } = await api.get("/health");
    if (status !== 200 && status !== 503) throw new Error(body.error?.message);
    return body;
  };
  const { value: health, silent, again } = useLive(api, read);
  if (!health) return html`<h1>${words(silent ? "noAnswer" : "loading")}</h1>`;
  const { running } = health;
  const mark = async (/** @type {any} */ alarm, /** @type {string} */ about) => {
    setTold(await markSeen(props, "alarm", [String(alarm.id)], about));
    again();
  };
  const goodsWords = (/** @type {string} */ by) =>
    words("now.goodsBy", { time: timeOf(by, language) });
  const live = running?.promptTexts?.[language] ?? running?.prompt;
  return html`
    <${Banner} health=${health} silent=${silent} words=${words} />
    <section aria-labelledby="running-title">
      <h2 id="running-title">${words("now.running")}</h2>
      <p>${running ? runningWords(running, words) : words("now.nothingRuns")}</p>
      ${running?.goodsBy && html`<p>${goodsWords(running.goodsBy)}</p>`}
      <p class="prompt" aria-live="polite">${live ?? ""}</p>
    </section>
    <section aria-labelledby="state-title">
      <h2 id="state-title">${words("now.state")}</h2>
      <${Facts} health=${health} words=${words} language=${language} />
    </section>
    <section aria-labelledby="alarms-title">
      <h2 id="alarms-title">${words("now.alarms")}</h2>
      <p role="status" class=${told && !told.good ? "fault" : "empty"}><${Said} told=${told} /></p>
      ${health.alarms.length === 0 && html`<p>${words("now.noAlarms")}</p>`}
      <ul class="plain">${health.alarms.map(
        (/** @type {any} */ alarm) => html`<${Alarm} key=${alarm.id} alarm=${alarm} words=${words}
          language=${language} mark=${mark} />`,
      )}</ul>
    </section>`;
}

/** @param {any} props */
function Alarm({ alarm, words, language, mark }) {
  const { at, trouble, message, orderId, endsWhenSeen, finding } = alarm;
  const name = finding ? `${alarm.alarm}.${finding}` : alarm.alarm;
  const about = trouble
    ? own(words, troubleKey(trouble.trouble), alarm.alarm, { count: trouble.count ?? "" })
    : own(words, `alarm.${name}`, own(words, lastingKey(alarm.alarm), alarm.alarm));
  const order = orderId ? words("order", { orderId }) : "";
  return html`<li>
    <time datetime=${at}>${timeOf(at, language)}</time>${" "}
    <strong>${about}</strong> ${order && html`<a href=${doubtOf(alarm)}>${order}</a>`}
    <${Detail} text=${message} />
    ${
      endsWhenSeen &&
      html` <${SeenButton} words=${words} mark=${() => mark(alarm, `${about} ${order}`)} />`
    }</li>`;
}

/**
 * An alarm about one transaction may have the name of a trouble.
 * @param {string} alarm
 */
function lastingKey(alarm) {
  return `trouble.${alarm}`;
}

/** @param {any} alarm */
function doubtOf({ alarm, orderId }) {
  const view = alarm === "payment-unknown" ? "doubt" : "payments";
  return `#${view}/${encodeURIComponent(orderId)}`;
}

/**
 * Green only when a payment would be taken and nothing waits for a person.
 * @param {{ health: any, silent: boolean, words: import("../words.js").Words }} props
 */
function Banner({ health, silent, words }) {
  const { status, running, obstacles, notes, troubles, warnings, alarms } = health;
  const [kind, text] = silent
    ? ["bad", words("now.silent")]
    : status !== "Ready"
      ? ["bad", words("now.notReady")]
      : warnings.length + alarms.length > 0
        ? ["look", words("now.look")]
        : running
          ? ["busy", words("now.busy")]
          : ["good", words("now.ready")];
  const others = troubles.filter((/** @type {any} */ { trouble }) =>
    troubleKey(trouble).startsWith("trouble."),
  );
  const listed = silent
    ? [words("now.before")]
    : [
        ...obstacles.map((/** @type {any} */ one) => obstacleTold(one, words)),
        ...notes.map((/** @type {any} */ one) => noteTold(one, words)),
        ...others.map(
          (/** @type {any} */ one) => html`<${TroubleTold} words=${words} trouble=${one} />`,
        ),
      ];
  return html`<div class=${`banner ${kind}`}>
    <div role="status"><h1>${text}</h1></div>
    ${listed.length > 0 && html`<ul>${listed.map((one, at) => html`<li key=${at}>${one}</li>`)}</ul>`}
  </div>`;
}

/**
 * @param {any} obstacle
 * @param {import("../words.js").Words} words
 */
function obstacleTold({ code, says }, words) {
  const text = own(words, `error.${code}`, says);
  return html`<strong>${text}</strong> ${own(words, `todo.${code}`)}
    ${text !== says && html`<br /><${Detail} text=${says} />`}`;
}

/**
 * @param {any} note
 * @param {import("../words.js").Words} words
 */
function noteTold({ note, says, count }, words) {
  return own(words, `note.${note}`, says, { count: count ?? "" });
}

/**
 * @param {any} running
 * @param {import("../words.js").Words} words
 */
function runningWords({ what, orderId }, words) {
  const name = words(`now.what.${what}`);
  const told = name === `now.what.${what}` ? what : name;
  if (!orderId) return told;
  const story = `#payments/${encodeURIComponent(orderId)}`;
  return html`${told}${words("colon")}<a href=${story}>${words("order", { orderId })}</a>`;
}

/**
 * @param {{ health: any, words: import("../words.js").Words, language: string }} props
 */
function Facts({ health, words, language }) {
  const { terminal, payments, outbox, disk, versions, clock, updates } = health;
  const lost = terminal.link !== "connected";
  const isChanged = health.obstacles.some(
    (/** @type {any} */ { code }) => code === "TERMINAL_CHANGED",
  );
  const state = isChanged ? "changed" : terminal.state;
  const named = [terminal.terminalId, terminal.serialNumber].filter((id) => id).join(", ");
  const doubts = payments?.inDoubt ?? 0;
  const count = doubts > 0 ? html`<a href="#doubt">${doubts}</a>` : String(doubts);
  /** @type {Array<[string, unknown, boolean?]>} */
  const rows = [
    ["now.terminal", words(`now.state.${state}`), /changed|action-needed/.test(state)],
    ["now.link", words(`now.link.${terminal.link}`), lost],
    ["now.since", timeOf(terminal.since, language)],
    ["now.says", terminalTold(terminal, words), lost],
    ["now.terminalId", named || words("notKnown")],
    ["now.inDoubt", payments ? count : words("now.noJournal"), !payments || doubts > 0],
    ["now.notHandedOver", payments?.notHandedOver ?? "", (payments?.notHandedOver ?? 0) > 0],
    [
      "now.queue",
      queueWords(outbox, clock, words, language),
      !outbox || outbox.parked > 0 || outbox.paused,
    ],
    ["now.disk", disk ? gigabytes(disk.freeBytes, language) : words("notKnown")],
    ["now.clock", `${timeOf(clock.now, language)} ${clock.timeZone}`],
    ["now.versions", `${versions.connector}, Node.js ${versions.node}, ${versions.os}`],
    ["now.update", updates?.ready ?? words("now.noUpdate")],
  ];
  return html`<dl>${rows.map(
    ([key, value, bad]) => html`<div key=${key}>
      <dt>${words(key)}</dt><dd class=${bad ? "bad-word" : ""}>${value}</dd></div>`,
  )}</dl>`;
}

/**
 * The terminal's own words, but for the one that the page has too.
 * @param {any} terminal
 * @param {import("../words.js").Words} words
 */
function terminalTold({ problem, detail }, words) {
  if (!problem && detail === "ready") return words("now.state.ready");
  return html`<span lang="en">${problem ?? detail}</span>`;
}

/**
 * @param {any} outbox
 * @param {any} clock of the connector, which counted the age
 * @param {import("../words.js").Words} words
 * @param {string} language
 */
function queueWords(outbox, clock, words, language) {
  if (!outbox) return words("now.noSupervisor");
  const { pending, parked, paused, oldestAgeSeconds } = outbox;
  const sinceMs = Date.parse(clock.now) - 1_000 * oldestAgeSeconds;
  const since = timeOf(new Date(sinceMs).toISOString(), language);
  const age = oldestAgeSeconds === null ? "" : words("now.oldest", { time: since });
  return `${words("now.queued", { pending, parked })}${age}${paused ? ` ${paused}` : ""}`;
}
