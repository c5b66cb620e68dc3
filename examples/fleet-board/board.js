import { h, timeOf } from "./dom.js";
import {
  Fleet,
  passes,
  summaryOf,
  takesMoney,
  versionOf,
  versionsOf,
  waitsForPerson,
} from "./fleet.js";
import { kioskView } from "./kiosk.js";
// @ts-expect-error: serve.js takes it from the package
import mqtt from "./mqtt.js";

/**
 * @import { Choice, Kiosk } from "./fleet.js"
 * @import { Schema } from "./schema.js"
 */

/**
 * @param {string} id
 * @returns {any} an element of whatever kind
 */
const at = (id) => document.getElementById(id);
/** @param {string} path */
const json = async (path) => (await fetch(path)).json();

/** @type {{ broker: string, documents: string[] }} */
const { broker, documents } = await json("/settings.json");
/** @type {Record<string, Schema>} */
const schemas = Object.fromEntries(
  await Promise.all(documents.map(async (name) => [name, await json(`/schemas/${name}.json`)])),
);
let fleet = new Fleet(schemas);
/**
 * The row of each kiosk, made once.
 * @type {Map<string, HTMLElement>}
 */
const rows = new Map();
/** @type {Set<string>} */
const changed = new Set();
let isDue = false;
/** Whether the broker has granted the topics: before, no count is known. */
let isKnown = false;

/**
 * Many documents, one drawing.
 * @param {string} [name]
 */
function draw(name) {
  if (name !== undefined) changed.add(name);
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    drawNow();
  });
}

function drawNow() {
  const news = [...changed].flatMap((name) => fleet.kiosks.get(name) ?? []);
  changed.clear();
  if (news.some(({ name }) => !rows.has(name))) addRows(news);
  for (const kiosk of news) fillRow(kiosk);
  drawCounts();
  drawList();
  const open = openName();
  if (news.some(({ name }) => name === open)) drawKiosk(false);
}

/** @param {Kiosk[]} news */
function addRows(news) {
  for (const { name } of news) {
    if (!rows.has(name)) rows.set(name, h("tr", {}));
  }
  const inOrder = [...rows].sort(([one], [other]) => (one < other ? -1 : 1));
  at("kiosks").replaceChildren(...inOrder.map(([, row]) => row));
}

/** @param {Kiosk} kiosk */
function fillRow(kiosk) {
  const { name, state } = kiosk;
  const now = state?.now;
  const row = rows.get(name);
  if (!row) return;
  const [summary, colour] = summaryOf(kiosk);
  const hadFocus = row.contains(document.activeElement);
  // A long name breaks after its underscores.
  const reasons = [...(now?.obstacles ?? []), ...(now?.troubles ?? [])]
    .join(", ")
    .replaceAll("_", "_\u200b");
  const link = h("a", { href: `#${name}` }, name);
  row.replaceChildren(
    h("th", { scope: "row" }, link),
    h("td", {}, h("span", { class: `word ${colour}` }, summary)),
    h("td", { class: "wide why" }, reasons),
    h("td", { class: "number" }, waitsForPerson(kiosk) || ""),
    h("td", { class: "number wide" }, now?.gateway.pending || ""),
    h("td", { class: "wide" }, versionOf(kiosk)),
    h("td", { class: "wide" }, state ? timeOf(state.since) : ""),
  );
  if (hadFocus) link.focus();
}

/** @returns {Choice} */
function chosen() {
  const version = at("version").value;
  return {
    text: at("text").value,
    noMoney: at("no-money").checked,
    waits: at("waits").checked,
    version: version === "all" ? null : version.slice(1),
  };
}

function drawList() {
  const choice = chosen();
  let listed = 0;
  for (const [name, row] of rows) {
    const kiosk = fleet.kiosks.get(name);
    row.hidden = !kiosk || !passes(kiosk, choice);
    if (!row.hidden) listed += 1;
  }
  at("listed").textContent = isKnown ? `${listed} of ${rows.size} kiosks` : "";
}

function drawCounts() {
  const kiosks = [...fleet.kiosks.values()];
  /** @type {(id: string, test: (kiosk: Kiosk) => boolean) => void} */
  const count = (id, test) => {
    at(id).textContent = isKnown ? kiosks.filter(test).length : "–";
  };
  count("count-online", ({ state }) => state?.connection === "online");
  count("count-lost", ({ state }) => state?.connection === "lost");
  count("count-stopped", ({ state }) => state?.connection === "stopped");
  count("count-no-money", (kiosk) => !takesMoney(kiosk));
  count("count-waits", (kiosk) => waitsForPerson(kiosk) > 0);
  at("refused").textContent = fleet.refused ? `messages not understood: ${fleet.refused}` : "";
  drawVersions(versionsOf(kiosks), kiosks.length);
  at("changes").replaceChildren(
    ...fleet.changes.map(({ kiosk, connection, at: when }) =>
      h("li", {}, timeOf(when), " ", h("a", { href: `#${kiosk}` }, kiosk), ` ${connection}`),
    ),
  );
}

