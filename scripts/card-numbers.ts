/**
 * Sends card numbers of nobody to a whole installation by every way in, and searches every file and
 * every answer for them (docs/pci.md):
 *   npm run card-numbers -- [--only zvt|concert|caisse-ap|nexo] [--keep FOLDER]
 * Real programs run with a simulated terminal that masks nothing. Prints what was sent, what was
 * searched and what was found. --keep leaves a copy of the files in FOLDER, to be searched with
 * other tools. Ends with 1 when a card number was found, or when the search misses one that was put
 * there on purpose.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import { projectRoot } from "../src/shared/version-files.ts";
import { Journal } from "../src/tp-manager/journal/journal.ts";
import { fleetBroker } from "../test/card-numbers/fleet-broker.ts";
import { findsIn, type Searched, searchFolder, writingsOf } from "../test/card-numbers/search.ts";
import { terminalPan, unmaskingLine } from "../test/card-numbers/unmasking-line.ts";
import { unmaskingNexo } from "../test/card-numbers/unmasking-nexo.ts";
import {
  doors,
  everyCall,
  notifications,
  operator,
  pans,
  payments,
  type Sent,
} from "../test/card-numbers/ways-in.ts";
import { packAll } from "../test/support/house/pack-all.ts";
import { until } from "../test/support/programs/child-program.ts";
import { freePort, TestInstallation } from "../test/support/programs/installation.ts";
import { outputOf } from "../test/support/programs/own-processes.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: { only: { type: "string" }, keep: { type: "string" } },
});
const all = [...Object.values(pans), terminalPan];
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const problems: string[] = [];
/** The file with everything that the broker of the fleet has got. */
const FLEET_BYTES = "fleet-broker";
/** Figures come once a minute, and the refused connection is repeated within half a minute. */
const REPORTED_LIMIT_MS = 180_000;

const runs = { zvt, concert, "caisse-ap": caisseAp, nexo } as const;
const chosen = Object.entries(runs).filter(([name]) => name === (values.only ?? name));
if (chosen.length === 0) misused();
searchFindsWhatIsThere();
await fleetIsSearched();
for (const [, run] of chosen) await run();
for (const problem of problems) print(`FOUND ${problem}`);
print(problems.length === 0 ? "No card number was found." : `${problems.length} finds`);
process.exit(problems.length === 0 ? 0 : 1);

/** Puts each writing of a card number into a file of its own: the search must find all of them. */
function searchFindsWhatIsThere(): void {
  const folder = mkdtempSync(join(tmpdir(), "card-numbers-"));
  const planted = all.flatMap((pan) => writingsOf(pan));
  for (const [i, { bytes }] of planted.entries()) {
    const content = Buffer.concat([Buffer.from("before "), bytes, Buffer.from(" after")]);
    writeFileSync(join(folder, String(i)), i % 2 === 0 ? content : gzipSync(content));
  }
  const found = new Set(searchFolder(folder, all).finds.map((find) => find.split(":")[0]));
  rmSync(folder, { recursive: true, force: true });
  print(`The search finds ${found.size} of ${planted.length} card numbers put there on purpose.`);
  if (found.size < planted.length) problems.push("the search misses what is there");
}

/**
 * A kiosk with a card number as FLEET_ID, which is a warning only: the search must find it in what
 * the broker has got, and in the queue for it.
 */
async function fleetIsSearched(): Promise<void> {
  const broker = await fleetBroker(await freePort(), { hangs: true });
  const at = installation(broker, { FLEET_ID: pans.fleet });
  try {
    await at.start();
    await at.connected();
    await paid(at);
    await reported(broker, ["state", "payment"]);
    const { finds } = searchedWith(broker, at);
    const missed = [FLEET_BYTES, "data/fleet.db"].filter(
      (file) => !finds.some((find) => find.startsWith(`${file}: digits of 601100`)),
    );
    print(`It finds a FLEET_ID in ${2 - missed.length} of 2 files of a fleet.`);
    for (const file of missed) problems.push(`the search misses what is in ${file}`);
  } finally {
    broker.close();
    await at.stop();
  }
}

