/**
 * Loaded into tp-manager and supervisor by scripts/bench-waterfall.ts (NODE_OPTIONS=--import). A
 * first SIGUSR2 begins a trace and makes the file `$BENCH_TRACE.PID.begun`; a second one ends it
 * and writes it to `$BENCH_TRACE.PID.json`. A trace has V8's profile of the main thread, the
 * moments at which a request came or bytes were given to a socket, and every commit. All times are
 * those of the system's monotonic clock in microseconds, which is also the clock of V8's profiler
 * and of the bench. Before the first signal and after the second nothing is changed.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { renameSync, writeFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector";
import { Socket } from "node:net";
import { type SQLInputValue, type StatementResultingChanges, StatementSync } from "node:sqlite";
import { isMainThread } from "node:worker_threads";
import type { Commit, Trace, TracedMoment } from "./trace.ts";

type Run = (this: StatementSync, ...values: SQLInputValue[]) => StatementResultingChanges;

/** The two functions of Node.js through which each written and most read pieces go. */
interface Stream {
  _writeGeneric(this: Socket, ...given: unknown[]): unknown;
  push(this: Socket, piece: unknown, ...given: unknown[]): boolean;
}

const file = `${process.env["BENCH_TRACE"]}.${process.pid}`;
const sockets = Socket.prototype as unknown as Stream;
const statements = StatementSync.prototype as unknown as { run: Run };
const untraced = { write: sockets._writeGeneric, push: sockets.push, run: statements.run };

const session = new Session();
let moments: TracedMoment[] = [];
let commits: Commit[] = [];
let fromUs = 0;
let isTracing = false;

if (isMainThread) process.on("SIGUSR2", () => (isTracing ? end() : begin()));

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

function begin(): void {
  isTracing = true;
  [moments, commits] = [[], []];
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.setSamplingInterval", { interval: Number(process.env["BENCH_TRACE_US"]) });
  fromUs = nowUs();
  session.post("Profiler.start");
  subscribe("http.server.request.start", onRequest);
  sockets._writeGeneric = function traced(...given) {
    note("write", this);
    return untraced.write.apply(this, given);
  };
  sockets.push = function traced(piece, ...given) {
    if (piece !== null) note("read", this);
    return untraced.push.call(this, piece, ...given);
  };
  statements.run = tracedRun;
  writeFileSync(`${file}.begun`, "");
}

function end(): void {
  isTracing = false;
  unsubscribe("http.server.request.start", onRequest);
  sockets._writeGeneric = untraced.write;
  sockets.push = untraced.push;
  statements.run = untraced.run;
  session.post("Profiler.stop", (error, stopped) => {
    if (error) throw error;
    write(stopped.profile);
  });
  session.disconnect();
}

function write(profile: Profiler.Profile): void {
  const trace: Trace = { fromUs, profile, moments, commits };
  writeFileSync(`${file}.new`, JSON.stringify(trace));
  renameSync(`${file}.new`, `${file}.json`);
}

function onRequest(message: unknown): void {
  note("request", (message as { readonly socket: Socket }).socket);
}

/** The ports of a socket do not change, and reading them takes a system call. */
const ports = new WeakMap<Socket, Pick<TracedMoment, "remotePort" | "localPort">>();

function note(what: TracedMoment["what"], socket: Socket): void {
  const us = nowUs();
  let known = ports.get(socket);
  if (!known) {
    known = { remotePort: socket.remotePort ?? 0, localPort: socket.localPort ?? 0 };
    ports.set(socket, known);
  }
  moments.push({ us, what, ...known });
}

type Kind = "begin" | "commit" | "change";

const kinds = new WeakMap<StatementSync, Kind>();
let isInTransaction = false;

/** A statement outside a transaction is a commit too: SQLite syncs what it has changed. */
const tracedRun: Run = function traced(...values) {
  const kind = kindOf(this);
  if (kind === "begin") isInTransaction = true;
  if (kind === "begin" || (kind === "change" && isInTransaction)) {
    return untraced.run.apply(this, values);
  }
  isInTransaction = false;
  const cpu = process.threadCpuUsage();
  const begunUs = nowUs();
  const result = untraced.run.apply(this, values);
  const toUs = nowUs();
  const { user, system } = process.threadCpuUsage(cpu);
  commits.push({ fromUs: begunUs, toUs, cpuUs: user + system });
  return result;
};

function kindOf(statement: StatementSync): Kind {
  let kind = kinds.get(statement);
  if (!kind) {
    const [first] = statement.sourceSQL.trimStart().split(" ");
    kind = first === "BEGIN" ? "begin" : first === "COMMIT" ? "commit" : "change";
    kinds.set(statement, kind);
  }
  return kind;
}
