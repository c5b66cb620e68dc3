/*
 * `./launch.sh doctor --acceptance`: twelve payments at the configured terminal, each after a
 * question, and a report without card numbers to send back. Like every kiosk program it uses the
 * local API alone, and requests no order a second time but the one that shall be answered again.
 *   node acceptance.js SETUP-FILE DATA-FOLDER VERSION
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import given from "./cases.json" with { type: "json" };

/** Longer than the longest answer of the connector. */
const ANSWER_MS = 240_000;
const CANCELLED_AFTER_MS = 5_000;
/** After a loss the outcome may take as long as the terminal's own time limit, twice. */
const OUTCOME_MS = 600_000;
const ASKED_AGAIN_MS = 2_000;
/** So many reads in a row: between a loss and the first question about it nobody asks either. */
const NOT_ASKED_MIN = 2;
const EXIT = { ok: 0, unavailable: 69, contradiction: 70, configuration: 78 };

/**
 * A payment. With the simulated terminal the cents of the amount choose the bank's answer.
 * @typedef {object} Case
 * @property {string} name
 * @property {number} amount in major units
 * @property {string} todo what the person does at the terminal
 * @property {readonly string[]} expected the statuses that are right
 * @property {string} [how] "cancel", "repeat", "reverse", "undelivered"; missing: a payment alone
 *
 * @typedef {object} Site
 * @property {(name: string) => string | undefined} setting a value of the setup file
 * @property {string} dataDirectory where the report is written
 * @property {string} versionNumber
 *
 * @typedef {{http: number, one: any}} Reply http 0: no answer came
 * @typedef {(method: string, path: string, body?: object) => Promise<Reply>} Call
 * @typedef {(question: string) => Promise<string>} Ask "q": also when there are no more answers
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {string} outcome
 * @property {string} charged
 * @property {string} person
 * @property {string} verdict
 * @property {string} [details]
 */

/** @type {readonly Case[]} */
const cases = given;

/** Returns the exit code. @param {Site} site */
async function acceptance(site) {
  const call = callTo(site);
  const state = await call("GET", "/check?fresh=yes");
  if (state.one?.cr !== "0") {
    print(`The terminal is not ready for a payment: ${state.one?.detail ?? "no answer"}`);
    print("Run ./launch.sh and ./launch.sh doctor first.");
    return EXIT.unavailable;
  }
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const answers = lines[Symbol.asyncIterator]();
  /** @type {Ask} */
  const ask = async (question) => {
    process.stdout.write(`${question} `);
    const { value, done } = await answers.next();
    return done ? "q" : value.trim();
  };
  try {
    return await accept(site, call, ask);
  } finally {
    lines.close();
  }
}

/** @param {Site} site @param {Call} call @param {Ask} ask */
async function accept(site, call, ask) {
  const total = cases.reduce((sum, { amount }) => sum + amount, 0).toFixed(2);
  print(`Twelve payments at the terminal that the setup file names, of ${total} at most together.
A real card is really charged, and the gateway gets the orders. Stop the kiosk's program first, and
give the money back afterwards as the last lines say. Each payment is asked for.\n`);
  const terminal = [
    withoutNumbers(await ask("Make and model of the terminal:")),
    withoutNumbers(await ask("Its software, as its menu or its provider names it:")),
  ];
  const started = new Date();
  const stamp = started.toISOString().slice(0, 19).replaceAll(":", "").replace("T", "-");
  /** @type {Row[]} */
  const rows = [];
  let first = "";
  for (const [index, one] of cases.entries()) {
    print(`\n${index + 1} of ${cases.length}: ${one.name} (${one.amount.toFixed(2)})\n${one.todo}`);
    const answer = await ask("Enter: begin, s: leave out, q: end here.");
    if (answer === "q") break;
    const orderId = one.how === "repeat" ? first : `acceptance-${stamp}-${index + 1}`;
    if (answer === "s" || orderId === "") {
      rows.push({ name: one.name, ...nothing, verdict: "left out" });
      continue;
    }
    const row = await paid(one, orderId, call, ask);
    if (index === 0 && row.charged === "yes") first = orderId;
    rows.push(row);
    print(`${row.outcome}, charged: ${row.charged}: ${row.verdict}`);
  }
  rows.push(await endOfDay(call, ask));
  return await report({ site, call, terminal, started, stamp, rows });
}

