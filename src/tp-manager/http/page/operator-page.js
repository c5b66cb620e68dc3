// Texts go in as text only: an order number never becomes a part of the page.

const byId = (id) => document.getElementById(id);
const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
const timeOf = (iso) => (iso ? new Date(iso).toLocaleTimeString([], TIME) : "");

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function fill(id, made) {
  byId(id).replaceChildren(...made);
}

async function read(path) {
  const response = await fetch(path, { headers: { accept: "application/json" } });
  return response.json();
}

function ageOf(seconds) {
  return seconds === null ? "" : `, oldest ${seconds} s`;
}

function factsOf({ terminal, payments, outbox, disk, clock, versions, dailyChoresAt }) {
  return {
    Terminal: `${terminal.state}, link ${terminal.link}`,
    Since: new Date(terminal.since).toLocaleString(),
    "Terminal says": terminal.problem ?? terminal.detail,
    "Terminal id": `${terminal.terminalId} ${terminal.serialNumber}`,
    "In doubt": payments ? payments.inDoubt : "the journal cannot be read",
    "Not handed over": payments ? payments.notHandedOver : "",
    "Waiting for the gateway": outbox
      ? `${outbox.pending}${ageOf(outbox.oldestAgeSeconds)}, refused ${outbox.parked}`
      : "the supervisor does not answer",
    "Disk free": disk ? `${Math.round(disk.freeBytes / 2 ** 20)} MiB` : "",
    Clock: `${new Date(clock.now).toLocaleString()} ${clock.timeZone}`,
    Versions: `connector ${versions.connector}, Node.js ${versions.node}, ${versions.os}`,
    "Daily chores": dailyChoresAt,
  };
}

async function showHealth() {
  const [health] = await read("/health");
  const ready = health.status === "Ready";
  byId("status").textContent = ready ? "Ready for payments" : "No payments now";
  byId("status").className = ready ? "good" : "bad";
  fill(
    "reasons",
    [...health.reasons, ...health.warnings].map((reason) => element("li", reason)),
  );
  const { running } = health;
  byId("running").textContent = running
    ? `A ${running.what} is running${running.orderId ? `: order ${running.orderId}` : ""}.`
    : "Nothing runs.";
  if (!running) byId("prompt").textContent = "";
  fill(
    "facts",
    Object.entries(factsOf(health)).flatMap(([name, value]) => [
      element("dt", name),
      element("dd", String(value)),
    ]),
  );
}

async function showPayments() {
  const listed = await read("/payments?limit=20");
  fill(
    "payments",
    listed.map((payment) => {
      const row = document.createElement("tr");
      const code = payment.error ? ` ${payment.error.code}` : "";
      row.append(
        element("td", new Date(payment.startedAt).toLocaleString()),
        element("td", payment.orderId),
        element("td", `${payment.amount} ${payment.currency}`),
        element("td", `${payment.status}${code}`),
        element("td", payment.notificationGatewaySent ? "sent" : ""),
      );
      return row;
    }),
  );
}

const ALARMS_SHOWN = 20;
const alarms = [];

function showAlarm({ at, alarm, message, orderId }) {
  const order = orderId ? ` (order ${orderId})` : "";
  alarms.unshift(`${new Date(at).toLocaleString()} ${alarm}: ${message}${order}`);
  alarms.length = Math.min(alarms.length, ALARMS_SHOWN);
  fill(
    "alarms",
    alarms.map((text) => element("li", text)),
  );
}

// Many events in a row lead to one reading.
let due = false;
function refresh() {
  if (due) return;
  due = true;
  setTimeout(async () => {
    due = false;
    try {
      await showHealth();
      await showPayments();
    } catch {
      byId("status").textContent = "The connector does not answer";
      byId("status").className = "bad";
    }
  }, 200);
}

// All that is kept is repeated, so that the alarms of before are shown too.
const events = new EventSource("/events?lastEventId=0");
const on = (name, act) =>
  events.addEventListener(name, (event) => {
    act(JSON.parse(event.data));
    refresh();
  });
on("payment", () => undefined);
on("delivery", () => undefined);
on("terminal", () => undefined);
on("gap", () => undefined);
on("alarm", showAlarm);
on("prompt", ({ at, text }) => {
  byId("prompt").textContent = `${timeOf(at)} ${text}`;
});
events.onopen = () => {
  byId("stream").textContent = "Connected to the events.";
};
events.onerror = () => {
  byId("stream").textContent = "Not connected to the events; trying again.";
  refresh();
};
setInterval(refresh, 15_000);
refresh();
