/** Reads what scripts/bench/tracer.ts has written about one program. */
import type { Profiler } from "node:inspector";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { projectRoot } from "../../src/shared/version-files.ts";

/** All times are microseconds of the system's monotonic clock. */
export interface Trace {
  /** When the profiler was started. */
  readonly fromUs: number;
  readonly profile: Profiler.Profile;
  readonly moments: readonly TracedMoment[];
  readonly commits: readonly Commit[];
}

/** A request came, or bytes were given to or read from a socket; ports are 0 on a local socket. */
export interface TracedMoment {
  readonly us: number;
  readonly what: "request" | "write" | "read";
  readonly remotePort: number;
  readonly localPort: number;
}

export interface Commit {
  readonly fromUs: number;
  readonly toUs: number;
  /** The processor time of the thread; the rest of the time it waited for the disk. */
  readonly cpuUs: number;
}

/** A function that ran. */
export interface Frame {
  /** Its file; or the package, the part of Node.js, or what V8 did. */
  readonly file: string;
  readonly name: string;
  /** The nearest file of the project on the stack; without one, `file`. */
  readonly owner: string;
}

export type Span = readonly [fromUs: number, toUs: number];

/** How long something ran in a span, on average; `at` says where in the span (0 to 1). */
export interface Slice {
  readonly frame: Frame;
  readonly us: number;
  readonly at: number;
}

interface Sample {
  readonly us: number;
  readonly frame: Frame;
}

/** What V8 calls a thread that waits for the event loop. */
export const IDLE = "(idle)";
const SQLITE = "node:sqlite";
const NATIVE = "(native code)";
const commitFrame: Frame = { file: SQLITE, name: "COMMIT", owner: SQLITE };
const unknownFrame: Frame = { file: "(no sample)", name: "", owner: "(no sample)" };

/** What ran in one program while it was traced. */
export class ProgramTrace {
  readonly #samples: readonly Sample[];
  readonly #commits: readonly Commit[];

  constructor({ fromUs, profile, commits }: Trace) {
    // Both clocks must be one, or nothing of the picture is right.
    const lateUs = profile.startTime - fromUs;
    if (lateUs < 0 || lateUs > 1_000_000) {
      throw new Error(`V8's profile began ${lateUs} us after it was started: another clock`);
    }
    this.#samples = samplesOf(profile);
    this.#commits = commits;
  }

  /**
   * Returns what ran in one of the spans on average, waiting for the event loop included, and how
   * long the commits in it waited for the disk. V8 takes no sample while a thread waits for the
   * disk, so the time of the commits is known from the clock, and the rest of the spans is divided
   * by the numbers of samples.
   */
  spent(spans: readonly Span[]): { readonly slices: Slice[]; readonly diskUs: number } {
    const counts = new Map<Frame, { count: number; at: number }>();
    const commit = { us: 0, cpuUs: 0, at: 0, count: 0 };
    let [samples, us] = [0, 0];
    for (const [fromUs, toUs] of spans) {
      us += toUs - fromUs;
      const inside = within(this.#commits, fromUs, toUs, (one) => one.fromUs);
      for (const one of inside) {
        commit.us += one.toUs - one.fromUs;
        commit.cpuUs += Math.min(one.cpuUs, one.toUs - one.fromUs);
        commit.at += (one.fromUs - fromUs) / (toUs - fromUs || 1);
        commit.count += 1;
      }
      for (const one of within(this.#samples, fromUs, toUs, (sample) => sample.us)) {
        if (inside.some((each) => each.fromUs <= one.us && one.us <= each.toUs)) continue;
        const counted = counts.get(one.frame) ?? { count: 0, at: 0 };
        counted.count += 1;
        counted.at += (one.us - fromUs) / (toUs - fromUs || 1);
        counts.set(one.frame, counted);
        samples += 1;
      }
    }
    const outsideUs = Math.max(us - commit.us, 0) / spans.length;
    const slices = [...counts].map(([frame, { count, at }]) => {
      return { frame, us: (outsideUs * count) / samples, at: at / count };
    });
    if (samples === 0) slices.push({ frame: unknownFrame, us: outsideUs, at: 0 });
    if (commit.count > 0) {
      const cpuUs = commit.cpuUs / spans.length;
      slices.push({ frame: commitFrame, us: cpuUs, at: commit.at / commit.count });
    }
    return { slices, diskUs: (commit.us - commit.cpuUs) / spans.length };
  }
}

/** Returns the rows of a list in the order of time that lie in a span. */
export function within<T>(
  list: readonly T[],
  fromUs: number,
  toUs: number,
  timeOf: (one: T) => number,
): T[] {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeOf(list[middle] as T) < fromUs) low = middle + 1;
    else high = middle;
  }
  const found: T[] = [];
  for (let i = low; i < list.length && timeOf(list[i] as T) < toUs; i++) found.push(list[i] as T);
  return found;
}

