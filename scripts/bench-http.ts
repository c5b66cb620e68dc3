/**
 * Requests per second of `GET /version` with all its checks, in turn with the same answer of a bare
 * fastify with @fastify/basic-auth, and the time of `GET /payments` compared with that of reading
 * and serialising the same rows:
 *   node scripts/bench-http.ts DATA [--seconds 5] [--connections 8]
 * DATA is a folder with a journal of scripts/large-journal.ts.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { sleep, systemClock } from "../src/shared/time.ts";
import { programFile } from "../src/shared/version-files.ts";
import { Journal } from "../src/tp-manager/journal/journal.ts";
import { answerOf } from "../src/tp-manager/orders/answer.ts";
import { misused, readArguments } from "./command-line.ts";

const { values, positionals } = readArguments({
  options: {
    seconds: { type: "string", default: "5" },
    connections: { type: "string", default: "8" },
  },
  allowPositionals: true,
});
const [data] = positionals;
if (data === undefined) misused();
const connections = Number(values.connections);
const SLICE_MS = 500;
const ROWS = 50;
const ROUNDS = 500;
const WARMING_ROUNDS = 200;
const [OURS, BARE] = [18_765, 18_767];
const authorization = `Basic ${btoa("kiosk:secret")}`;

const bareServer = `
  import fastify from "fastify";
  import basicAuth from "@fastify/basic-auth";
  const app = fastify();
  await app.register(basicAuth, {
    validate: async (login, password) => {
      if (login !== "kiosk" || password !== "secret") throw new Error("no");
    },
  });
  app.addHook("onRequest", app.basicAuth);
  app.get("/version", () => [{ version: "0.1.0-tpa-linux_x64", type: "tpa", os: "linux_x64" }]);
  await app.listen({ port: ${BARE}, host: "127.0.0.1" });`;

/**
 * Asks for one path again and again over one raw socket: a client of `node:http` has more to do for
 * a request than either server.
 */
class Asker {
  readonly #socket;
  readonly #question: string;
  #got = "";
  #end = Promise.withResolvers<void>();

  constructor(port: number, path: string) {
    const lines = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`];
    this.#question = `${[...lines, `Authorization: ${authorization}`].join("\r\n")}\r\n\r\n`;
    this.#socket = connect({ host: "127.0.0.1", port, noDelay: true }).setEncoding("latin1");
    this.#socket.on("data", (text) => {
      this.#got += text;
      const head = /^HTTP\/1\.1 200 .*?\r\ncontent-length: (\d+)\r\n.*?\r\n\r\n/is.exec(this.#got);
      if (head && this.#got.length === head[0].length + Number(head[1])) this.#end.resolve();
    });
    this.#socket.on("close", () => this.#end.reject(new Error(`ended: ${this.#got}`)));
  }

  /** Sends one request and resolves with its complete answer, which must be a success. */
  ask(): Promise<void> {
    this.#got = "";
    this.#end = Promise.withResolvers<void>();
    this.#socket.write(this.#question);
    return this.#end.promise;
  }

  close(): void {
    this.#socket.removeAllListeners("close").destroy();
  }
}

const children: ChildProcess[] = [];
try {
  startOurs(data);
  children.push(spawn(process.execPath, ["--input-type=module", "-e", bareServer]));
  for (const port of [OURS, BARE]) await listening(port);
  await compareVersion();
  await comparePayments(data);
} finally {
  for (const child of children) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}

function startOurs(folder: string): void {
  const settings = {
    SERIAL_PORT: "tcp://127.0.0.1:1",
    LOCAL_PORT: OURS,
    UPDATE_TIME: "03:30",
    TERMINAL_MANAGER_LOGIN: "kiosk",
    TERMINAL_MANAGER_PWD: "secret",
  };
  mkdirSync(folder, { recursive: true });
  const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`);
  writeFileSync(join(folder, "config.txt"), lines.join(""), { mode: 0o600 });
  children.push(spawn(process.execPath, [programFile("tp-manager"), "--data", folder]));
}

async function listening(port: number): Promise<void> {
  const ask = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/version`).then(
      () => true,
      () => false,
    );
  while (!(await ask())) await sleep(systemClock, "start", 100);
}

