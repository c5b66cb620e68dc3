/**
 * Measures a whole installation of real processes and its floor, one payment each in turn:
 *   npm run bench -- [--payments 1000] [--warm-up 1000] [--simulators] [--line tcp|pty]
 *     [--markdown]
 * The floor is the least that two programs can do for a payment (scripts/bench/floor.ts). Terminal
 * and gateway are fakes without storage, shared by both; with --simulators the product talks to the
 * simulators of the demo, with `--line pty` over a pseudo-terminal. TEST_BUNDLE=dist/bundle runs
 * the bundled programs. Prints POST-to-answer times and processor time of both, their ratios, what
 * one payment writes, and the load of the machine.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { countLog, writtenSince } from "../test/support/files/write-ahead-log.ts";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { startFakeGateway } from "./bench/fake-gateway.ts";
import { startFakeTerminal } from "./bench/fake-terminal.ts";
import type { FloorPlan } from "./bench/floor.ts";
import { Poster } from "./bench/poster.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    payments: { type: "string", default: "1000" },
    // Payments before the measured ones: Node.js compiles code that runs often.
    "warm-up": { type: "string", default: "1000" },
    line: { type: "string", default: "tcp" },
    simulators: { type: "boolean", default: false },
    markdown: { type: "boolean", default: false },
  },
});
const payments = Number(values.payments);
const warmUp = Number(values["warm-up"]);
const { line } = values;
const counts = [payments, warmUp];
if (!counts.every((n) => Number.isInteger(n) && n > 0) || (line !== "tcp" && line !== "pty")) {
  misused();
}
const simulated = values.simulators || line === "pty";

/** The unit of processor time in Linux: a hundredth of a second (sysconf _SC_CLK_TCK). */
const TICK_MS = 10;
/** The number of last payments whose writes to the disk are counted. */
const COUNTED = 10;
/** The pause after a payment, in which the connector has written all that follows its answer. */
const IDLE_MS = 1_500;

const terminal = await startFakeTerminal();
const gateway = await startFakeGateway();
const at = new TestInstallation(
  simulated
    ? { line, asLaunched: true, simulatorPrograms: true, terminalSwitches: ["--instant"] }
    : {
        line: "own",
        asLaunched: true,
        config: { SERIAL_PORT: `tcp://127.0.0.1:${terminal.port}`, GATEWAY_URL: gateway.url },
      },
);
const poster = new Poster(at.password);
const floorPrograms: ChildProcess[] = [];
try {
  const readyMs = await at.start();
  await at.connected();
  const idle = memory();
  const product = side(`${at.url}/payment`, productPids);
  const sides = simulated ? [product] : [product, side(await startFloor(), floorPids)];
  await alternately(sides, warmUp, "warm");
  for (const one of sides) one.begin();
  await alternately(sides, payments, "bench");
  for (const one of sides) one.end();
  const counted = await countWrites();
  print([
    ["", "product", "floor", "ratio"],
    row("POST to answer, p50", (one) => quantile(one.times, 0.5), sides),
    row("POST to answer, p99", (one) => quantile(one.times, 0.99), sides),
    row("processor time of both programs", ({ cpuMs }) => cpuMs / payments, sides),
    ["synced commits before the answer", counted.before.commits.toFixed(1), "5", ""],
    ["synced commits, with those after it", counted.all.commits.toFixed(1), "5", ""],
    ["page writes", counted.all.pages.toFixed(1), "5", ""],
    ["launch to both ready", `${readyMs.toFixed(0)} ms`, "", ""],
    ["memory idle", idle, "", ""],
    [`memory after ${payments + warmUp} payments`, memory(), "", ""],
    ["programs", process.env["TEST_BUNDLE"] ? "bundle" : "sources", "", ""],
    ["load of the machine at the end", loadavg()[0]?.toFixed(1) ?? "", "", ""],
  ]);
} finally {
  poster.close();
  const ended = floorPrograms.map((program) => program.exitCode ?? once(program, "exit"));
  for (const program of floorPrograms) program.kill("SIGKILL");
  await Promise.all(ended);
  terminal.close();
  gateway.close();
  await at.stop();
}

interface Side {
  readonly url: string;
  readonly times: number[];
  cpuMs: number;
  begin(): void;
  end(): void;
}

