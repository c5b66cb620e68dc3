/**
 * Drains a queue of transactions through a real supervisor process into a gateway that answers at
 * once, or after so many milliseconds, and sends the same bodies over as many raw keep-alive
 * connections for comparison:
 *   node scripts/bench-outbox.ts [--items 10000] [--answer-after 0]
 * The same again with one synced write for each round of the connections, which is the least that
 * any queue can take whose results are on disk before a connection is used again. Prints the rates,
 * the supervisor's memory, the longest stall of its main thread, and its processor time, which
 * depends less than a rate on what else the machine does.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { spawnProcess } from "../src/launcher/processes/launch-process.ts";
import { createIpcClient } from "../src/shared/ipc/client.ts";
import { supervisorMessages } from "../src/shared/ipc/contract.ts";
import { openRunDirectory } from "../src/shared/ipc/run-directory.ts";
import { newId } from "../src/shared/new-id.ts";
import { openDatabase } from "../src/shared/store/sqlite.ts";
import { sleep, systemClock } from "../src/shared/time.ts";
import { programFile } from "../src/shared/version-files.ts";
import { OutboxStore } from "../src/supervisor/outbox/outbox-store.ts";
import { WINDOW_MAX } from "../src/supervisor/outbox/queue-window.ts";
import { supervisorMigrations } from "../src/supervisor/supervisor-schema.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    items: { type: "string", default: "10000" },
    "answer-after": { type: "string", default: "0" },
  },
});
const items = Number(values.items);
const answerAfterMs = Number(values["answer-after"]);
if (!Number.isInteger(items) || items < 1 || !(answerAfterMs >= 0)) misused();

/** The pages that a commit of eight results and eight claims writes to the log, as counted. */
const COMMIT_PAGES = 11;
/** The unit of processor time in Linux: a hundredth of a second (sysconf _SC_CLK_TCK). */
const TICK_MS = 10;
/** The interval of measuring the event loop; Node.js counts the interval as a delay. */
const LOOP_CHECKS_MS = 2;

const answer =
  '<?xml version="1.0" encoding="UTF-8"?>\n<SOAP-ENV:Envelope ' +
  'xmlns:SOAP-ENV="http://schemas.xmlsoap.org/soap/envelope/" xmlns:ns1="urn:bench">' +
  "<SOAP-ENV:Body><ns1:generateResponse><generateResult><redirectUrl>x</redirectUrl>" +
  "<code>0</code><description>N/A</description></generateResult></ns1:generateResponse>" +
  "</SOAP-ENV:Body></SOAP-ENV:Envelope>";

interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const received: Received[] = [];
const server = createServer((incoming, response) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const { url: path = "", headers } = incoming;
    const type = headers["content-type"] ?? "";
    const soapAction = String(headers["soapaction"] ?? "");
    const kept = { "content-type": type, soapaction: soapAction };
    received.push({ path, headers: kept, body: Buffer.concat(chunks).toString("utf8") });
    const respond = (): void => {
      response.writeHead(200, { "content-type": "text/xml", "content-length": answer.length });
      response.end(answer);
    };
    if (answerAfterMs === 0) respond();
    else systemClock.startTimer("answer", answerAfterMs, respond);
  });
});

