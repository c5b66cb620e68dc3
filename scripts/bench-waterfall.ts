/**
 * Makes a picture of one warm payment at a whole installation, from the POST to the answer and the
 * work after it, and prints its steps and what ran, as tables in Markdown:
 *   npm run bench:waterfall -- [--picture FILE] [--payments 1000] [--warm-up 1000]
 *     [--interval 100] [--lone 12] [--rows 40]
 * The payments of the picture are those near the median: each step has the mean of their times. V8
 * takes a sample of both programs every --interval microseconds. The fakes of terminal and gateway
 * say when a message crosses, scripts/bench/tracer.ts when bytes leave and when a commit begins and
 * ends. As many payments are timed without tracing. After --lone further payments the programs are
 * left alone until they have written all that follows. TEST_BUNDLE=dist/bundle runs the bundle,
 * which is one file for each program. --rows: the lines of the tables of files and functions. On a
 * busy machine the time of a file includes its waits for a processor.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { sleep, systemClock } from "../src/shared/time.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { until } from "../test/support/programs/child-program.ts";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { startFakeGateway } from "./bench/fake-gateway.ts";
import { startFakeTerminal } from "./bench/fake-terminal.ts";
import { cpuMsOf, quantile } from "./bench/figures.ts";
import { Poster } from "./bench/poster.ts";
import { ProgramTrace, type Span, type Trace, type TracedMoment } from "./bench/trace.ts";
import {
  columns,
  type Moment,
  type Payment,
  type Program,
  programs,
  type Row,
  rowsOf,
  type Spent,
  type Step,
  type Traces,
  waterfallOf,
} from "./bench/waterfall.ts";
import { afterAnswer, pictureOf } from "./bench/waterfall-picture.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    picture: { type: "string" },
    payments: { type: "string", default: "1000" },
    "warm-up": { type: "string", default: "1000" },
    interval: { type: "string", default: "100" },
    lone: { type: "string", default: "12" },
    rows: { type: "string", default: "40" },
  },
});
const [payments = 0, warmUp = 0, interval = 0, lone = 0, rowsMax = 0] = (
  ["payments", "warm-up", "interval", "lone", "rows"] as const
).map((name) => Number(values[name]));
if (![payments, warmUp, interval, lone, rowsMax].every((n) => Number.isInteger(n) && n > 0)) {
  misused();
}

/** The pause after a payment, in which the work that follows its answer ends. */
const PAUSE_MS = 25;
/** The pause after a lone payment: longer than a record waits for the next commit. */
const LONE_MS = 1_500;

/** Names of messages, by the first bytes of their APDUs. */
const messages: Readonly<Record<string, string>> = {
  "0620": "the question for the last sale",
  "0601": "the payment",
  "0501": "a status enquiry",
  "04ff": "an intermediate status",
  "040f": "the report",
  "06d3": "the receipt",
  "060f": "the completion",
};
const ACK = "800000";

/** Everything that the fakes in this process have seen cross. */
const marks: Moment[] = [];
const terminal = await startFakeTerminal((what, hex) =>
  marks.push({ us: nowUs(), lane: "terminal", what, message: messageOf(hex) }),
);
const gateway = await startFakeGateway(() =>
  marks.push({ us: nowUs(), lane: "gateway", what: "answered" }),
);
const at = new TestInstallation({
  line: "own",
  asLaunched: true,
  config: { SERIAL_PORT: `tcp://127.0.0.1:${terminal.port}`, GATEWAY_URL: gateway.url },
  environment: (data) => ({
    NODE_OPTIONS: `--import=${pathToFileURL(join(projectRoot, "scripts/bench/tracer.ts")).href}`,
    BENCH_TRACE: join(data, "trace"),
    BENCH_TRACE_US: String(interval),
  }),
});
const poster = new Poster(at.password);
try {
  await at.start();
  await at.connected();
  await pay(warmUp, "warm", 0);
  const untraced = await timed(() => pay(Math.ceil(payments / 2), "before", PAUSE_MS));
  const traced = await timed(() => tracing(() => pay(payments, "traced", PAUSE_MS)));
  const again = await timed(() => pay(Math.ceil(payments / 2), "again", PAUSE_MS));
  const alone = await tracing(() => pay(lone, "lone", LONE_MS));
  const plain = [...untraced.result, ...again.result];
  const cpuMs = (untraced.cpuMs + again.cpuMs) / plain.length;
  report(traced.result, alone, [
    ["POST to answer, p50, without tracing", inMs(medianOf(plain))],
    ["POST to answer, p50, with tracing", inMs(medianOf(traced.result.payments))],
    ["processor time of both programs, without tracing", inMs(cpuMs * 1_000)],
  ]);
} finally {
  poster.close();
  terminal.close();
  gateway.close();
  await at.stop();
}