function side(url: string, pids: () => number[]): Side {
  const spent = (): number => pids().reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  return {
    url,
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

function row(name: string, of: (side: Side) => number, sides: readonly Side[]): string[] {
  const [product = 0, floor] = sides.map(of);
  const comparison =
    floor === undefined ? ["", ""] : [at2(floor), `${(product / floor).toFixed(2)} x`];
  return [name, at2(product), ...comparison];
}

function at2(ms: number): string {
  return `${ms.toFixed(2)} ms`;
}

async function alternately(sides: readonly Side[], count: number, name: string): Promise<void> {
  for (let i = 0; i < count; i++) {
    for (const { url, times } of sides) {
      times.push(await poster.pay(url, `${name}-${i}`));
    }
  }
}

/** Records two payments of the product for the floor to replay; returns the floor's address. */
async function startFloor(): Promise<string> {
  const registration = terminal.heard().find((hex) => hex.startsWith("0600")) ?? "";
  const url = `${at.url}/payment`;
  await poster.pay(url, "first");
  terminal.heard();
  await poster.pay(url, "second");
  const { last: answer } = poster;
  const order = gateway.last();
  if (!order) throw new Error("the gateway was sent nothing");
  const plan: FloorPlan = {
    terminalPort: terminal.port,
    gatewayUrl: gateway.url,
    commands: [registration, ...commandsOf(terminal.heard())],
    order,
    answer,
  };
  writeFileSync(join(at.folder, "floor.json"), JSON.stringify(plan));
  await startFloorProgram("supervisor");
  return `http://127.0.0.1:${await startFloorProgram("manager")}/payment`;
}

async function startFloorProgram(role: string): Promise<number> {
  const file = join(projectRoot, "scripts/bench/floor.ts");
  const program = spawn(process.execPath, [file, role, at.folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  floorPrograms.push(program);
  const ended = once(program, "exit").then(() => Promise.reject(new Error(`the floor ended`)));
  const [printed] = (await Promise.race([once(program.stdout, "data"), ended])) as [Buffer];
  ended.catch(() => {}); // at the end of the run
  return Number(printed.toString("utf8").split(" ")[1]);
}

/** Returns the commands among the messages to a terminal, without the ACKs. */
function commandsOf(heard: readonly string[]): string[] {
  return heard.map((hex) => (hex.startsWith("800000") ? hex.slice(6) : hex)).filter(Boolean);
}

interface Written {
  commits: number;
  pages: number;
}

/** Counts the writes of both databases for a payment: up to its answer, and in all. */
async function countWrites(): Promise<{ readonly before: Written; readonly all: Written }> {
  const databases = ["journal.db", "supervisor.db"].map((name) => join(at.data, name));
  const sums = { before: { commits: 0, pages: 0 }, all: { commits: 0, pages: 0 } };
  let counted = 0;
  for (let i = 0; counted < COUNTED; i++) {
    await sleep(systemClock, "the connector is idle", IDLE_MS);
    const start = databases.map(countLog);
    await poster.pay(`${at.url}/payment`, `counted-${i}`);
    const answered = writtenSince(start, databases.map(countLog));
    await sleep(systemClock, "the connector is idle", IDLE_MS);
    const all = writtenSince(start, databases.map(countLog));
    if (!answered || !all) continue;
    for (const one of answered) add(sums.before, one);
    for (const one of all) add(sums.all, one);
    counted += 1;
  }
  for (const sum of [sums.before, sums.all]) {
    sum.commits /= counted;
    sum.pages /= counted;
  }
  return sums;
}

function add(sum: Written, { commits, pages }: Written): void {
  sum.commits += commits;
  sum.pages += pages;
}

function productPids(): number[] {
  return [at.tpManager, at.supervisor].flatMap((program) => program?.pid ?? []);
}

function floorPids(): number[] {
  return floorPrograms.flatMap(({ pid }) => pid ?? []);
}

/** Returns user and system time of all threads of a process, in milliseconds (Linux). */
function cpuMsOf(pid: number): number {
  const [, rest = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const fields = rest.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function quantile(times: readonly number[], q: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

function print(rows: ReadonlyArray<readonly string[]>): void {
  const [head = [], ...rest] = rows;
  const lines = values.markdown
    ? [head, ["---", "---:", "---:", "---:"], ...rest].map((row) => `| ${row.join(" | ")} |`)
    : rows.map(
        ([name = "", ...cells]) => name.padEnd(44) + cells.map((c) => c.padEnd(12)).join(""),
      );
  process.stdout.write(`${lines.map((one) => one.trimEnd()).join("\n")}\n`);
}

function memory(): string {
  return [at.tpManager, at.supervisor]
    .map((program) => {
      const megabytes = (program?.residentBytes() ?? 0) / 1024 / 1024;
      return `${program?.name.split("/")[0]} ${megabytes.toFixed(0)} MB`;
    })
    .join(", ");
}
