/**
 * Measures start and memory of the programs against a bare server of fastify and
 * @fastify/basic-auth, in turns within one run:
 *   npm run bench:start -- [--rounds 9]
 * Measured are the bundled programs (made anew first) and the sources: a later start, the first
 * one with an empty compile cache, and one after a kill -9; the bare server with the other packages
 * of tp-manager; and programs whose modules are as many as the sources, import the same packages
 * and have no code (scripts/bench/empty-sources.ts): the least that a start from files costs. CPU
 * is the time of all threads on a processor from the start of the process until it is ready; memory
 * is read one second later. Prints medians, their ratios to the bare server or to `node -e 0`, and
 * the sum of both programs.
 */
import { type ChildProcess, execFileSync, type StdioOptions, spawn } from "node:child_process";
import { on, once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnProcess } from "../src/launcher/processes/launch-process.ts";
import { probe } from "../src/launcher/processes/probe.ts";
import { sleep, systemClock } from "../src/shared/time.ts";
import { type programEntries, programFile, projectRoot } from "../src/shared/version-files.ts";
import { until } from "../test/support/programs/child-program.ts";
import { freePort } from "../test/support/programs/installation.ts";
import { bareServerArguments, packagesArguments } from "./bench/bare-server.ts";
import { emptySources } from "./bench/empty-sources.ts";
import { median, memoryMbOf } from "./bench/figures.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({ options: { rounds: { type: "string", default: "9" } } });
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) misused();

/** The time after a start until memory is read, when the garbage of the start is collected. */
const SETTLE_MS = 1_000;
const NS_PER_MS = 1_000_000;
const TICK_MS = 10;
/** The number of checks of the keep-alive, many because the kernel counts in ticks of 10 ms. */
const CHECKS = 20;

/** A start after an orderly stop, the first one with an empty compile cache, one after a kill. */
const kinds = ["later", "first", "after kill -9"] as const;

interface Server {
  readonly name: string;
  readonly args: readonly string[];
  readonly kind?: (typeof kinds)[number];
}

interface Measured {
  readonly cpuMs: number;
  readonly residentMb: number;
  /** The part of the memory that is not mapped from a file. */
  readonly anonymousMb: number;
}

const programs = ["tp-manager", "supervisor"] as const;
const folder = mkdtempSync(join(tmpdir(), "utc-start-"));
const data = join(folder, "data");
const cache = join(folder, "compile-cache");
const emptyCache = join(folder, "empty-cache");

