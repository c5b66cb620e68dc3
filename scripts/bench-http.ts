/**
 * Measures small answers of a whole installation in turn with a bare server of fastify and
 * @fastify/basic-auth:
 *   node scripts/bench-http.ts [DATA] [--runs 5] [--seconds 2] [--connections 8] [--watched 30]
 * `GET /version` and `GET /health` are compared with `GET /` of the bare server, over connections
 * that stay open; `GET /events`, until its first bytes have come, with `GET /`, both on a new
 * connection each time. So is the bare server with the headers of the connector's answers, with its
 * metrics in addition, and then with the launcher's settings for a small memory; the last one also
 * has a stream of one event, "empty events". Prints the answers in a second and the processor time
 * of one, each as the median of the runs with the lowest and the highest ratio. --watched: for so
 * many seconds a client asks for `/health` each second and ten others read `/events`; prints the
 * part of a processor that they cost both programs. With DATA, a folder with a journal of
 * scripts/large-journal.ts, the time of `GET /payments` is compared with that of reading and
 * serialising the same rows.
 * TEST_BUNDLE=dist/bundle runs the bundled programs.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { Journal } from "../src/tp-manager/journal/journal.ts";
import { answerOf } from "../src/tp-manager/orders/answer.ts";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { Asker } from "./bench/asker.ts";
import { bareServerArguments, fullerServers } from "./bench/bare-server.ts";
import { startFakeGateway } from "./bench/fake-gateway.ts";
import { startFakeTerminal } from "./bench/fake-terminal.ts";
import { cpuMsOf, median } from "./bench/figures.ts";
import { misused, readArguments } from "./command-line.ts";

const { values, positionals } = readArguments({
  options: {
    runs: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
    connections: { type: "string", default: "8" },
    watched: { type: "string", default: "30" },
  },
  allowPositionals: true,
});
const [data] = positionals;
const [runs, seconds, connections, watched] = [
  Number(values.runs),
  Number(values.seconds),
  Number(values.connections),
  Number(values.watched),
];
if (![runs, seconds, connections].every((n) => Number.isInteger(n) && n > 0)) misused();

const SLICE_MS = 250;
const READERS = 10;
const POLL_MS = 1_000;
const ROWS = 50;
const ROUNDS = 500;
const WARMING_ROUNDS = 200;

/** A server that is asked, and the processes whose processor time its answers take. */
interface Server {
  readonly name: string;
  readonly port: number;
  readonly path: string;
  readonly pids: readonly number[];
}

const terminal = await startFakeTerminal();
const gateway = await startFakeGateway();
const at = new TestInstallation({
  line: "own",
  asLaunched: true,
  config: { SERIAL_PORT: `tcp://127.0.0.1:${terminal.port}`, GATEWAY_URL: gateway.url },
});
if (data !== undefined) cpSync(join(data, "journal.db"), join(at.data, "journal.db"));
await at.start();
await at.connected();
const programs: ChildProcess[] = [];
try {
  const bare = await startBare("bare", bareServerArguments);
  const fuller: Server[] = [];
  for (const { name, args, env } of fullerServers) fuller.push(await startBare(name, args, env));
  const pids = [at.tpManager, at.supervisor].flatMap((program) => program?.pid ?? []);
  const own = (path: string): Server => ({ name: path, port: at.port, path, pids });
  await compare([bare, own("/version"), ...fuller], stays);
  await compare([bare, own("/health")], stays);
  const full = fuller.slice(-1).map((one) => ({ ...one, name: "empty events", path: "/events" }));
  await compare([bare, own("/events"), ...full], opens);
  if (watched > 0) await watch(pids);
  if (data !== undefined) await comparePayments();
  print("programs", process.env["TEST_BUNDLE"] ? "bundle" : "sources");
  print("load of the machine", loadavg()[0]?.toFixed(1) ?? "");
} finally {
  for (const program of programs) program.kill("SIGKILL");
  await at.stop();
  terminal.close();
  gateway.close();
}