const folder = mkdtempSync(join(tmpdir(), "utc-bench-"));
const stallFile = join(folder, "longest-stall");
let supervisor: ChildProcess | undefined;
try {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  fillQueue();
  writeConfig(url);
  const { ms: drainMs, idleMb, peakMb, cpuMs, stallMs } = await drain();
  const bodies = received.splice(0);
  const rawMs = await postAll(url, bodies);
  const { ms: syncedMs, longestSyncMs } = await postSynced(url, bodies);
  const rate = (ms: number): string => `${Math.round((items / ms) * 1_000)} per second`;
  const rows = [
    ["items", String(items)],
    ["outbox drained", `${(drainMs / 1_000).toFixed(1)} s, ${rate(drainMs)}`],
    ["raw keep-alive POSTs", `${(rawMs / 1_000).toFixed(1)} s, ${rate(rawMs)}`],
    ["ratio", `${(rawMs / drainMs).toFixed(2)} x`],
    ["with a synced write each", `${(syncedMs / 1_000).toFixed(1)} s, ${rate(syncedMs)}`],
    ["ratio", `${(syncedMs / drainMs).toFixed(2)} x`],
    ["supervisor processor time", `${(cpuMs / items).toFixed(2)} ms per item`],
    ["supervisor's longest stall", `${stallMs.toFixed(1)} ms`],
    ["longest of those syncs", `${longestSyncMs.toFixed(1)} ms`],
    ["supervisor memory", `${idleMb} MB at its start, at most ${peakMb} MB`],
  ];
  for (const [name = "", value] of rows) process.stdout.write(`${name.padEnd(28)}${value}\n`);
} finally {
  if (supervisor && supervisor.exitCode === null) {
    supervisor.kill("SIGKILL");
    await once(supervisor, "exit");
  }
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
}

function fillQueue(): void {
  mkdirSync(folder, { recursive: true });
  const database = openDatabase(join(folder, "supervisor.db"), supervisorMigrations);
  const store = new OutboxStore(database);
  database.exec("PRAGMA synchronous = OFF"); // nobody needs this queue after a power cut
  for (let i = 0; i < items; i++) store.add(sample(i), systemClock.now());
  database.close();
  // Synced before the drain, as a queue that has waited is; the first sync would wait for all.
  const file = openSync(join(folder, "supervisor.db"), "r+");
  fsyncSync(file);
  closeSync(file);
}

function sample(number: number): Parameters<OutboxStore["add"]>[0] {
  return {
    transactionId: newId(),
    orderId: `bench-${number}`,
    origin: "payment",
    amountMinor: 100 + (number % 900),
    currency: "EUR",
    exponent: 2,
    approvedAtMs: systemClock.now(),
    maskedPan: "444433XXXXXX1111",
    authorisationNumber: "136967",
    cardName: "VISA",
    receiptNumber: "0042",
    traceNumber: "000123",
    terminalId: "29001234",
    customerEmail: "ada@shop.example",
    customData: { machine: "north" },
    cart: [],
  };
}

function writeConfig(url: string): void {
  const settings = {
    GATEWAY_URL: url,
    GATEWAY_LOGIN: "login",
    GATEWAY_PWD: "password",
    GATEWAY_WEBSITE_ID: 107,
    GATEWAY_CATEGORY_ID: 5,
    GATEWAY_CALLBACK_URL: "https://shop.example/notify",
    UPDATE_TIME: "03:30",
    LOG_LEVEL: "warn",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(folder, "config.txt"), lines.join(""), { mode: 0o600 });
}

interface Drained {
  readonly ms: number;
  readonly idleMb: number;
  readonly peakMb: number;
  readonly cpuMs: number;
  /** The longest time in which the main thread served no event. */
  readonly stallMs: number;
}

async function drain(): Promise<Drained> {
  const part = { name: "supervisor", script: programFile("supervisor"), args: ["--data", folder] };
  supervisor = spawnProcess(part, { stdio: "inherit", env: { ...process.env, ...watched() } });
  const run = openRunDirectory(folder);
  const client = createIpcClient(run, "supervisor", supervisorMessages, systemClock);
  let startedMs: number | undefined;
  let idleMb = 0;
  let peakMb = 0;
  let cpuBeforeMs = 0;
  for (;;) {
    await sleep(systemClock, "look at the queue", 50);
    const outbox = await client.call("status", {}, 2_000).then(
      (status) => status.outbox,
      () => undefined, // not listening yet
    );
    if (received.length > 0 && startedMs === undefined) {
      startedMs = systemClock.monotonicMs();
      supervisor.kill("SIGUSR2");
    }
    if (received.length === 0) cpuBeforeMs = processorMs(supervisor.pid);
    const nowMb = residentMb(supervisor.pid);
    if (outbox) idleMb ||= nowMb;
    peakMb = Math.max(peakMb, nowMb);
    if (outbox?.pending === 0) break;
    if (supervisor.exitCode !== null) throw new Error("the supervisor ended");
  }
  const ms = systemClock.monotonicMs() - (startedMs ?? 0);
  client.close();
  const cpuMs = processorMs(supervisor.pid) - cpuBeforeMs;
  supervisor.kill("SIGUSR2");
  while (!existsSync(stallFile)) await sleep(systemClock, "the longest stall", 10);
  return { ms, idleMb, peakMb, cpuMs, stallMs: Number(readFileSync(stallFile, "utf8")) };
}