interface Traced {
  readonly payments: readonly Payment[];
  readonly traces: Traces;
  readonly moments: readonly Moment[];
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

function messageOf(hex: string): string {
  const named = (from: number): string => messages[hex.slice(from, from + 4)] ?? "a message";
  if (!hex.startsWith(ACK)) return named(0);
  return hex === ACK ? "an ACK" : `an ACK, ${named(ACK.length)}`;
}

async function pay(count: number, name: string, pauseMs: number): Promise<Payment[]> {
  const paid: Payment[] = [];
  for (let i = 0; i < count; i++) {
    const postUs = nowUs();
    const ms = await poster.pay(`${at.url}/payment`, `${name}-${i}`);
    if (pauseMs > 0) await sleep(systemClock, "work after the answer", pauseMs);
    paid.push({ postUs, answerUs: postUs + ms * 1_000, untilUs: nowUs() });
  }
  terminal.heard();
  return paid;
}

async function timed<T>(work: () => Promise<T>) {
  const pids = [at.tpManager?.pid ?? 0, at.supervisor?.pid ?? 0];
  const spent = (): number => pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  const beforeMs = spent();
  const result = await work();
  return { result, cpuMs: spent() - beforeMs };
}

/** Traces both programs while `work` pays. */
async function tracing(work: () => Promise<Payment[]>): Promise<Traced> {
  marks.length = 0;
  await signal("begun", () => true);
  const paid = await work();
  const [manager, supervisor] = await signal(
    "json",
    (path) => JSON.parse(readFileSync(path, "utf8")) as Trace,
  );
  if (!manager || !supervisor) throw new Error("a program was not traced");
  const moments = [
    ...marks,
    ...momentsOf("tp-manager", manager),
    ...momentsOf("supervisor", supervisor),
  ];
  const traces = {
    "tp-manager": new ProgramTrace(manager),
    supervisor: new ProgramTrace(supervisor),
  };
  return { payments: paid, traces, moments };
}

/** Sends SIGUSR2 to both programs and waits for the file that each makes then. */
async function signal<T>(end: "begun" | "json", read: (path: string) => T): Promise<T[]> {
  const both = [at.tpManager, at.supervisor].flatMap((program) => program ?? []);
  for (const program of both) program.signal("SIGUSR2");
  const files = both.map(({ pid }) => join(at.data, `trace.${pid}.${end}`));
  return await Promise.all(
    files.map(async (path) => {
      await until(path, () => existsSync(path) || undefined);
      const content = read(path);
      rmSync(path);
      return content;
    }),
  );
}

function momentsOf(lane: Program, trace: Trace): Moment[] {
  const others = trace.moments.flatMap((moment): Moment[] => {
    const what = whatOf(moment);
    return what === undefined ? [] : [{ us: moment.us, lane, what }];
  });
  const commits = trace.commits.flatMap(({ fromUs, toUs }): Moment[] => [
    { us: fromUs, lane, what: "commit" },
    { us: toUs, lane, what: "synced" },
  ]);
  return [...others, ...commits];
}

/** Returns what a moment is on the path of a payment; undefined: it is known from another one. */
function whatOf({ what, remotePort, localPort }: TracedMoment): Moment["what"] | undefined {
  const isHop = remotePort === 0 && localPort === 0;
  if (what === "request") return isHop || localPort === at.port ? "request" : undefined;
  if (what === "read") return isHop ? "read hop" : undefined;
  if (isHop) return "write hop";
  if (remotePort === terminal.port) return "write terminal";
  if (`http://127.0.0.1:${remotePort}` === gateway.url) return "write gateway";
  return localPort === at.port ? "write kiosk" : undefined;
}

function report(traced: Traced, alone: Traced, times: readonly (readonly string[])[]): void {
  const {
    steps,
    payments: middle,
    share,
  } = waterfallOf(traced.payments, traced.moments, traced.traces);
  const before = middle.map(({ postUs, answerUs }): Span => [postUs, answerUs]);
  const after = middle.map(({ answerUs, untilUs }): Span => [answerUs, untilUs]);
  const later = alone.payments.map(({ answerUs, untilUs }): Span => {
    return [answerUs + PAUSE_MS * 1_000, untilUs];
  });
  const spent: Spent[] = [
    { column: "before", spans: before, traces: traced.traces },
    { column: "after", spans: after, traces: traced.traces },
    { column: "later", spans: later, traces: alone.traces },
  ];
  const files = rowsOf(spent, ({ file }) => file);
  const owners = rowsOf(spent, ({ owner }) => owner);
  const lines: string[][] = [
    ...times.map((cells) => [...cells]),
    ["payments of the picture", `${middle.length} of ${payments}`],
    ["payments with the most frequent order of moments", `${(share * 100).toFixed(0)} %`],
    ...programs.map((program) => [
      `${program}, main thread: before the answer, after it, later`,
      columns.map((column) => inMs(sumOf(files, program, column))).join(", "),
    ]),
    ["programs", process.env["TEST_BUNDLE"] ? "bundle" : "sources"],
    ["load of the machine at the end", loadavg()[0]?.toFixed(1) ?? ""],
  ];
  print([["", ""], ...lines]);
  print([["step", "begins at", "takes", "of it"], ...steps.map(stepRow)]);
  print([["program", "file of its own, with all that it calls", ...columns], ...cellsOf(owners)]);
  print([["program", "file, package or part of Node.js", ...columns], ...cellsOf(files)]);
  const functions = rowsOf(spent, ({ file, name }) => `${file} ${name}`);
  print([["program", "function", ...columns], ...cellsOf(functions)]);
  if (values.picture === undefined) return;
  const caption = lines.map((cells) => cells.join(": "));
  const picture = pictureOf({
    steps,
    after: afterAnswer(middle, traced.traces),
    title: "One warm payment, from the kiosk's POST to the answer, and the work after it",
    lines: [
      `${caption.slice(0, 3).join("; ")}.`,
      `Hatched: waits. Plain: processor time, by file. Thin: work for which the payment does not ` +
        `wait. Dashed: the answer. ${caption[3]}; load ${loadavg()[0]?.toFixed(1)}.`,
    ],
  });
  writeFileSync(values.picture, picture);
}

function stepRow({ name, fromUs, toUs, parts, meanwhile }: Step): string[] {
  const all = parts.map((part) =>
    "wait" in part ? { name: part.wait, us: part.us } : { name: part.frame.file, us: part.us },
  );
  const largest = [...all, ...meanwhile.map(({ frame, us }) => ({ name: `(${frame.file})`, us }))]
    .toSorted((a, b) => b.us - a.us)
    .slice(0, 6)
    .filter(({ us }) => us >= 1);
  const listed = largest.map((part) => `${part.name} ${Math.round(part.us)}`).join(", ");
  return [name, inMs(fromUs), inMs(toUs - fromUs), listed];
}

function cellsOf(rows: readonly Row[]): string[][] {
  return rows
    .slice(0, rowsMax)
    .map(({ program, name, us }) => [
      program,
      `\`${name}\``,
      ...columns.map((column) => Math.round(us[column]).toString()),
    ]);
}

function sumOf(rows: readonly Row[], program: Program, column: (typeof columns)[number]): number {
  return rows.filter((row) => row.program === program).reduce((sum, { us }) => sum + us[column], 0);
}

function medianOf(paid: readonly Payment[]): number {
  return quantile(
    paid.map(({ postUs, answerUs }) => answerUs - postUs),
    0.5,
  );
}

function inMs(us: number): string {
  return `${(us / 1_000).toFixed(2)} ms`;
}

function print(rows: readonly (readonly string[])[]): void {
  const [head = [], ...others] = rows;
  const lines = [head, head.map(() => "---"), ...others];
  process.stdout.write(`${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n\n`);
}