const CONTRADICTION = "CONTRADICTION";
const LACKS = "not with this terminal";
const nothing = { outcome: "", charged: "", person: "" };

/**
 * One case, and what the person knows of it.
 * @param {Case} one @param {string} orderId @param {Call} call @param {Ask} ask
 * @returns {Promise<Row>}
 */
async function paid({ name, amount, how, expected }, orderId, call, ask) {
  const startedMs = Date.now();
  let lack = 0;
  const delivery = how === "undelivered" ? { delivery: { withinSeconds: 30 } } : {};
  const payment = call("POST", "/payment", { amount, orderId, ...delivery });
  if (how === "cancel") {
    await Promise.race([payment, after(CANCELLED_AFTER_MS)]);
    lack = (await call("POST", "/cancel")).http;
  }
  let reply = await outcomeOf(await payment, orderId, call, ask);
  if (how === "reverse" && reply.one?.status === "Success") {
    lack = (await call("POST", "/reversal", { orderId })).http;
    reply = await outcomeOf({ http: 0, one: undefined }, orderId, call, ask);
  }
  if (how === "undelivered" && reply.one?.status === "Approved") {
    const answer = await call("POST", "/delivery", { orderId, delivered: false });
    reply = await outcomeOf(answer, orderId, call, ask);
  }
  const seconds = Math.round((Date.now() - startedMs) / 1_000);
  const { one = {}, http } = reply;
  const outcome = [one.status ?? `HTTP ${http}`, one.error?.code].filter(Boolean).join(" ");
  const charged = chargedOf(one, http);
  const details = detailsOf(one, http, seconds);
  if (http === 501) {
    return { ...nothing, name, outcome, charged, verdict: LACKS, details };
  }
  print(`The connector answers ${outcome}.`);
  const person = await personSays(ask);
  const isRight = expected.includes(one.status) && (how !== "repeat" || one.replayed === true);
  const usual = lack === 501 ? LACKS : isRight ? "as expected" : "different";
  const verdict = verdictOf(charged, person) ?? usual;
  return { name, outcome, charged, person, verdict, details };
}

/** Returns "y", "n" or "?", which the end of the answers is too. @param {Ask} ask */
async function personSays(ask) {
  print("Is the customer's money taken, by the terminal, its receipt or its journal?");
  for (;;) {
    const said = (await ask("y, n, or ? if it cannot be known:")).toLowerCase();
    if (/^(?:y|yes|n|no|\?)$/.test(said)) return said.slice(0, 1);
    if (said === "q") return "?";
  }
}

/** What a person knows weighs more than the case. @param {string} charged @param {string} person */
function verdictOf(charged, person) {
  const isWrong = (charged === "yes" && person === "n") || (charged === "no" && person === "y");
  if (isWrong) return CONTRADICTION;
  return charged === "unknown" ? "unknown" : undefined;
}

/** @param {any} one @param {number} http */
function chargedOf(one, http) {
  if (one.status === "Success") return "yes";
  if (one.status === "Reversed") return "no";
  if (http === 404) return "no";
  return one.error?.charged ?? "unknown";
}

/** Facts about the answer; of a card number only how many digits are left of how many. */
function detailsOf(
  /** @type {any} */ one,
  /** @type {number} */ http,
  /** @type {number} */ seconds,
) {
  const pan = String(one.receipt?.primaryAccountNumber ?? "");
  const [, begin = "", end = ""] = /^(\d*)\D*(\d*)$/.exec(pan) ?? [];
  const card = pan === "" ? "none" : `${begin.length} + ${end.length} of ${pan.length} digits`;
  const { readingMode = "", label = "" } = one.receipt ?? {};
  const code = one.error?.details?.terminalCode;
  return [
    `HTTP ${http}`,
    `${seconds} s`,
    `card ${card}`,
    `${String(one.ticket ?? "").split("|").length} lines of ticket`,
    ...[readingMode, label].filter(Boolean),
    ...(code ? [`terminal code ${code}`] : []),
    ...(one.replayed ? ["replayed"] : []),
    ...(one.warnings ?? []).map(() => "a warning"),
  ].join(", ");
}

