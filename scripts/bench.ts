/**
 * Measures a whole installation of real processes, its packages and its floor, one payment each in
 * turn:
 *   npm run bench -- [--runs 5] [--payments 1000] [--warm-up 1000] [--counted 2]
 *     [--without-soap] [--simulators] [--line tcp|pty] [--markdown]
 * The floor is the least that two programs can do for a payment (scripts/bench/floor.ts), and the
 * packages are what the product's packages take for it (scripts/bench/packages.ts). Terminal and
 * gateway are fakes without storage, shared by all; with --simulators the product talks to the
 * simulators of the demo, with `--line pty` over a pseudo-terminal. TEST_BUNDLE=dist/bundle runs
 * the bundled programs. Memory is compared with that of a bare server of fastify that answers as
 * many requests as there are payments. Each run starts everything anew, and no start is the first
 * one. Prints the median of the runs of each figure and of its ratio to the floor, and the
 * product's lowest and highest ratio. --counted: the last payments of a run whose writes to the
 * disk are counted, each 3 s long; 0: none is.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sleep, systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { countLog, writtenSince } from "../test/support/files/write-ahead-log.ts";
import { until } from "../test/support/programs/child-program.ts";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { Asker } from "./bench/asker.ts";
import { bareServerArguments } from "./bench/bare-server.ts";
import { type Plan, writePlan } from "./bench/conversation.ts";
import { startFakeGateway } from "./bench/fake-gateway.ts";
import { startFakeTerminal } from "./bench/fake-terminal.ts";
import { cpuMsOf, median, memoryMbOf, quantile } from "./bench/figures.ts";
import { Poster } from "./bench/poster.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    runs: { type: "string", default: "5" },
    payments: { type: "string", default: "1000" },
    // Payments before the measured ones: Node.js compiles code that runs often.
    "warm-up": { type: "string", default: "1000" },
    counted: { type: "string", default: "2" },
    line: { type: "string", default: "tcp" },
    simulators: { type: "boolean", default: false },
    "without-soap": { type: "boolean", default: false },
    markdown: { type: "boolean", default: false },
  },
});
const [runs, payments, warmUp, counted] = [
  Number(values.runs),
  Number(values.payments),
  Number(values["warm-up"]),
  Number(values.counted),
];
const counts = [runs, payments, warmUp];
if (!counts.every((n) => Number.isInteger(n) && n > 0)) misused();
if (!(Number.isInteger(counted) && counted >= 0)) misused();
const line = values.line === "tcp" || values.line === "pty" ? values.line : misused();
const simulated = values.simulators || line === "pty";

/** The pause after a payment, in which the connector has written all that follows its answer. */
const IDLE_MS = 1_500;
/** The time after a start until memory is read, when the garbage of the start is collected. */
const SETTLE_MS = 1_000;
/** The commits of the floor, each of one page. */
const FLOOR_COMMITS = 5;

/** A figure of one run: of the product, and of what it is compared with. */
interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly product: number;
  readonly packages?: number | undefined;
  readonly floor?: number | undefined;
}

const terminal = await startFakeTerminal();
const gateway = await startFakeGateway();
const measured: Figure[][] = [];
try {
  await fillCache();
  for (let i = 0; i < runs; i++) measured.push(await run());
} finally {
  terminal.close();
  gateway.close();
}
print([
  ["", "product", "packages", "floor", "product/floor", "lowest, highest", "packages/floor"],
  ...(measured[0] ?? []).map((_, i) => row(measured.flatMap((figures) => figures[i] ?? []))),
  ["runs, each with payments", `${runs}, ${payments} after ${warmUp}`],
  ["programs", process.env["TEST_BUNDLE"] ? "bundle" : "sources"],
  ["load of the machine at the end", loadavg()[0]?.toFixed(1) ?? ""],
]);

