/**
 * Asks every reading call of tp-manager over a large journal and over a small one, in turn, and
 * watches how much processor time the main thread takes at a stretch, daily chores included:
 *   node scripts/bench-history.ts LARGE SMALL [--rounds 30] [--chores]
 * LARGE and SMALL are folders of scripts/large-journal.ts, SMALL with `--orders 1000`. With
 * `--chores` it waits for the copy, archive and packing of the large journal, which change it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../src/shared/time.ts";
import { programFile } from "../src/shared/version-files.ts";
import { Journal } from "../src/tp-manager/journal/journal.ts";
import { misused, readArguments } from "./command-line.ts";

const { values, positionals } = readArguments({
  options: {
    rounds: { type: "string", default: "30" },
    chores: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const [large, small] = positionals;
if (large === undefined || small === undefined) misused();
const rounds = Number(values.rounds);
const LOGIN = "kiosk:secret";
const statuses = ["Success", "Approved", "Declined", "Cancelled", "Failed", "Reversed", "Unknown"];

/**
 * The code of a watcher with a tick each millisecond, which measures the processor time (user and
 * system) between two ticks.
 */
const watcher = `
  import { writeFileSync } from "node:fs";
  let before = process.threadCpuUsage(), longest = 0;
  process.on("SIGUSR2", () => { longest = 0; before = process.threadCpuUsage(); });
  setInterval(() => {
    const now = process.threadCpuUsage();
    const ms = (now.user - before.user + now.system - before.system) / 1000;
    before = now;
    if (ms <= longest) return;
    longest = ms;
    writeFileSync(process.env.LONGEST_HOLD, String(ms));
  }, 1).unref();`;

interface Running {
  readonly name: string;
  readonly folder: string;
  readonly port: number;
  readonly process: ChildProcess;
  readonly orders: readonly string[];
}

const started: Running[] = [];
try {
  started.push(await start("large", large, 18_765), await start("small", small, 18_766));
  for (const { process: running } of started) running.kill("SIGUSR2");
  await compare(callsOf(started));
  if (values.chores) await waitForChores(large);
  for (const { name, folder } of started) {
    const ms = Number(readFileSync(longestOf(folder), "utf8"));
    print(`longest turn, ${name} journal`, `${ms.toFixed(1)} ms of processor time`);
  }
} finally {
  for (const { process: running } of started) {
    running.kill("SIGKILL");
    await once(running, "exit");
  }
}

function longestOf(folder: string): string {
  return join(folder, "longest-turn");
}

async function start(name: string, folder: string, port: number): Promise<Running> {
  const orders = someOrders(join(folder, "journal.db"));
  const soon = new Date(systemClock.now() + 120_000);
  const time = `${soon.getHours()}:${String(soon.getMinutes()).padStart(2, "0")}`;
  const settings = {
    SERIAL_PORT: "tcp://127.0.0.1:1",
    LOCAL_PORT: port,
    LOG_LEVEL: "info",
    TERMINAL_MANAGER_LOGIN: "kiosk",
    TERMINAL_MANAGER_PWD: "secret",
    JOURNAL_DAYS: 30,
    CONSOLE_PORT: 0, // its port would be that of the other one
    UPDATE_TIME: values.chores ? time.padStart(5, "0") : "03:30",
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`);
  writeFileSync(join(folder, "config.txt"), lines.join(""), { mode: 0o600 });
  rmSync(join(folder, "logs"), { recursive: true, force: true });
  mkdirSync(join(folder, "logs"));
  writeFileSync(longestOf(folder), "0");
  const hook = `data:text/javascript,${encodeURIComponent(watcher)}`;
  const running = spawn(
    process.execPath,
    ["--import", hook, programFile("tp-manager"), "--data", folder],
    { stdio: "inherit", env: { ...process.env, LONGEST_HOLD: longestOf(folder) } },
  );
  while (!(await isListening(port))) await sleep(systemClock, "start", 100);
  if (running.exitCode !== null) throw new Error(`the port ${port} is another program's`);
  return { name, folder, port, process: running, orders };
}

/** Returns the ids of an order in the journal and of an order in the archive. */
function someOrders(path: string): string[] {
  const journal = new Journal(path);
  const [whole] = journal.attempts.list({ sinceMs: 0, status: null, limit: 1, before: null });
  const page = { sinceMs: 0, status: null, limit: 1, before: null };
  const [archived] = journal.archive.list(page);
  journal.close();
  return [whole, archived].flatMap((one) => one?.attempt.request.orderId ?? []);
}

async function isListening(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/version`).then(
    () => true,
    () => false,
  );
}

/** Returns the name of each call, with its paths for the two journals. */
function callsOf([first, second]: readonly Running[]): (readonly [string, string, string])[] {
  const same = [
    "/version",
    "/health",
    "/metrics",
    "/config",
    "/check",
    "/payments",
    "/outbox",
    ...statuses.map((status) => `/payments?status=${status}`),
    "/payments?since=2020-01-01",
    "/payments?since=2100-01-01",
    "/payment/nowhere",
    "/unmatched-transactions",
    "/reconciliation",
  ].map((path) => [path, path, path] as const);
  const orders = ["whole", "archived"].map((kind, i) => {
    const [a, b] = [first?.orders[i] ?? "", second?.orders[i] ?? ""];
    return [`/payment/{${kind}}`, `/payment/${a}`, `/payment/${b}`] as const;
  });
  return [...same, ...orders];
}

async function compare(calls: readonly (readonly [string, string, string])[]): Promise<void> {
  const [first, second] = started;
  if (!first || !second) return;
  print("call", "large       small       ratio");
  for (const [name, ofFirst, ofSecond] of calls) {
    const times: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      times[0].push(await timed(first.port, ofFirst));
      times[1].push(await timed(second.port, ofSecond));
    }
    const [a, b] = [median(times[0]), median(times[1])];
    print(
      name,
      `${a.toFixed(2)} ms`.padEnd(12) + `${b.toFixed(2)} ms`.padEnd(12) + (a / b).toFixed(2),
    );
  }
}

async function timed(port: number, path: string): Promise<number> {
  const headers = { authorization: `Basic ${btoa(LOGIN)}` };
  const begun = systemClock.monotonicMs();
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  await response.arrayBuffer();
  return systemClock.monotonicMs() - begun;
}

function median(times: number[]): number {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

async function waitForChores(folder: string): Promise<void> {
  const done = /"chore":"packing of[^\n]*daily chore done/;
  const log = join(folder, "logs", "tp-manager.log");
  while (!done.test(readFileSync(log, "utf8"))) await sleep(systemClock, "chores", 1_000);
}

function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(36)}${value}\n`);
}