let drawnVersions = "";

/**
 * @param {[version: string, count: number][]} versions
 * @param {number} all
 */
function drawVersions(versions, all) {
  const text = JSON.stringify(versions);
  if (text === drawnVersions) return;
  drawnVersions = text;
  /** @param {string} version */
  const name = (version) => version || "not known";
  at("versions").replaceChildren(
    ...versions.map(([version, count]) =>
      h(
        "li",
        {},
        h("span", {}, name(version)),
        h("meter", { min: 0, max: all, value: count, "aria-label": name(version) }),
        h("span", { class: "number" }, count),
      ),
    ),
  );
  const select = at("version");
  const { value } = select;
  const options = versions.map(([version]) => h("option", { value: `=${version}` }, name(version)));
  select.replaceChildren(h("option", { value: "all" }, "all"), ...options);
  select.value = value;
  // The last kiosk of the version that was chosen has left it.
  if (select.selectedIndex < 0) select.value = "all";
}

const openName = () => location.hash.slice(1);

/** @param {boolean} takeFocus */
function drawKiosk(takeFocus) {
  const kiosk = fleet.kiosks.get(openName());
  const element = at("kiosk");
  const hadFocus = element.contains(document.activeElement);
  element.hidden = !kiosk;
  if (!kiosk) return element.replaceChildren();
  const wasClose = hadFocus && document.activeElement?.tagName === "BUTTON";
  element.replaceChildren(kioskView(kiosk, close));
  if (wasClose) element.querySelector("button").focus();
  else if (takeFocus || hadFocus) at("kiosk-heading").focus({ preventScroll: !takeFocus });
}

function close() {
  const name = openName();
  location.hash = "";
  rows.get(name)?.querySelector("a")?.focus();
}

/**
 * @param {string} text
 * @param {string} colour
 */
function say(text, colour) {
  const element = at("connection");
  element.textContent = text;
  element.className = `word ${colour}`;
}

/**
 * Asks for a login, and forgets what an earlier login has shown.
 * @param {string} why
 */
function askLogin(why) {
  fleet = new Fleet(schemas);
  isKnown = false;
  rows.clear();
  at("kiosks").replaceChildren();
  drawKiosk(false);
  draw();
  say(why, "bad");
  at("login").hidden = false;
  at(at("user").value ? "password" : "user").focus();
}

/**
 * Read-only: the page subscribes, and publishes nothing.
 * @param {{ username?: string, password?: string }} login
 */
function connect(login) {
  say("connecting", "look");
  /** @type {import("mqtt").MqttClient} */
  const client = mqtt.connect(broker, {
    ...login,
    protocolVersion: 5,
    clean: true,
    reconnectPeriod: 5_000,
    keepalive: 30,
    resubscribe: false,
    clientId: `board-${crypto.randomUUID()}`,
    // The package's own timers come from a worker out of a blob, which the page's policy refuses.
    timerVariant: "native",
  });
  let lostSince = "";
  client.on("connect", () => {
    const topics = documents.map((name) => `connector/1/+/${name}`);
    // Before the broker has granted the topics, messages can pass the board by.
    client.subscribe(topics, { qos: 1 }, (error, granted = []) => {
      if (error || granted.some(({ qos }) => qos >= 128)) {
        return say("the broker refuses the topics", "bad");
      }
      say("connected", "good");
      lostSince = "";
      isKnown = true;
      draw();
    });
  });
  client.on("message", (topic, bytes, { retain }) =>
    draw(fleet.take(topic, bytes, retain) ?? undefined),
  );
  let wantsLogin = false;
  client.on("close", () => {
    if (wantsLogin) return;
    lostSince ||= timeOf(new Date().toISOString()).textContent ?? "";
    say(`not connected since ${lostSince}: what is shown may be old; trying again`, "bad");
  });
  client.on("error", (error) => {
    const code = "code" in error ? error.code : null;
    // A bad user name or password, or no right to connect.
    if (code !== 134 && code !== 135) return;
    wantsLogin = true;
    client.end(true);
    const isFirst = login.username === undefined;
    askLogin(`the broker ${isFirst ? "wants a login" : "refuses this user name or password"}`);
  });
}

at("login").addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  // Hidden until the broker has answered, so that a second press makes no second connection.
  at("login").hidden = true;
  connect({ username: at("user").value, password: at("password").value });
  at("password").value = "";
});
for (const id of ["text", "no-money", "waits", "version"]) {
  at(id).addEventListener("input", () => drawList());
}
addEventListener("hashchange", () => drawKiosk(true));
addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && openName()) close();
});
connect({});
