import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Part } from "../../src/launcher/part.ts";
import { findProcesses, isRunning } from "../../src/launcher/process-table.ts";
import { startProcess } from "../support/own-processes.ts";

let folder: string;
let children: ChildProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "process table "));
  writeFileSync(join(folder, "main.ts"), "process.stdin.resume();");
  children = [];
});
afterEach(async () => {
  await Promise.all(children.map(end));
  rmSync(folder, { recursive: true });
});

/** Once a process has been spawned, its arguments can be read. */
async function start(args: string[], cwd = "/"): Promise<number> {
  const child = startProcess(process.execPath, args, { cwd, stdio: ["pipe", "ignore", "ignore"] });
  children.push(child);
  await new Promise((resolve) => child.once("spawn", resolve));
  return child.pid as number;
}

function end(child: ChildProcess): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  return ended;
}

const part = (): Part => ({
  name: "supervisor",
  script: join(folder, "main.ts"),
  args: [],
  mark: join(folder, "data"),
  presence: join(folder, "supervisor"),
});

test("a process is ours by its script and its data folder, however they are written", async () => {
  const data = join(folder, "data");
  const pids = [
    await start([join(folder, "main.ts"), "--data", data]),
    await start(["main.ts", "--data", "data"], folder),
    await start(["--no-warnings", "./main.ts", "--data=./data"], folder),
  ];
  expect(findProcesses(part()).sort()).toEqual(pids.sort());
});

test("another data folder, another script and a folder below ours are not ours", async () => {
  writeFileSync(join(folder, "other.ts"), "process.stdin.resume();");
  await start([join(folder, "main.ts"), "--data", join(folder, "data", "demo")]);
  await start([join(folder, "main.ts"), "--data", folder]);
  await start([join(folder, "main.ts")]);
  await start([join(folder, "other.ts"), "--data", join(folder, "data")]);
  expect(findProcesses(part())).toEqual([]);
});

test("a process that has ended is not running, even while nobody has reaped it", async () => {
  const pid = await start([join(folder, "main.ts")]);
  expect(isRunning(pid)).toBe(true);
  await end(children[0] as ChildProcess);
  expect(isRunning(pid)).toBe(false);
  // A shell that does not wait for its child leaves it as a zombie.
  const shell = startProcess("sh", ["-c", "exec 3<&0; cat <&3 & echo $!; exec sleep 30"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  children.push(shell);
  const zombie = await new Promise<number>((resolve) =>
    shell.stdout.once("data", (text: Buffer) => resolve(Number(text.toString()))),
  );
  // Before its exec the shell itself would still reap it.
  await expect.poll(() => readFileSync(`/proc/${shell.pid}/comm`, "utf8")).toBe("sleep\n");
  expect(isRunning(zombie)).toBe(true);
  shell.stdin.end();
  await expect.poll(() => isRunning(zombie)).toBe(false);
  expect(() => process.kill(zombie, 0)).not.toThrow();
});
