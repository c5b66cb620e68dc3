import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { setupText } from "../config/setup-text.ts";
import { startChild, startColdChild, type TalkingChild } from "../talking-child.ts";

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly startedAfter?: string;
  readonly err?: { readonly message: string };
}

/** A data folder with a setup file, and the program that runs on it. */
function install(behaviour = "", setup = setupText()) {
  const data = join(temporaryFolder(), "data");
  mkdirSync(data);
  writeFileSync(join(data, "config.txt"), setup, { mode: 0o600 });
  writeFileSync(join(data, "behaviour"), behaviour);
  return {
    data,
    start: (...parameters: string[]) =>
      startChild("program/lifecycle-program.ts", "--data", data, ...parameters),
    log: (): LogLine[] =>
      readFileSync(join(data, "logs", "tp-manager.log"), "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as LogLine),
  };
}

async function started(program: TalkingChild): Promise<TalkingChild> {
  expect(await program.nextLine()).toBe("started");
  return program;
}

async function lines(program: TalkingChild, count: number): Promise<string[]> {
  const read: string[] = [];
  while (read.length < count) read.push(await program.nextLine());
  return read;
}

const closedInOrder = ["closed third", "closed late part", "closed second", "closed first"];

describe("an ordered stop", () => {
  test.each(["SIGTERM", "SIGINT"] as const)(
    "on %s closes last first and ends with 0",
    async (by) => {
      const { start, log } = install();
      const program = await started(start());
      program.kill(by);
      expect(await lines(program, 4)).toEqual(closedInOrder);
      expect(await program.exited).toEqual({ code: 0, signal: null });
      expect(program.stderr()).toBe("");
      expect(log().map(({ msg }) => msg)).toEqual([
        "tp-manager is ready",
        `stopping: ${by}`,
        "tp-manager has stopped",
      ]);
    },
  );

  test("on a message, asked twice, happens once", async () => {
    const { start, log } = install();
    const program = await started(start());
    program.send("stop");
    program.send("stop");
    program.kill("SIGTERM");
    expect((await program.exited).code).toBe(0);
    expect(log().filter(({ msg }) => msg.startsWith("stopping")).length).toBe(1);
  });

  test("frees the lock, and the next start knows whether there was one", async () => {
    const { start, log } = install();
    for (const by of ["SIGKILL", "SIGTERM", "SIGTERM"] as const) {
      const program = await started(start());
      program.kill(by);
      expect((await program.exited).code).toBe(by === "SIGTERM" ? 0 : null);
    }
    const ready = log().filter(({ msg }) => msg.endsWith("is ready"));
    expect(ready.map((line) => line.startedAfter).slice(-2)).toEqual(["died", "stop"]);
  });

  test("closes the others when one part fails, and ends with 70", async () => {
    const { start, log } = install("bad close");
    const program = await started(start());
    program.kill("SIGTERM");
    expect(await lines(program, 3)).toEqual(closedInOrder.filter((line) => !/second/.test(line)));
    expect((await program.exited).code).toBe(70);
    expect(program.stderr()).toContain("failed to close second");
    expect(log().find(({ level }) => level === "error")).toMatchObject({
      msg: "a part of the program failed to close: second",
      err: { message: "cannot be closed" },
    });
  });

  test("is cut at its deadline when a part never closes", async () => {
    const { start, log } = install("sticky close");
    const program = await started(start());
    program.kill("SIGTERM");
    expect((await program.exited).code).toBe(70);
    expect(log().at(-1)).toMatchObject({
      level: "error",
      msg: "the program has not stopped within 400 ms and is ended now",
    });
  });

  test("is cut at its deadline when the start never ends", async () => {
    const { start, log } = install("endless start");
    const program = await started(start());
    program.kill("SIGTERM");
    expect((await program.exited).code).toBe(70);
    expect(log().map(({ msg }) => msg)).not.toContain("tp-manager is ready");
  });
});

test("SIGHUP is ignored: closing a window does not stop the program", async () => {
  const { start, log } = install();
  const program = await started(start());
  program.kill("SIGHUP");
  program.send("still there");
  expect(await program.nextLine()).toBe("obeyed still there");
  program.kill("SIGTERM");
  expect((await program.exited).code).toBe(0);
  expect(log().some(({ msg }) => msg.startsWith("SIGHUP was ignored"))).toBe(true);
});

test("a reader of the foreground output that goes away does not stop the program", async () => {
  const { start, log } = install();
  const program = await started(start("--foreground"));
  program.closeOutput();
  program.kill("SIGHUP");
  program.send("after the reader left");
  program.kill("SIGTERM");
  expect((await program.exited).code).toBe(0);
  expect(log().at(-1)?.msg).toBe("tp-manager has stopped");
});

describe("a configuration fault ends with 78", () => {
  test("with every reason on standard error and in the log, and without secrets", async () => {
    const setup = setupText({ LOCAL_PORT: "0", UPDATE_TIME: "noon", TERMINAL_PASSWORD: "hunter2" });
    const { start, log } = install("", setup);
    const program = start();
    expect((await program.exited).code).toBe(78);
    const [line] = log();
    expect(line?.level).toBe("fatal");
    for (const text of [program.stderr(), line?.msg ?? ""]) {
      expect(text).toMatch(/has 3 faults:\n {2}line 2: LOCAL_PORT .*\n {2}line 11: UPDATE_TIME /);
      expect(text).toContain("line 12: TERMINAL_PASSWORD must be six digits");
      expect(text).not.toContain("hunter2");
    }
  });

  test("when there is no setup file", async () => {
    const program = startChild(
      "program/lifecycle-program.ts",
      "--data",
      join(temporaryFolder(), "new"),
    );
    expect((await program.exited).code).toBe(78);
    expect(program.stderr()).toContain("copy data/config.example.txt to data/config.txt");
  });
});

test("a second instance ends with 75 and leaves the first alone, which a kill ends", async () => {
  const { data, start } = install();
  const cache = join(data, "compile-cache");
  const first = await started(
    startColdChild(cache, "program/lifecycle-program.ts", "--data", data),
  );
  const second = start();
  expect((await second.exited).code).toBe(75);
  expect(second.stderr()).toBe("tp-manager: tp-manager is already running\n");
  first.send("hello");
  expect(await first.nextLine()).toBe("obeyed hello");
  expect(statSync(join(data, "run")).mode & 0o777).toBe(0o700);
  first.kill("SIGKILL");
  expect((await first.exited).signal).toBe("SIGKILL");
  // Written when the program was ready: a kiosk that loses power has no ordered end.
  const compiled = readdirSync(cache, { recursive: true, withFileTypes: true });
  expect(compiled.filter((entry) => entry.isFile()).length).toBeGreaterThan(10);
});

describe("an unexpected error ends with 70 and is in the log", () => {
  test.each([
    ["throw", "thrown on purpose"],
    ["reject", "rejected on purpose"],
  ])("when the program has started: %s", async (line, message) => {
    const { start, log } = install();
    const program = await started(start());
    program.send(line);
    expect((await program.exited).code).toBe(70);
    expect(program.stderr()).toContain(message);
    expect(log().at(-1)).toMatchObject({
      level: "fatal",
      msg: "stopped by a fault",
      err: { message },
    });
  });

  test("also when what was thrown is no error", async () => {
    const { start, log } = install();
    const program = await started(start());
    program.send("reject-text");
    expect((await program.exited).code).toBe(70);
    expect(program.stderr()).toContain("only a text");
    expect(log().at(-1)).toMatchObject({ level: "fatal", err: "only a text" });
  });

  test("when it happens in the start", async () => {
    const { start, log } = install("bad start");
    const program = start();
    expect((await program.exited).code).toBe(70);
    expect(log().at(-1)).toMatchObject({ level: "fatal", err: { message: "cannot start" } });
  });
});

test("a start that names its own exit code ends with it", async () => {
  const program = install("no service").start();
  expect((await program.exited).code).toBe(69);
  expect(program.stderr()).toBe("tp-manager: port is taken\n");
});

test.each([["--dta", "x"], ["positional"], ["--data"], ["--foreground=yes"]])(
  "bad arguments %s end with 64 and the usage",
  async (...parameters) => {
    const program = startChild("program/lifecycle-program.ts", ...parameters);
    expect((await program.exited).code).toBe(64);
    expect(program.stderr()).toContain("usage: tp-manager [--data DIR] [--foreground | --check]");
  },
);