try {
  execFileSync(process.execPath, [join(projectRoot, "scripts", "bundle.ts")]);
  await writeConfig();
  await measureServers();
  await measureChecks();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function writeConfig(): Promise<void> {
  mkdirSync(data);
  const lines = [
    "SERIAL_PORT=tcp://127.0.0.1:1",
    "TERMINAL_MANAGER_LOGIN=kiosk",
    "UPDATE_TIME=03:30",
    "TERMINAL_MANAGER_PWD=bench-password",
    "GATEWAY_URL=http://127.0.0.1:1",
    "GATEWAY_LOGIN=bench",
    "GATEWAY_PWD=bench-password",
    "GATEWAY_WEBSITE_ID=1",
    "GATEWAY_CATEGORY_ID=1",
    "GATEWAY_CALLBACK_URL=https://shop.example/notify",
    `LOCAL_PORT=${await freePort()}`,
  ];
  writeFileSync(join(data, "config.txt"), `${lines.join("\n")}\n`);
}

async function measureServers(): Promise<void> {
  const own = ["--data", data, "--foreground"];
  const bare = { name: "bare fastify", args: bareServerArguments };
  const packages = { name: "packages of tp-manager", args: packagesArguments };
  const empty = programs.map((program) => {
    const { script, modules } = emptySources(join(folder, `empty-${program}`), program);
    return { name: `${program}, ${modules} empty modules`, args: [script] };
  });
  const forms = { bundle: bundled, sources: programFile };
  const rows = Object.entries(forms).flatMap(([form, script]) =>
    kinds.map((kind) => {
      const one = (program: (typeof programs)[number]): Server => {
        const name = `${program}, ${form}, ${kind}`;
        return { name, args: [script(program), ...own], kind };
      };
      return { name: `both, ${form}, ${kind}`, servers: programs.map(one) };
    }),
  );
  const servers = [bare, packages, ...empty, ...rows.flatMap((row) => row.servers)];
  const results = new Map(servers.map(({ name }) => [name, [] as Measured[]]));
  for (const server of servers) await measured(server); // fills the cache
  for (let round = 0; round < rounds; round++) {
    for (const server of servers) results.get(server.name)?.push(await measured(server));
  }
  const mediansOf = ({ name }: Server) => {
    const measurements = results.get(name) ?? [];
    const of = (what: keyof Measured) => median(measurements.map((each) => each[what]));
    return { cpuMs: of("cpuMs"), residentMb: of("residentMb"), anonymousMb: of("anonymousMb") };
  };
  const floor = mediansOf(bare);
  const show = (name: string, { cpuMs, residentMb, anonymousMb }: Measured): void => {
    const cpu = [`${cpuMs.toFixed(1)} ms`, (cpuMs / floor.cpuMs).toFixed(2)];
    const memory = [`${residentMb.toFixed(1)} MB`, (residentMb / floor.residentMb).toFixed(2)];
    print([name, ...cpu, ...memory, `${anonymousMb.toFixed(1)} MB`]);
  };
  print(["program", "CPU to ready", "ratio", "memory", "ratio", "of it anonymous"]);
  show(bare.name, floor);
  for (const one of [packages, ...empty]) show(one.name, mediansOf(one));
  for (const { name, servers } of rows) {
    for (const server of servers) show(server.name, mediansOf(server));
    show(name, servers.map(mediansOf).reduce(sum));
  }
}

function sum(a: Measured, b: Measured): Measured {
  return {
    cpuMs: a.cpuMs + b.cpuMs,
    residentMb: a.residentMb + b.residentMb,
    anonymousMb: a.anonymousMb + b.anonymousMb,
  };
}

/** Starts a process, waits until it is ready, and ends it. */
async function measured({ args, kind }: Server): Promise<Measured> {
  if (kind === "after kill -9") {
    const killed = start(args);
    await ready(killed);
    await end(killed, "SIGKILL");
  }
  if (kind === "first") rmSync(emptyCache, { recursive: true, force: true });
  const child = start(args, kind === "first" ? emptyCache : cache);
  await ready(child);
  const cpuMs = processorMs(child.pid);
  await sleep(systemClock, "settle", SETTLE_MS);
  const pid = child.pid ?? 0;
  const memory = { residentMb: memoryMbOf(pid), anonymousMb: memoryMbOf(pid, "RssAnon") };
  await end(child);
  return { cpuMs, ...memory };
}

/** Measures a check by the keep-alive of two programs that answer, against an empty Node.js. */
async function measureChecks(): Promise<void> {
  const running = programs.map((program) => start([bundled(program), "--data", data]));
  await Promise.all(programs.map((program) => answering(program)));
  const check = ["keep-alive", "--data", data];
  const processes: Server[] = [
    { name: "node -e 0", args: ["-e", "0"] },
    { name: "keep-alive check, bundle", args: [bundled("launcher"), ...check] },
    { name: "keep-alive check, sources", args: [programFile("launcher"), ...check] },
  ];
  const spent = processes.map(() => 0);
  for (let round = -1; round < CHECKS; round++) {
    for (const [i, { args }] of processes.entries()) {
      const beforeMs = childrenMs();
      execFileSync(process.execPath, args, { env: environment() });
      // The first round fills the cache.
      if (round >= 0) spent[i] = (spent[i] ?? 0) + childrenMs() - beforeMs;
    }
  }
  print([]);
  print(["process", "CPU", "ratio"]);
  for (const [i, { name }] of processes.entries()) {
    const ratio = (spent[i] ?? 0) / (spent[0] ?? 1);
    print([name, `${((spent[i] ?? 0) / CHECKS).toFixed(1)} ms`, ratio.toFixed(2)]);
  }
  await Promise.all(running.map((one) => end(one)));
}

function bundled(program: keyof typeof programEntries): string {
  return join(projectRoot, "dist", "bundle", "programs", `${program}.js`);
}

function environment(compileCache = cache): NodeJS.ProcessEnv {
  return { ...process.env, NODE_COMPILE_CACHE: compileCache };
}

function start(args: readonly string[], compileCache = cache): ChildProcess {
  const stdio: StdioOptions = ["ignore", "pipe", "inherit"];
  const [script = "", ...others] = args;
  const name = script.includes("tp-manager") ? "tp-manager" : "supervisor";
  const env = environment(compileCache);
  return script.startsWith("-")
    ? spawn(process.execPath, args, { cwd: projectRoot, env, stdio })
    : spawnProcess({ name, script, args: others }, { env, stdio });
}

async function ready({ stdout }: ChildProcess): Promise<void> {
  if (!stdout) return;
  let text = "";
  for await (const chunk of on(stdout, "data", { close: ["end"] })) {
    text += String(chunk);
    if (text.includes("is ready")) return;
  }
  throw new Error(`ended before it was ready: ${text}`);
}

async function answering(program: (typeof programs)[number]): Promise<void> {
  await until(`${program} answers`, async () =>
    (await probe(join(data, "run"), program, SETTLE_MS)) === "answers" ? true : undefined,
  );
}

async function end(child: ChildProcess, signal: "SIGTERM" | "SIGKILL" = "SIGTERM") {
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

/** Returns the processor time of all threads of a process so far (Linux). */
function processorMs(pid = 0): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const ns = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]),
  );
  return ns.reduce((sum, each) => sum + each, 0) / NS_PER_MS;
}

/** Returns the processor time of ended children (proc(5): cutime, cstime, in ticks of 10 ms). */
function childrenMs(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

function print(cells: readonly string[]): void {
  const [name = "", ...others] = cells;
  process.stdout.write(`${name.padEnd(32)}${others.map((each) => each.padStart(14)).join("")}\n`);
}
