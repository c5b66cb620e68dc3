import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  addressOf,
  claimAddress,
  ipcToken,
  openRunDirectory,
} from "../../../src/shared/ipc/run-directory.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { startChild } from "../talking-child.ts";

const mode = (path: string): number => statSync(path).mode & 0o777;

function longRunDirectory(): string {
  const data = join(temporaryFolder(), "d".repeat(120));
  return openRunDirectory(data);
}

function claimLong(run: string): string {
  const address = claimAddress(run, "supervisor");
  onTestFinished(() => rmSync(dirname(address), { recursive: true, force: true }));
  return address;
}

test("the run directory, the token and the address can be read by the owner only", () => {
  const data = temporaryFolder();
  mkdirSync(join(data, "run"), { mode: 0o777 });
  chmodSync(join(data, "run"), 0o777);
  const run = openRunDirectory(data);
  claimAddress(run, "supervisor");
  ipcToken(run);
  expect(mode(run)).toBe(0o700);
  expect(readdirSync(run).toSorted()).toEqual(["supervisor.address", "token"]);
  for (const name of readdirSync(run)) expect(mode(join(run, name)), name).toBe(0o600);
});

test("the token is long, stays the same, and differs between installations", () => {
  const run = openRunDirectory(temporaryFolder());
  const token = ipcToken(run);
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect(ipcToken(run)).toBe(token);
  expect(ipcToken(openRunDirectory(temporaryFolder()))).not.toBe(token);
});

test("ten processes that race for the first token all read the same one, never half", async () => {
  const run = openRunDirectory(temporaryFolder());
  const children = Array.from({ length: 10 }, () => startChild("ipc/token-taker.ts", run));
  for (const child of children) expect(await child.nextLine()).toBe("ready");
  for (const child of children) child.send("read");
  const tokens = new Set(await Promise.all(children.map((child) => child.nextLine())));
  expect([...tokens]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
  expect(readdirSync(run)).toEqual(["token"]);
});

test.each(["", "half", "0".repeat(63), "g".repeat(64), `${"0".repeat(64)}\n`])(
  "a damaged token %j is replaced: an empty one would let everybody in",
  (damaged) => {
    const run = openRunDirectory(temporaryFolder());
    writeFileSync(join(run, "token"), damaged);
    const token = ipcToken(run);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(ipcToken(run)).toBe(token);
    expect(mode(join(run, "token"))).toBe(0o600);
  },
);

test("a program's address is unknown before its first start, and when its record is empty", () => {
  const run = openRunDirectory(temporaryFolder());
  expect(addressOf(run, "supervisor")).toBeUndefined();
  writeFileSync(join(run, "supervisor.address"), "");
  expect(addressOf(run, "supervisor")).toBeUndefined();
  expect(claimAddress(run, "supervisor")).toBe(join(run, "supervisor.sock"));
  expect(addressOf(run, "supervisor")).toBe(join(run, "supervisor.sock"));
  expect(addressOf(run, "tp-manager")).toBeUndefined();
});

test("a long data path leads to a short folder of the owner, which is used again", () => {
  const run = longRunDirectory();
  const address = claimLong(run);
  expect(Buffer.byteLength(address)).toBeLessThanOrEqual(100);
  expect(mode(dirname(address))).toBe(0o700);
  expect(claimLong(run)).toBe(address);
  expect(addressOf(run, "supervisor")).toBe(address);
});

test("a short folder that others can write to, or that is a link, is not trusted again", () => {
  const run = longRunDirectory();
  const opened = claimLong(run);
  chmodSync(dirname(opened), 0o770);
  const second = claimLong(run);
  expect(second).not.toBe(opened);
  rmSync(dirname(second), { recursive: true });
  symlinkSync(dirname(opened), dirname(second));
  expect(claimLong(run)).not.toBe(second);
});

test("a temporary folder with a long name of its own is passed over", () => {
  const before = process.env["TMPDIR"];
  onTestFinished(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
  const run = longRunDirectory();
  process.env["TMPDIR"] = join(temporaryFolder(), "t".repeat(100));
  mkdirSync(process.env["TMPDIR"]);
  expect(Buffer.byteLength(claimLong(run))).toBeLessThanOrEqual(100);
});

test("a socket left by a dead process is removed, anything else in its place is not", async () => {
  const run = openRunDirectory(temporaryFolder());
  const path = join(run, "supervisor.sock");
  const child = startChild("ipc/test-server.ts", dirname(run));
  expect(await child.nextLine()).toBe("listening");
  child.kill("SIGKILL");
  await child.exited;
  expect(statSync(path).isSocket()).toBe(true);
  claimAddress(run, "supervisor");
  expect(existsSync(path)).toBe(false);

  writeFileSync(path, "another's file");
  expect(() => claimAddress(run, "supervisor")).toThrow(
    `${path} is in the place of a program's socket: delete it`,
  );
  expect(readFileSync(path, "utf8")).toBe("another's file");
});

test("the longest address that is chosen can really be listened at", async () => {
  const base = temporaryFolder();
  const fill = 100 - Buffer.byteLength(join(base, "d", "run", "supervisor.sock"));
  const address = claimAddress(openRunDirectory(join(base, "d".repeat(1 + fill))), "supervisor");
  expect(Buffer.byteLength(address)).toBe(100);
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(address, resolve));
  expect(statSync(address).isSocket()).toBe(true);
  await new Promise((resolve) => server.close(resolve));
});
