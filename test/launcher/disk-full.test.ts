import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../support/programs/installation.ts";
import { isWhole } from "../support/run/scope.ts";
import { completeConfig, TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

// Real processes on a machine that others use too.
/** A small disk of its own under a data folder of the real programs; needs root. */
let checkout: TemporaryCheckout;
let data: string;
let mounted = false;
beforeAll(async () => {
  checkout = new TemporaryCheckout("bundled");
  data = join(checkout.home, "small disk");
  mkdirSync(data);
  const mount = ["-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", data];
  mounted = process.getuid?.() === 0 && spawnSync("mount", mount).status === 0;
  const config = completeConfig.replace("LOCAL_PORT=8765", `LOCAL_PORT=${await freePort()}`);
  writeFileSync(join(data, "config.txt"), config, { mode: 0o600 });
});
afterAll(async () => {
  if (mounted) {
    await checkout.launch("stop", "--data", data);
    execFileSync("umount", ["--lazy", data]);
  }
  checkout.remove();
});

const pids = () => ["tp-manager", "supervisor"].map((name) => checkout.running(name, data));

function fill(): void {
  const file = openSync(join(data, "filler"), "w");
  try {
    for (let bytes = 1024 * 1024; bytes >= 1; ) {
      try {
        writeSync(file, Buffer.alloc(bytes));
      } catch {
        bytes /= 2;
      }
    }
  } finally {
    closeSync(file);
  }
}

test("on a full disk running programs go on, and dead ones start once there is room", async ({
  skip,
}) => {
  if (!mounted) skip("only root can mount a small disk");
  expect(await checkout.launch("--data", data)).toMatchObject({ code: 0 });
  const before = pids();
  fill();
  const answered = await checkout.launch("status", "--data", data);
  expect([answered.code, answered.out]).toEqual([
    69,
    expect.stringContaining("is full: make room"),
  ]);
  const copied = await checkout.launch("backup", "--data", data);
  expect([copied.code, copied.err]).toEqual([
    69,
    expect.stringMatching(/no copy was made in .*: (the disk is full|\d+ MB are needed)/),
  ]);
  expect(await checkout.alwaysUp("--data", data)).toEqual({ code: 0, out: "", err: "" });
  expect(pids()).toEqual(before);
  for (const pid of before.flat()) process.kill(pid, "SIGKILL");
  for (let round = 0; round < (isWhole ? 2 : 1); round++) {
    const { code, out, err } = await checkout.alwaysUp("--data", data);
    expect(code).toBe(69);
    expect(out).toMatch(/tp-manager was not running; its launch failed with code 69/);
    expect(out).toContain(`the disk of ${data} is full: make room`);
    expect(out + err).not.toMatch(/^ +at /m);
    expect(pids()).toEqual([[], []]);
  }
  const start = await checkout.launch("--data", data);
  expect(start.code).toBe(69);
  expect(start.err).toContain(`the disk of ${data} is full: make room`);
  expect(start.err).not.toMatch(/^ +at /m);
  rmSync(join(data, "filler"));
  expect((await checkout.alwaysUp("--data", data)).code).toBe(0);
  expect(pids().map((found) => found.length)).toEqual([1, 1]);
  fill();
  expect((await checkout.launch("stop", "--data", data)).code).toBe(0);
  expect(await checkout.alwaysUp("--data", data)).toEqual({ code: 0, out: "", err: "" });
  expect(pids()).toEqual([[], []]);
  expect((await checkout.launch("status", "--data", data)).out).toMatch(
    /operator stopped the programs at \d{4}-/,
  );
});
