import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { smallMemoryOf, spawnProcess } from "../../src/launcher/processes/launch-process.ts";
import {
  findProcesses,
  isRunning,
  type ProcessSpec,
} from "../../src/launcher/processes/process-table.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { startProcess } from "../support/programs/own-processes.ts";

/** Of the sources, and of another version that a delivery holds. */
const scripts = ["src/supervisor/main.ts", "versions/2.0.0/programs/supervisor.js"];

let folder: string;
let children: ChildProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "process table "));
  for (const script of [...scripts, "src/tp-manager/main.ts"]) {
    mkdirSync(dirname(join(folder, script)), { recursive: true });
    writeFileSync(join(folder, script), "process.stdin.resume();");
  }
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

const part = (): ProcessSpec => ({
  name: "supervisor",
  script: join(folder, "src/supervisor/main.ts"),
  args: [],
  mark: join(folder, "data"),
  presence: join(folder, "supervisor"),
});

test("a process is ours by its part and its data folder, however they are written", async () => {
  const data = join(folder, "data");
  const pids = [
    await start([join(folder, "src/supervisor/main.ts"), "--data", data]),
    await start(["src/supervisor/main.ts", "--data", "data"], folder),
    await start(["--no-warnings", "./src/supervisor/main.ts", "--data=./data"], folder),
    await start([join(folder, "versions/2.0.0/programs/supervisor.js"), "--data", data]),
  ];
  expect(findProcesses(part()).sort()).toEqual(pids.sort());
});

test("another data folder, another script and a folder below ours are not ours", async () => {
  const script = join(folder, "src/supervisor/main.ts");
  await start([script, "--data", join(folder, "data", "demo")]);
  await start([script, "--data", folder]);
  await start([script]);
  await start([join(folder, "src/tp-manager/main.ts"), "--data", join(folder, "data")]);
  expect(findProcesses(part())).toEqual([]);
});

test("a process that has ended is not running, even while nobody has reaped it", async () => {
  const pid = await start([join(folder, scripts[0] ?? "")]);
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

test("a part has the settings of memory, and this runtime knows those of a program", async () => {
  const script = join(folder, "heap.mjs");
  const reading =
    "[process.execArgv, process.env.MALLOC_ARENA_MAX, process.env.MALLOC_MMAP_THRESHOLD_]";
  const module = pathToFileURL(join(projectRoot, "src/shared/process/small-heap.ts"));
  const lines = [
    `import { keepHeapSmall } from "${module}";`,
    "keepHeapSmall();",
    `process.stdout.write(JSON.stringify(${reading}));`,
  ];
  writeFileSync(script, lines.join("\n"));
  const { switches, environment } = smallMemoryOf("tp-manager");
  const child = spawnProcess({ name: "tp-manager", script, args: [] }, { stdio: "pipe" });
  children.push(child);
  const [output, problems] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  expect(JSON.parse(output)).toEqual([switches, ...Object.values(environment)]);
  expect(Object.keys(smallMemoryOf("supervisor").environment)).toEqual(["MALLOC_ARENA_MAX"]);
  expect(problems).toBe("");
});

async function textOf(stream: AsyncIterable<Buffer> | null): Promise<string> {
  let text = "";
  for await (const chunk of stream ?? []) text += chunk.toString("utf8");
  return text;
}
