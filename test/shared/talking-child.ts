import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { startProcess } from "../support/programs/own-processes.ts";

/** Halves the start of a child, of which there are some fifty. */
const compileCache = join(tmpdir(), "utc-test-compile-cache");

/** A real process that runs one of the programs next to the tests and talks in lines. */
export interface TalkingChild {
  readonly pid: number;
  /** Resolves with the next line of standard output; rejects when the process ends before. */
  nextLine(): Promise<string>;
  send(line: string): void;
  kill(signal: NodeJS.Signals): void;
  /** As a reader does that goes away: nothing more is taken from standard output. */
  closeOutput(): void;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly stderr: () => string;
}

/** Starts `program` (a file below this folder); it is killed when the test ends. */
export function startChild(program: string, ...parameters: string[]): TalkingChild {
  const child = spawnChild(program, ...parameters);
  onTestFinished(() => child.kill("SIGKILL"));
  return child;
}

/** For a child that several tests share: the caller that starts it kills it. */
export function spawnChild(program: string, ...parameters: string[]): TalkingChild {
  return spawnChildWith({}, program, ...parameters);
}

function spawnChildWith(
  changed: Readonly<Record<string, string>>,
  program: string,
  ...parameters: string[]
): TalkingChild {
  return control(
    startProcess(process.execPath, [`${import.meta.dirname}/${program}`, ...parameters], {
      env: { ...process.env, NODE_OPTIONS: "", NODE_COMPILE_CACHE: compileCache, ...changed },
    }),
  );
}

/** Starts `program` with a compile cache of its own; it is killed when the test ends. */
export function startColdChild(
  cache: string,
  program: string,
  ...parameters: string[]
): TalkingChild {
  const child = spawnChildWith({ NODE_COMPILE_CACHE: cache }, program, ...parameters);
  onTestFinished(() => child.kill("SIGKILL"));
  return child;
}

function control(child: ChildProcessWithoutNullStreams): TalkingChild {
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  // A child that has gone takes no more lines; its exit says why.
  child.stdin.on("error", () => undefined);
  return {
    pid: child.pid as number,
    exited,
    stderr: () => stderr,
    async nextLine() {
      const { done, value } = await lines.next();
      if (done) throw new Error(`ended without a line: ${stderr}`);
      return value;
    },
    send: (line) => void child.stdin.write(`${line}\n`),
    kill: (signal) => void child.kill(signal),
    closeOutput: () => void child.stdout.destroy(),
  };
}
