import { renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { probe } from "../../../src/launcher/processes/probe.ts";
import { createIpcClient } from "../../../src/shared/ipc/client.ts";
import { supervisorMessages } from "../../../src/shared/ipc/contract.ts";
import {
  addressOf,
  claimAddress,
  ipcToken,
  openRunDirectory,
} from "../../../src/shared/ipc/run-directory.ts";
import { takeExclusiveLock } from "../../../src/shared/process/exclusive-lock.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { PATIENCE_MS } from "../../support/clocks/patience.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

/**
 * Windows, as far as addresses go: what is a pipe there is here a socket in the working folder,
 * whose name has backslashes.
 */
beforeEach(() => {
  const [platform, folder] = [process.platform, process.cwd()];
  Object.defineProperty(process, "platform", { value: "win32" });
  process.chdir(temporaryFolder());
  onTestFinished(() => {
    Object.defineProperty(process, "platform", { value: platform });
    process.chdir(folder);
  });
});

const OLD_NAME = "\\\\.\\pipe\\unattended-terminal-connector-0123456789abcdef-supervisor";

function installation() {
  const run = openRunDirectory(temporaryFolder());
  const token = ipcToken(run);
  const base = join(run, "supervisor");
  return {
    run,
    token,
    aliveFile: (pid = process.pid) => `${base}.${pid}.alive`,
    /** What a living supervisor holds; answers how it dies. */
    live: (pid = process.pid): (() => void) => {
      const lock = takeExclusiveLock(`${base}.${pid}.alive`, 0);
      return () => lock?.release();
    },
    announce: (address: string) => writeFileSync(`${base}.address`, address, { mode: 0o600 }),
  };
}

/** A listener that answers every message well; returns what it received. */
async function listenAt(address: string): Promise<string[]> {
  const heard: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      heard.push(bytes.toString("latin1"));
      socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}");
    });
  });
  await new Promise<void>((resolve) => void server.listen(address, resolve));
  onTestFinished(() => void server.close());
  return heard;
}

async function failureOf(run: string): Promise<string> {
  const client = createIpcClient(run, "supervisor", supervisorMessages, systemClock);
  onTestFinished(() => client.close());
  return await client.call("status", {}, PATIENCE_MS).then(
    () => "answered",
    (error: { failure: string }) => error.failure,
  );
}

test("a pipe has another name at each start, written in a file of the owner", () => {
  const { run } = installation();
  const names = [1, 2, 3].map(() => claimAddress(run, "supervisor"));
  expect(new Set(names).size).toBe(3);
  for (const name of names) {
    expect(name).toMatch(
      /^\\\\\.\\pipe\\unattended-terminal-connector-supervisor-\d+-[0-9a-f]{32}$/,
    );
  }
  expect(addressOf(run, "supervisor")).toBe(names[2]);
  expect(statSync(join(run, "supervisor.address")).mode & 0o777).toBe(0o600);
});

test("a living program's pipe gets messages, with the token", async () => {
  const { run, token, live } = installation();
  onTestFinished(live());
  const heard = await listenAt(claimAddress(run, "supervisor"));
  expect(await failureOf(run)).toBe("refused"); // the answer was heard, and is no status
  expect(await probe(run, "supervisor", PATIENCE_MS)).toBe("answers");
  expect(heard).toHaveLength(2);
  for (const one of heard) expect(one).toContain(token);
});

test("a foreign process at a killed program's pipe gets nothing and is not believed", async () => {
  const { run, live } = installation();
  const die = live();
  const heard = await listenAt(claimAddress(run, "supervisor"));
  die();
  expect(await failureOf(run)).toBe("unreachable");
  expect(await probe(run, "supervisor", PATIENCE_MS)).toBe("unreachable");
  expect(heard).toEqual([]);
});

test("a client that knew the killed program finds the next one and no other process", async () => {
  const { run, live } = installation();
  const die = live();
  const first = claimAddress(run, "supervisor");
  const client = createIpcClient(run, "supervisor", supervisorMessages, systemClock);
  onTestFinished(() => client.close());
  const ask = () => client.call("status", {}, PATIENCE_MS);
  const heardFirst = await listenAt(first);
  await expect(ask()).rejects.toMatchObject({ failure: "refused" });
  die();
  // The next one has another pid: here that of the process above, which lives.
  onTestFinished(live(process.ppid));
  const next = claimAddress(run, "supervisor").replace(`-${process.pid}-`, `-${process.ppid}-`);
  writeFileSync(join(run, "supervisor.address"), next);
  const heardNext = await listenAt(next);
  await expect(ask()).rejects.toMatchObject({ failure: "refused" });
  expect([heardFirst.length, heardNext.length]).toEqual([1, 1]);
});

test("a pid that another program has by now makes nobody the owner of the pipe", async () => {
  const { run, aliveFile } = installation();
  const heard = await listenAt(claimAddress(run, "supervisor"));
  writeFileSync(aliveFile(), "");
  expect(await failureOf(run)).toBe("unreachable");
  expect(heard).toEqual([]);
});

test("another process that checks a dead program's file does not make it live", async () => {
  const { run, live, announce } = installation();
  const dead = 4_194_305; // above every pid
  onTestFinished(live(dead));
  const name = claimAddress(run, "supervisor").replace(`-${process.pid}-`, `-${dead}-`);
  announce(name);
  const heard = await listenAt(name);
  expect(await failureOf(run)).toBe("unreachable");
  expect(heard).toEqual([]);
});

test("the fixed name of an older version that runs as well gets messages", async () => {
  const { run, live, announce } = installation();
  onTestFinished(live());
  announce(OLD_NAME);
  const heard = await listenAt(OLD_NAME);
  expect(await failureOf(run)).toBe("refused");
  expect(await probe(run, "supervisor", PATIENCE_MS)).toBe("answers");
  expect(heard).toHaveLength(2);
});

test.each(["no program runs", "a program starts and has written no address yet"])(
  "a squatter on the old fixed name gets no message while %s",
  async (what) => {
    const { run, live, announce } = installation();
    announce(OLD_NAME);
    const heard = await listenAt(OLD_NAME);
    const minuteAgo = systemClock.now() / 1_000 - 60;
    utimesSync(join(run, "supervisor.address"), minuteAgo, minuteAgo);
    if (what.startsWith("a program")) onTestFinished(live());
    expect(await failureOf(run)).toBe("unreachable");
    expect(await probe(run, "supervisor", PATIENCE_MS)).toBe("unreachable");
    expect(heard).toEqual([]);
  },
);

test("a squatter gets no message when the address file is missing, empty or moved", async () => {
  const { run, live, announce } = installation();
  onTestFinished(live());
  const heard = await listenAt(OLD_NAME);
  expect(await failureOf(run)).toBe("unreachable");
  announce("");
  expect(await failureOf(run)).toBe("unreachable");
  announce(OLD_NAME);
  renameSync(join(run, "supervisor.address"), join(run, "elsewhere"));
  expect(await failureOf(run)).toBe("unreachable");
  expect(heard).toEqual([]);
});
