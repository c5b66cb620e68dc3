import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { acquireProcessLock } from "../../../src/shared/process/exclusive-lock.ts";
import { ProgramExit } from "../../../src/shared/process/exit-codes.ts";
import { sleep, systemClock } from "../../../src/shared/time.ts";
import { ownTimeOf } from "../../support/clocks/own-time.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { startChild, type TalkingChild } from "../talking-child.ts";

async function taker(folder: string): Promise<TalkingChild> {
  const child = startChild("process/lock-taker.ts", folder);
  expect(await child.nextLine()).toBe("ready");
  return child;
}

async function holder(folder: string): Promise<TalkingChild> {
  const child = await taker(folder);
  child.send("take");
  expect(await child.nextLine()).toBe("locked");
  return child;
}

test("a second process is refused with 75 while the first lives", async () => {
  const folder = temporaryFolder();
  await holder(folder);
  const second = await taker(folder);
  second.send("take");
  expect(await second.nextLine()).toBe("refused 75");
  expect(() => acquireProcessLock(folder, "tp-manager")).toThrow(
    new ProgramExit(75, "tp-manager is already running"),
  );
});

test("the other program and other folders have locks of their own", async () => {
  const folder = temporaryFolder();
  await holder(folder);
  acquireProcessLock(folder, "supervisor").release();
  acquireProcessLock(temporaryFolder(), "tp-manager").release();
});

test("a killed holder frees the lock at once, and the file it leaves is harmless", async () => {
  const folder = temporaryFolder();
  for (let round = 0; round < 3; round++) {
    const first = await holder(folder);
    first.kill("SIGKILL");
    await first.exited;
    expect(existsSync(join(folder, "tp-manager.lock"))).toBe(true);
    const tookMs = await ownTimeOf([], () => acquireProcessLock(folder, "tp-manager").release());
    expect(tookMs).toBeLessThan(450);
  }
});

test("a released lock can be taken while its former holder lives on", async () => {
  const folder = temporaryFolder();
  const first = await holder(folder);
  first.send("release");
  expect(await first.nextLine()).toBe("released");
  acquireProcessLock(folder, "tp-manager").release();
});

test("an empty file in place of the lock is harmless", () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "tp-manager.lock"), "");
  acquireProcessLock(folder, "tp-manager").release();
});

test("whatever a power cut has put in place of the lock, exactly one taker wins", async () => {
  const folder = temporaryFolder();
  const garbage = [Buffer.from("4711\n"), Buffer.alloc(8_192, 0xa5), Buffer.alloc(4_096)];
  const header = Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(600, 0xff)]);
  for (const content of [...garbage, header]) {
    writeFileSync(join(folder, "tp-manager.lock"), content);
    const children = await Promise.all(Array.from({ length: 5 }, () => taker(folder)));
    for (const child of children) child.send("take");
    const answers = await Promise.all(children.map((child) => child.nextLine()));
    expect(answers.toSorted()).toEqual(["locked", ...Array(4).fill("refused 75")]);
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map((child) => child.exited));
  }
});

test("a process that only checks the lock for a moment does not keep another one out", async () => {
  const folder = temporaryFolder();
  acquireProcessLock(folder, "tp-manager").release();
  const looking = new DatabaseSync(join(folder, "tp-manager.lock"));
  looking.exec("BEGIN; SELECT * FROM sqlite_master");
  const child = await taker(folder);
  child.send("take");
  // During this moment; a process that comes later finds the lock free anyway.
  await sleep(systemClock, "look", 100);
  looking.close();
  expect(await child.nextLine()).toBe("locked");
});

test("of twenty processes that try at the same moment exactly one wins", async () => {
  const folder = temporaryFolder();
  const children = await Promise.all(Array.from({ length: 20 }, () => taker(folder)));
  for (const child of children) child.send("take");
  const answers = await Promise.all(children.map((child) => child.nextLine()));
  expect(answers.toSorted()).toEqual(["locked", ...Array.from({ length: 19 }, () => "refused 75")]);
});