async function startBare(name: string, args: readonly string[], env = {}): Promise<Server> {
  const program = spawn(process.execPath, args, {
    cwd: projectRoot,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  programs.push(program);
  const [printed] = (await once(program.stdout, "data")) as [Buffer];
  const port = Number(/\d+/.exec(printed.toString("utf8"))?.[0]);
  return { name, port, path: "/", pids: [program.pid ?? 0] };
}

type Ask = (server: Server, isOver: () => boolean, answered: () => void) => Promise<void>;

/** Asks over one connection until the time is over. */
async function stays(server: Server, isOver: () => boolean, answered: () => void): Promise<void> {
  const asker = new Asker(server, at.password);
  while (!isOver()) {
    await asker.ask();
    answered();
  }
  asker.close();
}

/** Asks on a new connection each time. */
async function opens(server: Server, isOver: () => boolean, answered: () => void): Promise<void> {
  while (!isOver()) {
    const asker = new Asker(server, at.password);
    await asker.ask();
    asker.close();
    answered();
  }
}

/** Measures servers in alternating slices, for equal conditions; the first is the bare one. */
async function compare(servers: readonly Server[], ask: Ask): Promise<void> {
  for (const one of servers) await slice(one, ask, seconds * 1_000);
  const measured: number[][][] = [];
  for (let run = 0; run < runs; run++) {
    const sums = servers.map(() => ({ answers: 0, ms: 0, cpuMs: 0 }));
    for (let done = 0; done < seconds * 1_000; done += SLICE_MS) {
      for (const [i, one] of servers.entries()) {
        const [sum, before] = [sums[i], cpuOf(one)];
        const { answers, ms } = await slice(one, ask, SLICE_MS);
        if (!sum) continue;
        sum.answers += answers;
        sum.ms += ms;
        sum.cpuMs += cpuOf(one) - before;
      }
    }
    measured.push(sums.map(({ answers, ms, cpuMs }) => [(answers * 1_000) / ms, cpuMs / answers]));
  }
  const column = (of: number, what: number) => measured.map((each) => each[of]?.[what] ?? 0);
  for (const [i, { name }] of servers.entries()) {
    if (i === 0) continue;
    printCompared(`${name} in a second`, { own: column(i, 0), bare: column(0, 0) }, 0);
    printCompared("  processor time, us", { own: column(i, 1), bare: column(0, 1) }, 1_000);
  }
}

function printCompared(
  name: string,
  { own, bare: theirs }: { own: number[]; bare: number[] },
  scale: number,
): void {
  const ratios = own.map((value, i) => value / (theirs[i] ?? Number.NaN)).sort((a, b) => a - b);
  const text = (value: number) => (scale === 0 ? value.toFixed(0) : (value * scale).toFixed(1));
  const [low, high] = [ratios[0] ?? 0, ratios.at(-1) ?? 0];
  const spread = `${median(ratios).toFixed(2)} x (${low.toFixed(2)} to ${high.toFixed(2)} x)`;
  print(name, `${text(median(own))}, bare ${text(median(theirs))}: ${spread}`);
}

function cpuOf({ pids }: Pick<Server, "pids">): number {
  return pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
}

async function slice(server: Server, ask: Ask, ms: number) {
  const begun = systemClock.monotonicMs();
  let answers = 0;
  const isOver = () => systemClock.monotonicMs() - begun >= ms;
  const answered = () => {
    answers += 1;
  };
  await Promise.all(Array.from({ length: connections }, () => ask(server, isOver, answered)));
  return { answers, ms: systemClock.monotonicMs() - begun };
}

/** Measures what a poll of `/health` each second and ten readers of `/events` cost. */
async function watch(pids: readonly number[]): Promise<void> {
  const alone = await spentIn(watched, pids, async () => {});
  const readers = Array.from(
    { length: READERS },
    () => new Asker({ port: at.port, path: "/events" }, at.password),
  );
  for (const reader of readers) await reader.ask();
  const poller = new Asker({ port: at.port, path: "/health" }, at.password);
  const together = await spentIn(watched, pids, () => poller.ask());
  for (const each of [...readers, poller]) each.close();
  const percent = (ms: number) => `${((ms / (watched * 1_000)) * 100).toFixed(2)} %`;
  const cost = percent(together - alone);
  print("polled and read", `${cost} of a processor (idle without them ${percent(alone)})`);
}

async function spentIn(
  forSeconds: number,
  pids: readonly number[],
  each: () => Promise<void>,
): Promise<number> {
  const before = cpuOf({ pids });
  for (let second = 0; second < forSeconds; second++) {
    await Promise.all([sleep(systemClock, "poll", POLL_MS), each()]);
  }
  return cpuOf({ pids }) - before;
}

async function comparePayments(): Promise<void> {
  const journal = new Journal(join(at.data, "journal.db"));
  const rows = (): void => {
    const page = { sinceMs: 0, status: null, limit: ROWS, before: null };
    const listed = journal.attempts.list(page);
    JSON.stringify(listed.map(({ attempt, delivery }) => answerOf(attempt, delivery).body));
  };
  const [ours, read]: [number[], number[]] = [[], []];
  const asker = new Asker({ port: at.port, path: `/payments?limit=${ROWS}` }, at.password);
  for (let round = -WARMING_ROUNDS; round < ROUNDS; round++) {
    const [asked, serialised] = [await timed(() => asker.ask()), await timed(rows)];
    if (round < 0) continue; // compiled by then
    ours.push(asked);
    read.push(serialised);
  }
  asker.close();
  journal.close();
  const [a, b] = [median(ours), median(read)];
  const compared = `${a.toFixed(2)} ms, rows ${b.toFixed(2)} ms: ${(a / b).toFixed(2)} x`;
  print(`/payments, ${ROWS} rows`, compared);
}

async function timed(work: () => Promise<void> | void): Promise<number> {
  const begun = systemClock.monotonicMs();
  await work();
  return systemClock.monotonicMs() - begun;
}

function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(30)}${value}\n`);
}