/**
 * Reads the order until its outcome is known; the payment itself is never sent again. An order that
 * the connector does not ask the terminal about is read when the person says so.
 * @param {Reply} reply @param {string} orderId @param {Call} call @param {Ask} ask
 */
async function outcomeOf(reply, orderId, call, ask) {
  const untilMs = Date.now() + OUTCOME_MS;
  let known = reply;
  let notAsked = 0;
  while (known.http === 0 || known.http === 504) {
    if (known === reply) print("Waiting until the outcome is known, for 10 minutes at most ...");
    else if (notAsked < NOT_ASKED_MIN) await after(ASKED_AGAIN_MS);
    else if (await isLeft(known, ask)) break;
    if (notAsked < NOT_ASKED_MIN && Date.now() > untilMs) break;
    known = await call("GET", `/payment/${orderId}`);
    notAsked = isNotAsked(known) ? notAsked + 1 : 0;
  }
  return known;
}

/** Whether only the gateway or an operator can say what became of the order. @param {Reply} one */
function isNotAsked({ one }) {
  return one?.error?.code === "PAYMENT_UNKNOWN" && one.error.details.asking === undefined;
}

/** Whether the person goes on without the outcome. @param {Reply} known @param {Ask} ask */
async function isLeft({ one }, ask) {
  print(`The connector does not ask the terminal about it any more: ${one.error.details.why}.
The order ends when the gateway says what became of it, or when an operator settles it.`);
  return (await ask("Enter: read the order again, s: go on without its outcome.")) !== "";
}

/** @param {Call} call @param {Ask} ask @returns {Promise<Row>} */
async function endOfDay(call, ask) {
  print("\nAt the end: the terminal's end of day, which settles its sales with the bank");
  const name = "end of day";
  if ((await ask("Enter: begin, s: leave out.")) !== "") {
    return { name, ...nothing, verdict: "left out" };
  }
  const { http, one = {} } = await call("POST", "/tlc");
  if (http === 501) return { name, ...nothing, verdict: LACKS };
  const { terminal, journal, differenceMinor } = one.reconciliation ?? {};
  const totals = terminal
    ? `the terminal counts ${terminal.count} sales, the journal ${journal.count}`
    : "the totals are not compared";
  const isRight = http === 200 && (differenceMinor ?? 0) === 0;
  const outcome = one.error?.code ?? `HTTP ${http}`;
  return {
    ...nothing,
    name,
    outcome,
    verdict: isRight ? "as expected" : "different",
    details: totals,
  };
}

/**
 * @typedef {object} Run
 * @property {Site} site
 * @property {Call} call
 * @property {string[]} terminal make and model, and software, as the person names them
 * @property {Date} started
 * @property {string} stamp
 * @property {Row[]} rows
 */

/** Writes and prints the report, and returns the exit code. @param {Run} run */
async function report({ site, call, terminal: [make, software], started, stamp, rows }) {
  const { setting, versionNumber, dataDirectory } = site;
  const { one: identity = {} } = await call("GET", "/config");
  const { one: doctor = {} } = await call("GET", "/doctor");
  const facts = (doctor.findings ?? []).filter((/** @type {any} */ { check }) => {
    return check === "assumptions";
  });
  const settings = settingNames
    .filter((name) => (setting(name) ?? "") !== "")
    .map((name) => `${name}=${name === KEY ? "(a key is set)" : setting(name)}`);
  const address = setting("SERIAL_PORT") ?? "";
  const text = [
    "# Acceptance of a terminal",
    "",
    `- terminal: ${make}; software: ${software}`,
    `- the terminal reports the version ${identity.terminalVersion || "none"}`,
    `- connector ${versionNumber} on ${identity.os ?? "?"}, ${started.toISOString()}`,
    `- connection: ${address.startsWith("tcp:") ? "TCP" : "serial"}`,
    `- settings: ${settings.join(", ") || "defaults"}`,
    "",
    "| Case | The connector answered | Charged | The person says | Verdict | Details |",
    "|---|---|---|---|---|---|",
    ...rows.map(({ name, outcome, charged, person, verdict, details = "" }) => {
      return `| ${[name, outcome, charged, person, verdict, details].join(" | ")} |`;
    }),
    "",
    ...facts.map((/** @type {any} */ { says }) => `- ${withoutNumbers(says)}`),
    "",
  ].join("\n");
  const file = join(dataDirectory, `acceptance-${stamp}.md`);
  writeFileSync(file, text, { mode: 0o600, flag: "wx" });
  print(`\n${text}`);
  const paidRows = rows.filter(({ name }) => !name.includes("again"));
  const owed = paidRows.filter(({ charged, person }) => charged === "yes" || person === "y");
  if (owed.length > 0) print(`Give back: ${owed.map(({ name }) => name).join("; ")}.`);
  const open = paidRows.filter(
    ({ charged, person }) => charged === "unknown" && !/^[yn]$/.test(person),
  );
  if (open.length > 0)
    print(`Find out who has the money: ${open.map(({ name }) => name).join("; ")}.`);
  const reversed = rows.filter(({ outcome }) => outcome === "Reversed");
  if (reversed.length > 0)
    print("The gateway has the order of the reversed payment: cancel it there.");
  print(`${file} has no card number; send it to the contact in SECURITY.md.`);
  const isWrong = rows.some(({ verdict }) => verdict === CONTRADICTION);
  return isWrong ? EXIT.contradiction : EXIT.ok;
}

