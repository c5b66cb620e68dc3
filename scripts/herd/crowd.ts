import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "../../src/shared/time.ts";
import { freePort } from "../../test/support/programs/installation.ts";
import { CrowdReader } from "./crowd-reader.ts";
import { ALARMING, reachedBy } from "./night.ts";

/* Many kiosks at one mosquitto, with real sockets, counted by a subscriber of others. */

const member = join(import.meta.dirname, "crowd-member.ts");
/** The rollout share of each night. */
const SHARES = [1, 10, 100] as const;

interface Crowd {
  readonly mosquitto: string;
  readonly kiosks: number;
  readonly processes: number;
  /** 1: the waits before a new try as they are; less shortens them for a test. */
  readonly spread: number;
  readonly outageMs: number;
  /** How long a minute of the hour of updates takes. */
  readonly minuteMs: number;
}

interface Night {
  readonly share: number;
  /** Kiosks that the share newly reaches, and how many of them have restarted. */
  readonly reached: number;
  readonly restarted: number;
  /** The most restarts in one minute of the hour, and the fullest sixth of it over the mean. */
  readonly most: number;
  readonly peak: number;
}

interface CrowdCount {
  /** Kiosks of which the subscriber was given a birth, and until when. */
  readonly births: number;
  readonly bornMs: number;
  /** The broker's resident memory in kB, without kiosks and with all of them. */
  readonly memory: readonly [number, number];
  /** After the outage: back, until when, the fullest sixth of that time over the mean. */
  readonly back: number;
  readonly backMs: number;
  readonly mostInASecond: number;
  readonly peak: number;
  /** Alarms that were raised at once, those that came, how many came twice, and until when. */
  readonly raised: number;
  readonly alarms: number;
  readonly twice: number;
  readonly alarmsMs: number;
  readonly nights: readonly Night[];
  /** Kiosks of one process that was killed, their last wills, and until when. */
  readonly killed: number;
  readonly wills: number;
  readonly willsMs: number;
  /** States that a late subscriber is given, by how the kiosk is connected. */
  readonly retained: Readonly<Record<string, number>>;
}

/** Births, an outage of the broker, alarms, nights of updates, a process that is killed. */
export async function crowdAtBroker(crowd: Crowd): Promise<CrowdCount> {
  const folder = mkdtempSync(join(tmpdir(), "utc-crowd-"));
  const running: ChildProcess[] = [];
  const start = (program: string, args: readonly string[]): ChildProcess => {
    const env = { ...process.env, TMPDIR: folder };
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], env });
    // A process that was killed cannot be written to.
    child.stdin?.on("error", () => {});
    running.push(child);
    return child;
  };
  try {
    const port = await freePort();
    const config = join(folder, "mosquitto.conf");
    const lines = [`listener ${port} 127.0.0.1`, "allow_anonymous true", "persistence false"];
    // Without this setting the broker keeps only few messages for a slow reader.
    writeFileSync(config, [...lines, "max_queued_messages 0", ""].join("\n"));
    const startBroker = () => start(crowd.mosquitto, ["-c", config]);
    const subscribe = () => new CrowdReader((args) => start("mosquitto_sub", args), port);
    return await counted(crowd, { port, start, startBroker, subscribe });
  } finally {
    const alive = running.filter(({ exitCode, signalCode }) => exitCode === null && !signalCode);
    const ended = alive.map((child) => once(child, "exit"));
    for (const child of alive) child.kill("SIGKILL");
    await Promise.all(ended);
    rmSync(folder, { recursive: true });
  }
}

interface Means {
  readonly port: number;
  readonly start: (program: string, args: readonly string[]) => ChildProcess;
  readonly startBroker: () => ChildProcess;
  readonly subscribe: () => CrowdReader;
}

async function counted(crowd: Crowd, means: Means): Promise<CrowdCount> {
  const { kiosks, processes, spread } = crowd;
  const each = kiosks / processes;
  const broker = means.startBroker();
  const first = means.subscribe();
  await first.isThere();
  const empty = memoryOf(broker);
  const born = stopwatch();
  const members = Array.from({ length: processes }, (_, i) =>
    means.start(process.execPath, [member, ...[means.port, i * each, each, spread].map(String)]),
  );
  const births = await first.until("online", kiosks);
  const bornMs = born();
  const memory = [empty, memoryOf(broker)] as const;

  broker.kill("SIGKILL");
  await once(broker, "exit");
  await sleep(systemClock, "an outage", crowd.outageMs);
  const returned = stopwatch();
  means.startBroker();
  const second = means.subscribe();
  await second.isThere();
  const back = await second.until("online", kiosks);
  const storm = { back, backMs: returned(), ...second.storm };

  const order = (line: string): void => {
    for (const one of members) one.stdin?.write(`${line}\n`);
  };
  const raised = Math.ceil(kiosks / ALARMING);
  const rang = stopwatch();
  order("alarm");
  const alarms = await second.untilAlarms(raised);
  const ringing = { raised, alarms, twice: second.twice, alarmsMs: rang() };

  const nights: Night[] = [];
  for (const share of SHARES) {
    order(`night ${share} ${crowd.minuteMs}`);
    nights.push(await nightOf(second, crowd, nights.at(-1)?.share ?? 0, share));
  }

  const killed = stopwatch();
  members[0]?.kill("SIGKILL");
  const wills = await second.until("lost", each);
  const killing = { killed: each, wills, willsMs: killed() };
  const late = means.subscribe();
  await late.until("online", kiosks - each);
  return { births, bornMs, memory, ...storm, ...ringing, nights, ...killing, retained: late.now };
}

/** Waits until every kiosk that the share newly reaches has restarted. */
async function nightOf(reader: CrowdReader, crowd: Crowd, before: number, share: number) {
  const { kiosks, minuteMs } = crowd;
  const all = Array.from({ length: kiosks }, (_, index) => index);
  const reached = all.filter((index) => reachedBy(index, before, share)).length;
  const night = await reader.untilRestarted(reached, minuteMs);
  await reader.until("online", kiosks);
  return { share, reached, ...night };
}

function stopwatch(): () => number {
  const fromMs = systemClock.monotonicMs();
  return () => Math.round(systemClock.monotonicMs() - fromMs);
}

/** The resident memory of a process in kB; 0 where the system does not say it. */
function memoryOf({ pid }: ChildProcess): number {
  if (process.platform !== "linux") return 0;
  return Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
}