function newInstallation(): TestInstallation {
  return new TestInstallation(
    simulated
      ? { line, asLaunched: true, simulatorPrograms: true, terminalSwitches: ["--instant"] }
      : {
          line: "own",
          asLaunched: true,
          config: { SERIAL_PORT: `tcp://127.0.0.1:${terminal.port}`, GATEWAY_URL: gateway.url },
        },
  );
}

/** Starts an installation and stops it, so that the compile cache is full, as in a kiosk. */
async function fillCache(): Promise<void> {
  if (readdirSync(process.env["NODE_COMPILE_CACHE"] ?? "").length > 0) return;
  const at = newInstallation();
  try {
    await at.start();
  } finally {
    await at.stop();
  }
}

/** Starts product, packages, floor and bare server anew, and measures them. */
async function run(): Promise<Figure[]> {
  const at = newInstallation();
  const poster = new Poster(at.password);
  const others: ChildProcess[] = [];
  terminal.heard();
  try {
    const readyMs = await at.start();
    await at.connected();
    const bare = await startOther(bareServerArguments, others);
    const asker = new Asker({ port: Number(bare.printed.match(/\d+/)), path: "/" }, at.password);
    await sleep(systemClock, "settle", SETTLE_MS);
    const idle = memory(at, "idle", bare.pid);
    const product = side(`${at.url}/payment`, pidsOf(at), at.data, ["journal.db", "supervisor.db"]);
    const sides = [product];
    if (!simulated) {
      await writePlanOf(at, poster);
      const names = ["packages", "floor"];
      sides.push(...(await Promise.all(names.map((name) => startSide(name, at.folder, others)))));
    }
    await alternately(poster, sides, warmUp, "warm", asker);
    for (const one of sides) one.begin();
    await alternately(poster, sides, payments, "bench", asker);
    for (const one of sides) one.end();
    asker.close();
    const full = memory(at, `after ${payments + warmUp} payments`, bare.pid);
    const written: Writes[] = [];
    for (const one of counted > 0 ? sides : []) {
      if (one.databases.length > 0) written.push(await countWrites(one, poster));
    }
    const compared = (name: string, unit: string, of: (one: Side) => number): Figure => {
      const [own = Number.NaN, packages, floor] = sides.map(of);
      return { name, unit, product: own, packages, floor };
    };
    return [
      compared("POST to answer, p50", "ms", ({ times }) => quantile(times, 0.5)),
      compared("POST to answer, p99", "ms", ({ times }) => quantile(times, 0.99)),
      compared("processor time of both programs", "ms", ({ cpuMs }) => cpuMs / payments),
      ...figuresOf(written),
      ...idle,
      ...full,
      { name: "launch to both ready", unit: "ms", product: readyMs },
    ];
  } finally {
    poster.close();
    const ended = others.map((program) => program.exitCode ?? once(program, "exit"));
    for (const program of others) program.kill("SIGKILL");
    await Promise.all(ended);
    await at.stop();
  }
}

interface Side {
  readonly url: string;
  /** The paths of the databases whose writes can be counted. */
  readonly databases: readonly string[];
  readonly times: number[];
  cpuMs: number;
  begin(): void;
  end(): void;
}

function side(
  url: string,
  pids: readonly number[],
  folder = "",
  databases: readonly string[] = [],
): Side {
  const spent = (): number => pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  return {
    url,
    databases: databases.map((name) => join(folder, name)),
    times: [],
    cpuMs: 0,
    begin() {
      this.times.length = 0;
      this.cpuMs = -spent();
    },
    end() {
      this.cpuMs += spent();
    },
  };
}