/** Measures both servers in alternating slices, so that other load affects both. */
async function compareVersion(): Promise<void> {
  const slices = Math.ceil((Number(values.seconds) * 1_000) / SLICE_MS);
  const [ours, bare]: [number[], number[]] = [[], []];
  for (const port of [OURS, BARE]) await slicePerSecond(port);
  const before = children.map(processorMs);
  for (let slice = 0; slice < slices; slice++) {
    const [a, b] = [await slicePerSecond(OURS), await slicePerSecond(BARE)];
    ours.push(a);
    bare.push(b);
  }
  const [a, b] = [median(ours), median(bare)];
  print("/version per second", `${Math.round(a)}, bare ${Math.round(b)}: ${(a / b).toFixed(2)} x`);
  const [ofOurs = 0, ofBare = 0] = children.map(
    (child, i) =>
      (processorMs(child) - (before[i] ?? 0)) / (sum(i === 0 ? ours : bare) * (SLICE_MS / 1_000)),
  );
  const compared = `${ofOurs.toFixed(3)} ms, bare ${ofBare.toFixed(3)} ms`;
  print("processor time of one", `${compared}: ${(ofBare / ofOurs).toFixed(2)} x`);
}

/** Returns the processor time of a process so far, in user and system mode (proc(5)). */
function processorMs({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

async function slicePerSecond(port: number): Promise<number> {
  const begun = systemClock.monotonicMs();
  let answered = 0;
  const one = async (): Promise<void> => {
    const asker = new Asker(port, "/version");
    while (systemClock.monotonicMs() - begun < SLICE_MS) {
      await asker.ask();
      answered += 1;
    }
    asker.close();
  };
  await Promise.all(Array.from({ length: connections }, one));
  return (answered * 1_000) / (systemClock.monotonicMs() - begun);
}

async function comparePayments(folder: string): Promise<void> {
  const journal = new Journal(join(folder, "journal.db"));
  const rows = (): void => {
    const page = { sinceMs: 0, status: null, limit: ROWS, before: null };
    const listed = journal.attempts.list(page);
    JSON.stringify(listed.map(({ attempt, delivery }) => answerOf(attempt, delivery).body));
  };
  const [ours, read]: [number[], number[]] = [[], []];
  const asker = new Asker(OURS, `/payments?limit=${ROWS}`);
  const oursMs = (): number => children.slice(0, 1).reduce((ms, one) => ms + processorMs(one), 0);
  let [begunMs, rowsMs] = [0, 0];
  for (let round = -WARMING_ROUNDS; round < ROUNDS; round++) {
    if (round === 0) [begunMs, rowsMs] = [oursMs(), 0]; // compiled by now
    ours.push(await timed(() => asker.ask()));
    const { user, system } = process.cpuUsage();
    read.push(await timed(rows));
    const used = process.cpuUsage({ user, system });
    rowsMs += (used.user + used.system) / 1_000;
  }
  const askedMs = oursMs() - begunMs;
  asker.close();
  journal.close();
  const [a, b] = [ours, read].map((times) => median(times.slice(WARMING_ROUNDS))) as [
    number,
    number,
  ];
  print(
    `/payments, ${ROWS} rows`,
    `${a.toFixed(2)} ms, rows ${b.toFixed(2)} ms: ${(a / b).toFixed(2)} x`,
  );
  const [mine, theirs] = [askedMs / ROUNDS, rowsMs / ROUNDS];
  const compared = `${mine.toFixed(2)} ms, rows ${theirs.toFixed(2)} ms`;
  print("processor time of one", `${compared}: ${(mine / theirs).toFixed(2)} x`);
}

async function timed(work: () => Promise<void> | void): Promise<number> {
  const begun = systemClock.monotonicMs();
  await work();
  return systemClock.monotonicMs() - begun;
}

function median(times: number[]): number {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(24)}${value}\n`);
}