type Broker = Awaited<ReturnType<typeof fleetBroker>>;

function searchedWith(broker: Broker, at: TestInstallation): Searched {
  writeFileSync(join(at.folder, FLEET_BYTES), broker.bytes());
  return searchFolder(at.folder, all);
}

/** Waits until the broker has documents of these names. */
async function reported({ counts }: Broker, names: readonly string[]): Promise<void> {
  await until(
    `the fleet has ${names.join(", ")}`,
    async () => names.every((name) => counts[name]) || undefined,
    REPORTED_LIMIT_MS,
  );
}

async function zvt(): Promise<void> {
  const [linePort, notificationPort] = [await freePort(), await freePort()];
  const broker = await fleetBroker(await freePort(), { isRude: true });
  const at = installation(broker, {
    FLEET_COMMANDS: "yes",
    SERIAL_PORT: `tcp://127.0.0.1:${linePort}`,
    NOTIFICATION_PORT: notificationPort,
    NOTIFICATION_SECRET: operator.password,
  });
  const line = await unmaskingLine(linePort, () => at.terminalEndpoints?.tcpPort ?? 0);
  try {
    await at.start();
    await at.connected();
    const status = await paid(at);
    const { unmasked } = line.counts;
    if (unmasked === 0) problems.push("the terminal sent no card number: the run shows nothing");
    print(`\nZVT: a payment is ${status}; ${unmasked} messages of the terminal were not masked.`);
    report(await payments(at));
    report(await doors(at));
    report(await notifications(notificationPort));
    report(await everyCall(at));
    await reported(broker, ["state", "payment", "metrics", "reply"]);
    await searched(at, broker);
  } finally {
    line.close();
    broker.close();
    await at.stop();
  }
}

async function concert(): Promise<void> {
  const gateway = await rudeGateway();
  try {
    await oneWay("Concert", "concert", gateway.url);
    print(`  the gateway named a card number in ${gateway.answers()} answers`);
  } finally {
    gateway.close();
  }
}

async function caisseAp(): Promise<void> {
  await oneWay("Caisse-AP", "caisse-ap");
}