/** Returns the medians of one figure of all runs and of its ratios, and the product's spread. */
function row(figures: readonly Figure[]): string[] {
  const [{ name, unit } = { name: "", unit: "" }] = figures;
  const own = figures.map(({ product }) => product);
  const floors = figures.flatMap(({ floor }) => floor ?? []);
  const others = figures.flatMap(({ packages }) => packages ?? []);
  const digits = unit === "MB" ? 0 : 2;
  const text = (values: readonly number[]): string =>
    values.length === 0 ? "" : `${median(values).toFixed(digits)} ${unit}`.trim();
  const toFloor = (values: readonly number[]): number[] =>
    floors.length === 0 ? [] : values.map((value, i) => value / (floors[i] ?? Number.NaN));
  const times = (ratio: number): string => `${ratio.toFixed(2)} x`;
  const ratios = toFloor(own);
  const spread = [Math.min(...ratios).toFixed(2), times(Math.max(...ratios))].join(" to ");
  return [
    name,
    ...[own, others, floors].map(text),
    ...(ratios.length === 0 ? [] : [times(median(ratios)), spread]),
    ...(others.length === 0 ? [] : [times(median(toFloor(others)))]),
  ];
}

async function alternately(
  poster: Poster,
  sides: readonly Side[],
  count: number,
  name: string,
  asker: Asker,
): Promise<void> {
  for (let i = 0; i < count; i++) {
    await asker.ask();
    for (const { url, times } of sides) times.push(await poster.pay(url, `${name}-${i}`));
  }
}

/** Records two payments of the product for its counterparts to repeat. */
async function writePlanOf(at: TestInstallation, poster: Poster): Promise<void> {
  const registration = terminal.heard().find((hex) => hex.startsWith("0600")) ?? "";
  const url = `${at.url}/payment`;
  await poster.pay(url, "first");
  terminal.heard();
  await poster.pay(url, "second");
  const order = gateway.last();
  if (!order) throw new Error("the gateway was sent nothing");
  writePlan(at.folder, {
    terminalPort: terminal.port,
    gatewayUrl: gateway.url,
    withoutSoap: values["without-soap"],
    commands: [registration, ...commandsOf(terminal.heard())],
    order,
    answer: poster.last,
    rows: rowsOf(at, String(JSON.parse(poster.last)[0]["transactionId"])),
    lines: await linesOf(at, "second"),
  });
}

/** Returns the rows of a transaction in both databases, by their tables. */
function rowsOf({ data }: TestInstallation, transactionId: string): Plan["rows"] {
  const read = (file: string, tables: readonly string[], by = "transaction_id = ?") => {
    const database = new DatabaseSync(join(data, file), { readOnly: true });
    const rows = tables.map((table) => {
      const found = database.prepare(`SELECT * FROM ${table} WHERE ${by}`).all(transactionId);
      return [table, found] as const;
    });
    database.close();
    return rows;
  };
  return Object.fromEntries([
    ...read("journal.db", ["attempt", "attempt_event", "hand_off"]),
    ...read("journal.db", ["event"], "json_extract(data, '$.transactionId') = ?"),
    ...read("supervisor.db", ["transactions", "outbox", "attempts"]),
  ]);
}

/** Returns the lines of an order in the log of each program; the last ones follow the answer. */
async function linesOf({ data }: TestInstallation, orderId: string): Promise<Plan["lines"]> {
  const read = (program: string, last: string) =>
    until(`the log of ${program} has the whole payment`, () => {
      const text = readFileSync(join(data, "logs", `${program}.log`), "utf8");
      const all = text.split("\n").filter((one) => one.includes(`"orderId":"${orderId}"`));
      return all.at(-1)?.includes(last)
        ? all.map((one) => JSON.parse(one) as Record<string, unknown>)
        : undefined;
    });
  return {
    manager: await read("tp-manager", "was handed off"),
    supervisor: await read("supervisor", "received the order"),
  };
}

/** Starts both programs of a counterpart. */
async function startSide(name: string, folder: string, others: ChildProcess[]): Promise<Side> {
  const file = join(projectRoot, `scripts/bench/${name}.ts`);
  const supervisor = await startOther([file, "supervisor", folder], others);
  const manager = await startOther([file, "manager", folder], others);
  const url = `http://127.0.0.1:${manager.printed.split(" ")[1]?.trim()}/payment`;
  const stored = name === "packages" ? ["packages-manager.db", "packages-supervisor.db"] : [];
  return side(url, [manager.pid, supervisor.pid], folder, stored);
}

