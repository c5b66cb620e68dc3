import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { afterAll, beforeAll, expect, test } from "vitest";
import { duration, forThisSystem } from "../../src/launcher/output.ts";
import { TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

let checkout: TemporaryCheckout;
beforeAll(() => {
  checkout = new TemporaryCheckout();
});
afterAll(() => checkout.remove());

/** What `status` of a stopped installation prints to a terminal. */
function statusOnTerminal(env: Record<string, string>): Promise<string> {
  return new Promise((resolve) => {
    const { PATH = "" } = process.env;
    const terminal = spawn(join(checkout.root, "launch.sh"), ["status"], {
      env: { PATH, TERM: "xterm", ...env },
    });
    let text = "";
    terminal.onData((chunk) => {
      text += chunk;
    });
    terminal.onExit(() => resolve(text));
  });
}

test("a terminal gets colours, unless it or the operator does not want them", async () => {
  const red = "\u001b[31mstopped\u001b[0m";
  expect(await statusOnTerminal({})).toContain(`tp-manager          ${red}`);
  expect(await statusOnTerminal({ NO_COLOR: "1" })).not.toContain("\u001b[");
  expect(await statusOnTerminal({ TERM: "dumb" })).not.toContain("\u001b[");
});

test("durations are told as people tell them", () => {
  const minute = 60_000;
  const hour = 60 * minute;
  expect(
    [0, 59_999, minute, 59 * minute, hour, 3 * hour + 5 * minute, 52 * hour].map(duration),
  ).toEqual(["0 s", "59 s", "1 min", "59 min", "1 h 00 min", "3 h 05 min", "2 d 4 h"]);
});

test("people are told the name of the launcher that their system has", () => {
  const text = "see ./launch.sh doctor, ./always-up.sh --install";
  expect(forThisSystem(text, "win32")).toBe("see launch.cmd doctor, always-up.cmd --install");
  expect(forThisSystem(text, "linux")).toBe(text);
});