async function nexo(): Promise<void> {
  const [port, poiId] = [await freePort(), "P400Plus-275039202"];
  const terminal = await unmaskingNexo(port, poiId, terminalPan);
  const folder = mkdtempSync(join(tmpdir(), "card-numbers-"));
  const caFile = join(folder, "root.pem");
  writeFileSync(caFile, terminal.root);
  const broker = await fleetBroker(await freePort());
  const at = installation(broker, {
    TERMINAL_PROTOCOL: "nexo",
    SERIAL_PORT: `tcp://127.0.0.1:${port}`,
    NEXO_POIID: poiId,
    NEXO_ENVIRONMENT: "test",
    NEXO_CA_FILE: caFile,
  });
  try {
    await at.start();
    await at.connected();
    print(`\nnexo: a payment is ${await paid(at)}; the terminal masks nothing.`);
    if (terminal.unmasked() === 0) problems.push("the terminal sent no card number");
    await reported(broker, ["state", "payment"]);
    await searched(at, broker);
  } finally {
    terminal.close();
    broker.close();
    await at.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One-way terminals of the simulator can report the whole number by themselves. */
async function oneWay(title: string, protocol: string, gateway?: string): Promise<void> {
  const more = gateway === undefined ? {} : { GATEWAY_URL: gateway };
  const broker = await fleetBroker(await freePort());
  const config = { TERMINAL_PROTOCOL: protocol, ...more };
  const at = installation(broker, config, ["--protocol", protocol, "--report", "clear"]);
  try {
    await at.start();
    await at.connected();
    print(`\n${title}: a payment is ${await paid(at)}; the terminal does not mask its result.`);
    await reported(broker, ["state", "payment"]);
    await searched(at, broker);
  } finally {
    broker.close();
    await at.stop();
  }
}

function installation({ url }: Broker, config: object, terminal: readonly string[] = []) {
  return new TestInstallation({
    terminalSwitches: ["--instant", ...terminal],
    config: {
      OPERATOR_LOGIN: operator.login,
      OPERATOR_PWD: operator.password,
      LOG_LEVEL: "debug",
      GATEWAY_WAIT: 5_000,
      FLEET_URL: url,
      ...config,
    },
  });
}

async function paid(at: TestInstallation): Promise<string> {
  await until("the fleet reads events", () => readsEvents(join(at.data, "fleet.db")) || undefined);
  const { one } = await at.pay(9, "A-0");
  for (const find of findsIn(Buffer.from(JSON.stringify(one)), all)) {
    problems.push(`the answer of the payment: ${find}`);
  }
  if (one.status !== "Success")
    problems.push(`the payment is ${one.status}: the run shows nothing`);
  return one.status;
}

/** Whether the fleet part has begun: it reports no event of before. */
function readsEvents(path: string): boolean {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database.prepare("SELECT 1 FROM figure WHERE name = 'event'").get() !== undefined;
  } finally {
    database.close();
  }
}

/** A gateway that answers everything with a fault, whose text has a card number. */
async function rudeGateway() {
  let answers = 0;
  const server = createServer((request, response) => {
    request.resume();
    answers += 1;
    const fault = `card ${pans.gateway} is refused`;
    const body =
      '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>' +
      `<soap:Fault><faultcode>1</faultcode><faultstring>${fault}</faultstring></soap:Fault>` +
      "</soap:Body></soap:Envelope>";
    const isLookup = request.method === "GET";
    const type = isLookup ? "application/json" : "text/xml";
    response.writeHead(isLookup ? 200 : 500, { "content-type": type });
    response.end(isLookup ? JSON.stringify({ message: fault, card: pans.gateway }) : body);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, answers: () => answers, close };
}

function report({ way, statuses, echoes }: Sent): void {
  const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
  print(`  ${way}: answered ${counts.join(", ")}`);
  for (const echo of echoes) problems.push(`an answer, ${echo}`);
}

/** Searches the files while the programs run, then what they leave when they have stopped. */
async function searched(at: TestInstallation, broker: Broker): Promise<void> {
  const launcher = join(projectRoot, "src", "launcher", "main.ts");
  const bundle = join(at.folder, "bundle.tar.gz");
  for (const given of [
    ["backup"],
    ["status", "--json"],
    ["doctor", "--json", "--bundle", bundle],
  ]) {
    const output = await outputOf(process.execPath, [launcher, ...given, "--data", at.data]);
    for (const find of findsIn(Buffer.from(output), all)) {
      problems.push(`the output of ${given[0]}: ${find}`);
    }
  }
  noted("while the programs run", searchedWith(broker, at));
  await Promise.all([at.tpManager?.end("SIGTERM"), at.supervisor?.end("SIGTERM")]);
  noted("after they have stopped", searchedWith(broker, at));
  const documents = Object.entries(broker.counts).map(([name, count]) => `${count} × ${name}`);
  print(`  the broker of the fleet had ${documents.join(", ")}`);
  const journal = new Journal(join(at.data, "journal.db"));
  packAll(journal);
  journal.close();
  noted("after the texts of the journal are packed", searchFolder(at.folder, all));
  if (values.keep === undefined) return;
  mkdirSync(values.keep, { recursive: true });
  cpSync(at.folder, mkdtempSync(join(values.keep, "run-")), { recursive: true });
}

function noted(when: string, { files, bytes, finds }: Searched): void {
  print(`  ${files} files with ${bytes} bytes searched ${when}: ${finds.length} finds`);
  problems.push(...finds);
}