function samplesOf(profile: Profiler.Profile): Sample[] {
  const { samples = [], timeDeltas = [], startTime } = profile;
  const frames = framesOf(profile);
  let us = startTime;
  const taken = samples.map((id, i) => {
    us += timeDeltas[i] ?? 0;
    return { us, frame: frames.get(id) ?? unknownFrame };
  });
  // V8 lists a sample late when it was taken by another thread.
  return taken.sort((a, b) => a.us - b.us);
}

type CallFrame = Profiler.ProfileNode["callFrame"];

function framesOf({ nodes }: Profiler.Profile): ReadonlyMap<number, Frame> {
  const callers = new Map<number, Profiler.ProfileNode>();
  for (const node of nodes) for (const child of node.children ?? []) callers.set(child, node);
  const known = new Map<string, Frame>();
  return new Map(
    nodes.map((node) => {
      const stack: CallFrame[] = [];
      let at: Profiler.ProfileNode | undefined = node;
      for (; at; at = callers.get(at.id)) stack.push(at.callFrame);
      const frame = frameOf(stack);
      const key = JSON.stringify(frame);
      const same = known.get(key) ?? frame;
      known.set(key, same);
      return [node.id, same] as const;
    }),
  );
}

/** Natives of node:sqlite have no file; a statement's own functions are bound, so names differ. */
const sqliteNative = /^(bound )?(run|get|all|exec|prepare|iterate|next|columns)$/;

/** `stack`: the function that ran, then its callers. */
function frameOf(stack: readonly CallFrame[]): Frame {
  const [leaf, ...callers] = stack;
  if (!leaf) return unknownFrame;
  const urls = callers.map(({ url }) => fileOf(url)).filter((file) => file !== "");
  const named = fileOf(leaf.url);
  const [caller = NATIVE] = urls.filter((file) => file !== TRACER);
  const native = sqliteNative.test(leaf.functionName) && isOurs(caller) ? SQLITE : caller;
  const file = leaf.functionName.startsWith("(") ? leaf.functionName : named || native;
  const name = leaf.functionName || "(without a name)";
  return {
    file: file === "(program)" || file === "(root)" ? NATIVE : file,
    name: isOurs(named) ? `${name}:${leaf.lineNumber + 1}` : name,
    owner: [named, ...urls].find(isOurs) ?? file,
  };
}

const TRACER = "(the bench's own tracing)";

/** Returns how a script is named in the tables: a path of the project, a package, or a module. */
function fileOf(url: string): string {
  if (!url.startsWith("file:")) return url;
  const path = relative(projectRoot, fileURLToPath(url));
  if (path === "scripts/bench/tracer.ts") return TRACER;
  const inPackage = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
  return inPackage === undefined ? path : `package ${inPackage}`;
}

function isOurs(file: string): boolean {
  return /^(src|dist)\//.test(file);
}
