// Texts go in as text only: an order number never becomes a part of the page.

const byId = (id) => document.getElementById(id);
const clock = new Intl.DateTimeFormat([], { timeStyle: "medium" });
const calendar = new Intl.DateTimeFormat([], { dateStyle: "short", timeStyle: "medium" });

/** The time, with the day unless it is today. */
function timeOf(iso) {
  const at = new Date(iso);
  const today = at.toDateString() === new Date().toDateString();
  return (today ? clock : calendar).format(at);
}

/** "12.50 EUR", with as many decimals as the currency has. */
function money(amount, currency) {
  const { maximumFractionDigits: digits } = new Intl.NumberFormat("en", {
    style: "currency",
    currency,
  }).resolvedOptions();
  return `${amount.toFixed(digits)} ${currency}`;
}

function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

function fill(id, made) {
  byId(id).replaceChildren(...made);
}

const items = (texts) => texts.map((text) => element("li", text));

/** A connector that hangs is shown as one that does not answer. */
const ANSWER_LIMIT_MS = 10_000;

/** The answer, or an error with what the connector said. */
async function read(path, good = [200]) {
  const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
  // Whole: a page opened with login and password in its address may not fetch relative ones.
  const response = await fetch(location.origin + path, {
    headers: { accept: "application/json" },
    signal,
  });
  const body = await response.json();
  if (good.includes(response.status)) return body;
  throw Object.assign(new Error(body[0].error.message), { refused: response.status });
}

function showStatus(text, className) {
  // Only what has changed is said again by a screen reader.
  if (byId("status").textContent === text) return;
  byId("status").textContent = text;
  byId("status").className = className;
  document.title = `${text} – terminal connector`;
}

function queueOf(outbox) {
  if (!outbox) return ["the supervisor does not answer", true];
  const age = outbox.oldestAgeSeconds === null ? "" : `, oldest ${outbox.oldestAgeSeconds} s`;
  return [`${outbox.pending}${age}, refused ${outbox.parked}`, outbox.parked > 0];
}

/** The facts shown of the state: words, and whether they need somebody. */
function factsOf({ terminal, payments, outbox, disk, clock: time, versions, dailyChoresAt }) {
  const { state, link, problem, detail, since, terminalId, serialNumber } = terminal;
  const lost = link !== "connected";
  const { connector, node, os } = versions;
  return {
    Terminal: [`${state}, link ${link}`, lost || state === "action-needed"],
    Since: [timeOf(since)],
    "Terminal says": [problem ?? detail, lost],
    "Terminal id": [[terminalId, serialNumber].filter((id) => id).join(", serial ") || "not known"],
    "In doubt": payments
      ? [payments.inDoubt, payments.inDoubt > 0]
      : ["the journal cannot be read", true],
    "Not handed over": [payments ? payments.notHandedOver : ""],
    "Waiting for the gateway": queueOf(outbox),
    "Disk free": disk
      ? [`${Math.round(disk.freeBytes / 2 ** 20)} MiB`, disk.freeBytes < disk.freeMinBytes]
      : [""],
    Clock: [`${timeOf(time.now)} ${time.timeZone}`],
    Versions: [`connector ${connector}, Node.js ${node}, ${os}`],
    "Daily chores": [dailyChoresAt],
  };
}

/** Counts the prompts, so that an older answer does not take a newer one away. */
let prompts = 0;

async function showHealth() {
  const before = prompts;
  const [health] = await read("/health", [200, 503]);
  const { running, reasons, warnings, payments } = health;
  if (health.status !== "Ready") showStatus("✕ No payments now", "bad");
  else if (running) showStatus(`… A ${running.what} is running`, "busy");
  else if (warnings.length > 0)
    showStatus("! Ready for payments, and somebody has to look", "busy");
  else showStatus("✓ Ready for payments", "good");
  fill("reasons", items([...reasons, ...warnings]));
  const order = running?.orderId ? `: order ${running.orderId}` : "";
  byId("running").textContent = running ? `A ${running.what} is running${order}.` : "Nothing runs.";
  if (!running && before === prompts) byId("prompt").textContent = "";
  fill(
    "facts",
    Object.entries(factsOf(health)).flatMap(([name, [value, bad]]) => [
      element("dt", name),
      element("dd", String(value), bad ? "bad-word" : ""),
    ]),
  );
  await showDoubt(payments?.inDoubt ?? 0);
  await showOutbox(health.outbox);
}

/** The journal cannot know more of it yet than that it was begun. */
const runs = ({ error }) => error?.code === "PAYMENT_RUNNING";

async function showDoubt(count) {
  const unknown = count === 0 ? [] : await read("/payments?status=Unknown&limit=20");
  const listed = unknown.filter((payment) => !runs(payment));
  byId("doubt").hidden = listed.length === 0;
  const told = ({ startedAt, orderId, amount, currency, error }) =>
    `${timeOf(startedAt)} order ${orderId}, ${money(amount, currency)}: ${error.message}`;
  fill("doubtful", items(listed.map(told)));
}

