import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { presentProcesses } from "../../../src/shared/process/presence.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { startChild, type TalkingChild } from "../talking-child.ts";

async function announcer(base: string): Promise<TalkingChild> {
  const child = startChild("process/presence-announcer.ts", base);
  expect(await child.nextLine()).toBe("announced");
  return child;
}

test("a process is present from its announcement to its end, however it ends", async () => {
  const base = join(temporaryFolder(), "supervisor");
  expect(presentProcesses(base)).toEqual([]);
  const [first, second] = await Promise.all([announcer(base), announcer(base)]);
  expect(presentProcesses(base).sort()).toEqual([first.pid, second.pid].sort());
  first.kill("SIGKILL");
  await first.exited;
  expect(presentProcesses(base)).toEqual([second.pid]);
  second.kill("SIGSTOP");
  expect(presentProcesses(base)).toEqual([second.pid]);
});

test("a pid that a dead process left is not believed, even when another has it now", () => {
  const folder = temporaryFolder();
  const base = join(folder, "supervisor");
  writeFileSync(`${base}.${process.pid}.alive`, "");
  writeFileSync(`${base}.4194305.alive`, "");
  expect(presentProcesses(base)).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
});

test("processes of another name or another folder are not mixed up", async () => {
  const folder = temporaryFolder();
  const child = await announcer(join(folder, "supervisor"));
  expect(presentProcesses(join(folder, "super"))).toEqual([]);
  expect(presentProcesses(join(folder, "supervisor.log"))).toEqual([]);
  expect(presentProcesses(join(temporaryFolder(), "supervisor"))).toEqual([]);
  expect(presentProcesses(join(folder, "missing", "supervisor"))).toEqual([]);
  expect(presentProcesses(join(folder, "supervisor"))).toEqual([child.pid]);
});

test("many checks at once never make a living process seem dead", async () => {
  const base = join(temporaryFolder(), "supervisor");
  const child = startChild("process/presence-announcer.ts", base);
  const announced = child.nextLine();
  let there = false;
  void announced.then(() => {
    there = true;
  });
  for (let checks = 0; checks < 200; checks += there ? 1 : 0) {
    const before = there;
    const found = presentProcesses(base);
    if (before) expect(found).toEqual([child.pid]);
    await new Promise(setImmediate);
  }
  await announced;
  expect(presentProcesses(base)).toEqual([child.pid]);
});