/**
 * Returns an environment in which the supervisor measures its event loop from a first signal, which
 * comes with the first order, to a second one.
 */
function watched(): Record<string, string> {
  const code = `import { monitorEventLoopDelay } from "node:perf_hooks";
    import { renameSync, writeFileSync } from "node:fs";
    const loop = monitorEventLoopDelay({ resolution: ${LOOP_CHECKS_MS} });
    let on = false;
    process.on("SIGUSR2", () => {
      if (!on) loop.enable();
      else {
        const ms = Math.max(loop.max / 1e6 - ${LOOP_CHECKS_MS}, 0);
        writeFileSync(${JSON.stringify(`${stallFile}.new`)}, String(ms));
        renameSync(${JSON.stringify(`${stallFile}.new`)}, ${JSON.stringify(stallFile)});
      }
      on = true;
    });`;
  const file = join(folder, "watch.mjs");
  writeFileSync(file, code);
  return { NODE_OPTIONS: `--import=${pathToFileURL(file).href}` };
}

/** Posts the bodies over as many keep-alive connections as the outbox has. */
async function postAll(url: string, bodies: readonly Received[]): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: WINDOW_MAX });
  const startedMs = systemClock.monotonicMs();
  const waiting = [...bodies].reverse();
  const post = async (): Promise<void> => {
    for (let one = waiting.pop(); one; one = waiting.pop()) await postOne(agent, url, one);
  };
  await Promise.all(Array.from({ length: WINDOW_MAX }, post));
  agent.destroy();
  return systemClock.monotonicMs() - startedMs;
}

interface Synced {
  readonly ms: number;
  /** The longest time of one sync of the disk. */
  readonly longestSyncMs: number;
}

/**
 * As many at a time, and a synced write of what one commit of the outbox writes before any of their
 * connections is used again: the least that a queue with this promise can take.
 */
async function postSynced(url: string, bodies: readonly Received[]): Promise<Synced> {
  const agent = new Agent({ keepAlive: true, maxSockets: WINDOW_MAX });
  const file = openSync(join(folder, "synced"), "w");
  const written = Buffer.alloc(COMMIT_PAGES * 4_096, "x");
  let longestSyncMs = 0;
  const startedMs = systemClock.monotonicMs();
  for (let at = 0; at < bodies.length; at += WINDOW_MAX) {
    await Promise.all(bodies.slice(at, at + WINDOW_MAX).map((body) => postOne(agent, url, body)));
    writeSync(file, written, 0, written.length, (at % 1_024) * 4_096);
    const syncedFromMs = systemClock.monotonicMs();
    fdatasyncSync(file);
    longestSyncMs = Math.max(longestSyncMs, systemClock.monotonicMs() - syncedFromMs);
  }
  agent.destroy();
  closeSync(file);
  return { ms: systemClock.monotonicMs() - startedMs, longestSyncMs };
}

function postOne(agent: Agent, url: string, { path, headers, body }: Received): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const sent = request(`${url}${path}`, { method: "POST", agent, headers }, (response) => {
      response.resume();
      response.on("end", resolve);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Returns the resident memory of a process in MB; 0 on a system without /proc. */
function residentMb(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024);
  } catch {
    return 0;
  }
}

/** Returns the processor time of a process so far; 0 on a system without /proc. */
function processorMs(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return 0;
  }
}