/** One item of the outbox; what it waits for is the operator's business only. */
function waitingText({ orderId, amount, currency, state, tries, reason, ambiguous, lastTry }) {
  const why = [reason, lastTry?.description].filter((text) => text).join("; ");
  const doubt = ambiguous ? ", an answer was lost" : "";
  const words = `${state} after ${tries} tries${doubt}${why === "" ? "" : `: ${why}`}`;
  return `Order ${orderId}, ${money(amount, currency)}: ${words}`;
}

async function showOutbox(outbox) {
  const some = outbox !== null && outbox.pending + outbox.parked > 0;
  byId("outbox").hidden = !some;
  if (!some) return;
  try {
    const lists = ["parked", "pending"].map((state) => read(`/outbox?state=${state}&limit=10`));
    fill("waiting", items((await Promise.all(lists)).flat().map(waitingText)));
  } catch (error) {
    if (error.refused === undefined) throw error;
    const denied = "Sign in with the operator's pair to see which orders wait.";
    fill("waiting", items([error.refused === 403 ? denied : error.message]));
  }
}

const words = { Success: "good-word", Unknown: "bad-word" };

function statusCell(payment) {
  const { status, error } = payment;
  const cell = element("td", "");
  if (runs(payment)) cell.append("Running");
  else cell.append(element("span", status, words[status]));
  if (error && !runs(payment)) cell.append(element("small", error.message));
  return cell;
}

/** The charged amount stands beside the one that was asked for where the two differ. */
function amountText({ amount, chargedAmount, currency }) {
  const asked = money(amount, currency);
  if (!chargedAmount || chargedAmount === amount) return asked;
  return `${asked} (charged ${money(chargedAmount, currency)})`;
}

function paymentRow(payment) {
  const { status, notificationGatewaySent: sent } = payment;
  const row = document.createElement("tr");
  row.append(
    element("td", timeOf(payment.startedAt)),
    element("td", payment.orderId),
    element("td", amountText(payment)),
    statusCell(payment),
    element("td", sent ? "sent" : status === "Success" ? "waiting" : ""),
  );
  return row;
}

async function showPayments() {
  const listed = await read("/payments?limit=20");
  byId("none").hidden = listed.length > 0;
  byId("journal").hidden = listed.length === 0;
  fill("payments", listed.map(paymentRow));
}

const ALARMS_SHOWN = 20;
const alarms = [];

function showAlarm({ at, alarm, message, orderId }) {
  const order = orderId ? ` (order ${orderId})` : "";
  alarms.unshift(`${timeOf(at)} ${alarm}: ${message}${order}`);
  alarms.length = Math.min(alarms.length, ALARMS_SHOWN);
  fill("alarms", items(alarms));
}

/** The last answer stays on the page, marked as old, while no new one comes. */
function showSilence(error) {
  const text = error.refused === 401 ? "Login or password is no longer right" : "does not answer";
  showStatus(`✕ ${error.refused === 401 ? text : `The connector ${text}`}`, "bad");
  fill("reasons", items(["What is shown below was true before."]));
  for (const section of document.querySelectorAll("section")) section.className = "old";
}

const SETTLE_MS = 200;
let due = false;
let reading = false;

/** Many events in a row lead to one reading, and an older answer never replaces a newer one. */
async function refresh() {
  due = true;
  if (reading) return;
  reading = true;
  while (due) {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    due = false;
    try {
      await showHealth();
      await showPayments();
      for (const section of document.querySelectorAll("section")) section.className = "";
    } catch (error) {
      showSilence(error);
    }
  }
  reading = false;
}

const REOPEN_MS = 2_000;
let lastEventId = 0;

/** Opened anew by ourselves: after an answer that is no stream a browser does not try again. */
function listen() {
  // At first all that is kept is repeated, so that the alarms of before are shown too.
  const events = new EventSource(`${location.origin}/events?lastEventId=${lastEventId}`);
  const on = (name, act) =>
    events.addEventListener(name, (event) => {
      if (event.lastEventId !== "") lastEventId = event.lastEventId;
      act(JSON.parse(event.data));
      void refresh();
    });
  on("payment", () => undefined);
  on("delivery", () => undefined);
  on("terminal", () => undefined);
  on("gap", () => undefined);
  on("alarm", showAlarm);
  on("prompt", ({ text }) => {
    prompts += 1;
    byId("prompt").textContent = text;
  });
  events.onopen = () => {
    byId("stream").textContent = "Connected to the events.";
  };
  events.onerror = () => {
    events.close();
    byId("stream").textContent = "Not connected to the events; trying again.";
    void refresh();
    setTimeout(listen, REOPEN_MS);
  };
}

listen();
setInterval(refresh, 15_000);
void refresh();