const KEY = "NEXO_KEY_IDENTIFIER";

/** The settings that say how the terminal is spoken to; of a key only whether it is set. */
const settingNames = [
  ["TERMINAL_PROTOCOL", "TERMINAL_SHARED", "SERIAL_BAUD", "SERIAL_STOP_BITS", "CURRENCY"],
  ["PROFILE", "CONFIG_BYTE", "CHARSET", "MESSAGE_IDS", "PRINTS_COUNT"].map((name) => `ZVT_${name}`),
  ["VARIANT", "REPORT", "LINE", "PROFILE"].map((name) => `CONCERT_${name}`),
  ["LINK", "VERSION", "END", "REFERENCE", "RECEIPT"].map((name) => `CAISSE_AP_${name}`),
  ["NEXO_ENVIRONMENT", KEY, "NEXO_PAYMENT_LIMIT_MS", "NEXO_BUSY_WAIT_MS", "NEXO_NOTIFY_PORT"],
].flat();

/** Returns a text without digits that could be a card number. @param {string} text */
function withoutNumbers(text) {
  return text.replaceAll("|", "/").replaceAll(/\d(?:[ .-]?\d){7,}/g, "(digits)") || "not named";
}

/** @param {Site} site @returns {Call} */
function callTo({ setting }) {
  const login = setting("OPERATOR_LOGIN") || setting("TERMINAL_MANAGER_LOGIN");
  const password = setting("OPERATOR_LOGIN")
    ? setting("OPERATOR_PWD")
    : setting("TERMINAL_MANAGER_PWD");
  const authorization = `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`;
  return async (method, path, body) => {
    try {
      const response = await fetch(`http://127.0.0.1:${setting("LOCAL_PORT")}${path}`, {
        method,
        headers: { authorization, ...(body ? { "content-type": "application/json" } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      const [one] = await response.json();
      return { http: response.status, one };
    } catch {
      return { http: 0, one: undefined };
    }
  };
}

/** @param {number} ms @returns {Promise<void>} */
function after(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** @param {string} text */
function print(text) {
  process.stdout.write(`${text}\n`);
}

/** Returns what a setup file has for a name, as the connector reads it. @param {string} file */
function settingsIn(file) {
  const text = readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  const lines = text.matchAll(/^[ \t]*([A-Za-z]\w*)[ \t]*=[ \t]*(.*?)[ \t]*\r?$/gm);
  const values = new Map(
    [...lines].map(([, name = "", value = ""]) => {
      return [name, /^(["'])(.*?)\1(?:\s+#.*)?$/.exec(value)?.[2] ?? value];
    }),
  );
  return (/** @type {string} */ name) => values.get(name);
}

const [, , setupFile = "", dataDirectory = "", versionNumber = ""] = process.argv;
if (existsSync(setupFile)) {
  const setting = settingsIn(setupFile);
  process.exitCode = await acceptance({ setting, dataDirectory, versionNumber });
} else {
  print(`${setupFile} is not there: run ./launch.sh configure first.`);
  process.exitCode = EXIT.configuration;
}
