import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, relative } from "node:path";
import { afterAll, test as alone, beforeAll, describe, expect } from "vitest";
import { readArguments } from "../../src/launcher/arguments.ts";
import { addressOf } from "../../src/shared/ipc/run-directory.ts";
import { until } from "../support/programs/child-program.ts";
import { startProcess } from "../support/programs/own-processes.ts";
import { isWhole } from "../support/run/scope.ts";
import { completeConfig, TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

const AT_ONCE = isWhole ? 20 : 3;
/** Most of the time is waiting for processes, each test with a data folder of its own. */
const test = alone.concurrent;
// All of them share the cores of a machine that others use too.
let checkout: TemporaryCheckout;
beforeAll(() => {
  checkout = new TemporaryCheckout();
});
afterAll(() => checkout.remove());

const both = ["tp-manager", "supervisor"] as const;
const pids = (data: string) => both.map((program) => checkout.running(program, data));
/** How many connections to this socket its program has not accepted: they have no inode yet. */
const queued = (address: string): number =>
  readFileSync("/proc/net/unix", "utf8")
    .split("\n")
    .filter((line) => line.endsWith(` 0 ${address}`)).length;

// One installation, on which every test goes on from the one before.
describe("started, looked at and stopped", () => {
  let data: string;

  /** Starts what an earlier test has ended or broken. */
  async function bothRun(): Promise<void> {
    rmSync(join(data, "supervisor.behaviour"), { force: true });
    if (pids(data).every((found) => found.length === 1)) return;
    await checkout.launch("--data", data);
  }

  alone("start leaves both programs running and says so in a line each", async () => {
    data = checkout.dataFolder("start");
    const started = await checkout.launch("start", "--data", data);
    expect(started).toMatchObject({ code: 0, err: "" });
    const [[manager], [supervisor]] = pids(data) as [[number], [number]];
    expect(started.out.split("\n")).toEqual([
      `tp-manager          started         pid ${manager}`,
      `supervisor          started         pid ${supervisor}`,
      "",
    ]);
    const status = await checkout.launch("status", "--data", data);
    expect(status.code).toBe(0);
    expect(status.out.replace(/up \d+ s/g, "up 1 s").split("\n")).toEqual([
      `tp-manager          running         pid ${manager}, version 0.0.1, up 1 s`,
      "local API           listening       port 8765",
      "terminal            connected       52500042 ready",
      `supervisor          running         pid ${supervisor}, version 0.0.1, up 1 s`,
      "queue               empty           0 sent",
      "",
    ]);
  });

  alone("a second start says that both run already and changes nothing", async () => {
    const before = pids(data);
    expect(before.map((found) => found.length)).toEqual([1, 1]);
    const again = await checkout.launch("--data", data);
    expect(again.code).toBe(0);
    expect(again.out.match(/already running/g)).toHaveLength(2);
    expect(pids(data)).toEqual(before);
  });

  alone("status as JSON holds what the programs say, and costs no colour", async () => {
    const running = await checkout.launch("status", "--json", "--data", data);
    expect(running.code).toBe(0);
    expect(JSON.parse(running.out)).toMatchObject({
      dataDirectory: data,
      well: true,
      stoppedSince: null,
      programs: [
        { program: "tp-manager", state: "running", status: { terminal: { link: "connected" } } },
        { program: "supervisor", state: "running", status: { outbox: { pending: 0 } } },
      ],
      simulators: [],
    });
  });

  alone("a process with the same script and another data folder is left alone", async () => {
    const mine = checkout.dataFolder("mine");
    await checkout.launch("--data", mine);
    const before = pids(data);
    expect(before.map((found) => found.length)).toEqual([1, 1]);
    expect((await checkout.launch("stop", "--data", mine)).code).toBe(0);
    expect(pids(mine)).toEqual([[], []]);
    expect(pids(data)).toEqual(before);
  });

  alone("to another user no running program is shown as stopped", async (context) => {
    if (process.getuid?.() !== 0) context.skip("only root can run a program as another user");
    await bothRun();
    const at = (path: string): string =>
      JSON.stringify(join(import.meta.dirname, "../../src/launcher", path));
    const script = `
      const { runCommand } = await import(${at("launch.ts")});
      for (const command of ["status", "stop"]) {
        const code = await runCommand([command, "--data", ${JSON.stringify(data)}]);
        console.error(command, code);
      }
      const { isDemoTarget } = await import(${at("demo/settings.ts")});
      const folders = ${JSON.stringify([data, "/"])};
      console.log(folders.map((folder) => isDemoTarget(folder, "/nowhere")).join());`;
    const node = [process.execPath, "--input-type=module", "-e", script];
    const { stdout, stderr } = spawnSync("setpriv", ["--reuid=65534", "--clear-groups", ...node], {
      encoding: "utf8",
      cwd: "/",
      env: { NODE_DISABLE_COMPILE_CACHE: "1" },
    });
    expect(stderr).toMatch(/^not allowed.*\nstatus 69\nnot allowed.*\nstop 69\n$/);
    // Neither is a demo that only its own user may look at.
    expect(stdout).toBe("true,false\n");
    expect(pids(data).map((found) => found.length)).toEqual([1, 1]);
  });

  alone("start starts the program that is missing and leaves the other alone", async () => {
    await bothRun();
    const [[manager], [supervisor]] = pids(data) as [[number], [number]];
    process.kill(manager, "SIGKILL");
    const again = await checkout.launch("--data", data);
    expect(again.code).toBe(0);
    expect(again.out).toMatch(/^tp-manager +started/m);
    expect(again.out).toMatch(/^supervisor +already running/m);
    expect(checkout.running("supervisor", data)).toEqual([supervisor]);
  });

  alone("restart replaces both programs", async () => {
    await bothRun();
    const before = pids(data).flat();
    expect((await checkout.launch("restart", "--data", data)).code).toBe(0);
    const after = pids(data).flat();
    expect(after).toHaveLength(2);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
    expect(existsSync(join(data, "stopped"))).toBe(false);
  });

  alone("files of dead processes do not hinder a start", async () => {
    await bothRun();
    for (const pid of pids(data).flat()) process.kill(pid, "SIGKILL");
    expect(existsSync(addressOf(join(data, "run"), "tp-manager") ?? "")).toBe(true);
    expect((await checkout.launch("status", "--data", data)).out).toMatch(/^tp-manager +stopped$/m);
    const { code, out } = await checkout.launch("--data", data);
    expect({ code, started: out.match(/ started /g)?.length }).toEqual({ code: 0, started: 2 });
  });

  alone("stop ends both programs, and status shows it", async () => {
    const stopped = await checkout.launch("stop", "--data", data);
    expect(stopped).toEqual({
      code: 0,
      out: "tp-manager          stopped\nsupervisor          stopped\n",
      err: "",
    });
    expect(pids(data)).toEqual([[], []]);
    expect((await checkout.launch("status", "--data", data)).code).toBe(69);
    const status = await checkout.launch("status", "--json", "--data", data);
    expect(status.code).toBe(69);
    expect(JSON.parse(status.out)).toMatchObject({
      well: false,
      stoppedSince: expect.stringMatching(/^\d{4}-/),
      programs: [{ state: "stopped" }, { state: "stopped" }],
    });
  });

  alone("a program that ran before is not stopped because the other one fails", async () => {
    await bothRun();
    const [[manager], [supervisor]] = pids(data) as [[number], [number]];
    writeFileSync(join(data, "supervisor.behaviour"), "refuse");
    process.kill(supervisor, "SIGKILL");
    expect((await checkout.launch("--data", data)).code).toBe(69);
    expect(pids(data)).toEqual([[manager], []]);
  });

  alone("a foreign process at a dead one's address is not taken for it, nor stopped", async () => {
    await bothRun();
    for (const pid of pids(data).flat()) process.kill(pid, "SIGKILL");
    const address = addressOf(join(data, "run"), "tp-manager") ?? "";
    rmSync(address);
    const stranger = createServer((socket) => socket.resume().end("HTTP/1.1 418 no\r\n\r\n"));
    await new Promise<void>((resolve) => stranger.listen(address, resolve));
    const { code, out } = await checkout.launch("status", "--data", data);
    expect(code).toBe(69);
    expect(out).toMatch(/^tp-manager +stopped$/m);
    expect((await checkout.launch("stop", "--data", data)).code).toBe(0);
    expect(stranger.listening).toBe(true);
    await new Promise((resolve) => stranger.close(resolve));
  });

  alone("stop ends a program that hangs", async () => {
    await bothRun();
    const [[manager]] = pids(data) as [[number], [number]];
    process.kill(manager, "SIGSTOP");
    const status = await checkout.launch("status", "--data", data);
    expect(status.code).toBe(69);
    expect(status.out).toMatch(new RegExp(`^tp-manager +not answering +pid ${manager}:`, "m"));
    const { code, out } = await checkout.launch("stop", "--data", data);
    expect(code).toBe(0);
    expect(out).toMatch(/^tp-manager +killed +the program did not end by itself in time$/m);
    expect(pids(data)).toEqual([[], []]);
  });
});

test("a good start warns of what may be wrong in the setup file", async () => {
  const data = checkout.dataFolder("unlikely", `${completeConfig}LOCALPORT=1\n`);
  chmodSync(join(data, "config.txt"), 0o644);
  const { code, out } = await checkout.launch("--data", data);
  expect(code).toBe(0);
  expect(out.match(/^setup file +warning +(.*)$/gm)).toEqual([
    expect.stringContaining("line 12: LOCALPORT is not a known name, did you mean LOCAL_PORT?"),
    expect.stringContaining("holds passwords and can be read by others: chmod 600"),
  ]);
});

test("a faulty setup file ends with 78 and every fault once, and nothing runs", async () => {
  const data = checkout.dataFolder(
    "faulty",
    completeConfig.replace("LOCAL_PORT=8765", "LOCAL_PORT=x"),
  );
  const { code, out, err } = await checkout.launch("--data", data);
  expect(code).toBe(78);
  expect(out.match(/failed +exit code 78/g)).toHaveLength(2);
  expect(err).toContain(`${data}/config.txt has a fault:`);
  expect(err.match(/line 2: LOCAL_PORT must be a whole number.*\(found "x"\)/g)).toHaveLength(1);
  expect(pids(data)).toEqual([[], []]);
});

test("the first start with the example file lists as many faults as it counts", async () => {
  const example = readFileSync("data/config.example.txt", "utf8");
  const { err } = await checkout.launch("--data", checkout.dataFolder("example", example));
  const counts = err.split(/^(?=\S.* has \d+ faults:$)/m).map((part) => {
    const [said, again = 0] = [/ has (\d+) faults:$/m, /^ {2}and (\d+) of those above$/m].map(
      (form) => Number(form.exec(part)?.[1] ?? 0),
    );
    return [said, (part.match(/^ {2}(?!and \d+ of)/gm)?.length ?? 0) + again];
  });
  expect(counts).toEqual([
    [5, 5],
    [7, 7],
  ]);
});

test("when one program fails, its reason and code are printed, the other is stopped", async () => {
  const data = checkout.dataFolder("one-fails");
  writeFileSync(join(data, "supervisor.behaviour"), "refuse");
  const { code, out, err } = await checkout.launch("--data", data);
  expect(code).toBe(69);
  expect(out).toMatch(/^supervisor +failed +exit code 69$/m);
  expect(out).toMatch(/^tp-manager +stopped +because the start failed$/m);
  expect(err).toBe("ordered to refuse\nfor a second reason too\n");
  expect(pids(data)).toEqual([[], []]);
});

test("a program that takes its time to stop is announced and waited for", async () => {
  const data = checkout.dataFolder("slow");
  writeFileSync(join(data, "tp-manager.behaviour"), "slow-stop");
  await checkout.launch("--data", data);
  const { code, out } = await checkout.launch("stop", "--data", data);
  expect(code).toBe(0);
  expect(out).toMatch(/^tp-manager +is stopping/m);
  expect(out).toMatch(/^tp-manager +stopped$/m);
  expect(readFileSync(join(data, "logs/tp-manager.log"), "utf8")).toContain("has stopped");
});

test("a program that ends while start waits for its answer is started again", async () => {
  const data = checkout.dataFolder("ends");
  await checkout.launch("--data", data);
  const [[manager], [supervisor]] = pids(data) as [[number], [number]];
  process.kill(manager, "SIGSTOP");
  process.kill(supervisor, "SIGKILL");
  const starting = checkout.launch("--data", data);
  const isBack = () => checkout.running("supervisor", data).some((pid) => pid !== supervisor);
  await until("the other program", () => isBack() || undefined);
  const address = addressOf(join(data, "run"), "tp-manager") ?? "";
  await until("an unanswered question and the next one", () => queued(address) > 1 || undefined);
  process.kill(manager, "SIGKILL");
  const { code, out } = await starting;
  const [again] = checkout.running("tp-manager", data);
  expect(out).toContain(`tp-manager          started         pid ${again}`);
  expect(code).toBe(0);
  expect((await checkout.launch("stop", "--data", data)).code).toBe(0);
});

test("a program started by hand with a relative path is found and stopped", async () => {
  const data = checkout.dataFolder("by-hand");
  const script = relative(checkout.home, join(checkout.root, "src/supervisor/main.ts"));
  const runtime = join(checkout.root, "node_modules/.bin/node");
  const child = startProcess(runtime, [script, "--data", "by-hand"], {
    cwd: checkout.home,
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const started = await checkout.launch("--data", data);
  expect(started.code).toBe(0);
  expect(started.out).toContain(`supervisor          already running pid ${child.pid}`);
  expect((await checkout.launch("stop", "--data", data)).code).toBe(0);
  expect(await ended).toBe(0);
});

alone("starts from many shells at once end with one copy of each program", async () => {
  const data = checkout.dataFolder("at-once");
  const results = await Promise.all(
    Array.from({ length: AT_ONCE }, () => checkout.launch("--data", data)),
  );
  expect(results.map(({ code }) => code)).toEqual(Array(AT_ONCE).fill(0));
  expect(results.flatMap(({ out }) => out.match(/ started /g) ?? [])).toHaveLength(2);
  expect(pids(data).map((found) => found.length)).toEqual([1, 1]);
});

test("a start whose output nobody reads is still carried out", async () => {
  const data = checkout.dataFolder("unread");
  const child = startProcess(join(checkout.root, "launch.sh"), ["--data", data]);
  child.stdout.destroy();
  child.stderr.destroy();
  expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(0);
  expect(pids(data).map((found) => found.length)).toEqual([1, 1]);
});

test("wrong arguments are refused with 64 and the way to help", async () => {
  const { code, err } = await checkout.launch("frob");
  expect(code).toBe(64);
  expect(err).toContain("Try ./launch.sh --help.");
  for (const args of [["frob"], ["--frob"], ["start", "stop"], ["--demo", "--foreground"]]) {
    const message = expect.stringContaining("Try ./launch.sh --help.");
    expect(() => readArguments(args), args.join(" ")).toThrow(
      expect.objectContaining({ exitCode: 64, message }),
    );
  }
  expect(await checkout.launch("--help")).toMatchObject({ code: 0, err: "" });
});