/** Starts a program, and resolves with its first output: it is ready. */
async function startOther(args: readonly string[], others: ChildProcess[]) {
  const program = spawn(process.execPath, args, {
    cwd: projectRoot,
    stdio: ["ignore", "pipe", "inherit"],
  });
  others.push(program);
  const ended = once(program, "exit").then(() => Promise.reject(new Error(`${args[0]} ended`)));
  const [printed] = (await Promise.race([once(program.stdout, "data"), ended])) as [Buffer];
  ended.catch(() => {}); // at the end of the run
  return { pid: program.pid ?? 0, printed: printed.toString("utf8") };
}

/** Returns the commands among the messages to a terminal, without the ACKs. */
function commandsOf(heard: readonly string[]): string[] {
  return heard.map((hex) => (hex.startsWith("800000") ? hex.slice(6) : hex)).filter(Boolean);
}

interface Written {
  commits: number;
  pages: number;
}

type Writes = Record<"before" | "all", Written>;

function figuresOf([own, packages]: readonly Writes[]): Figure[] {
  if (!own) return [];
  const compared = (name: string, of: (writes: Writes) => number): Figure => {
    const theirs = packages && of(packages);
    return { name, unit: "", product: of(own), packages: theirs, floor: FLOOR_COMMITS };
  };
  return [
    compared("page writes", ({ all }) => all.pages),
    compared("synced commits before the answer", ({ before }) => before.commits),
    compared("synced commits, with those after it", ({ all }) => all.commits),
  ];
}

/** Counts the writes of both databases for a payment: up to its answer, and in all. */
async function countWrites({ url, databases }: Side, poster: Poster): Promise<Writes> {
  const sums = { before: { commits: 0, pages: 0 }, all: { commits: 0, pages: 0 } };
  for (let i = 0, done = 0; done < counted; i++) {
    await sleep(systemClock, "the connector is idle", IDLE_MS);
    const start = databases.map(countLog);
    await poster.pay(url, `counted-${i}`);
    const answered = writtenSince(start, databases.map(countLog));
    await sleep(systemClock, "the connector is idle", IDLE_MS);
    const all = writtenSince(start, databases.map(countLog));
    if (!answered || !all) continue;
    for (const one of answered) add(sums.before, one);
    for (const one of all) add(sums.all, one);
    done += 1;
  }
  return sums;
}

/** Adds a payment's part of the mean. */
function add(mean: Written, { commits, pages }: Written): void {
  mean.commits += commits / counted;
  mean.pages += pages / counted;
}

function pidsOf({ tpManager, supervisor }: TestInstallation): number[] {
  return [tpManager, supervisor].flatMap((program) => program?.pid ?? []);
}

/** Returns the resident memory of both programs, compared with that of the bare server. */
function memory(at: TestInstallation, when: string, barePid: number): Figure[] {
  const floor = memoryMbOf(barePid);
  return pidsOf(at).map((pid, i) => {
    const name = `memory of ${i === 0 ? "tp-manager" : "the supervisor"}, ${when}`;
    return { name, unit: "MB", product: memoryMbOf(pid), floor };
  });
}

function print(rows: ReadonlyArray<readonly string[]>): void {
  const columns = rows[0]?.length ?? 0;
  const whole = rows.map((cells) => Array.from({ length: columns }, (_, i) => cells[i] ?? ""));
  const [head = [], ...rest] = whole;
  const lines = values.markdown
    ? [head, ["---", ...head.slice(1).map(() => "---:")], ...rest].map((cells) => {
        return `| ${cells.join(" | ")} |`;
      })
    : whole.map(
        ([name = "", ...cells]) => name.padEnd(44) + cells.map((one) => one.padEnd(16)).join(""),
      );
  process.stdout.write(`${lines.map((one) => one.trimEnd()).join("\n")}\n`);
}
