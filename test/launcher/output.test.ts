import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { duration, fitted, forThisSystem, wrap } from "../../src/launcher/output.ts";
import { completeConfig, TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

let checkout: TemporaryCheckout;
beforeAll(() => {
  checkout = new TemporaryCheckout();
});
afterAll(() => checkout.remove());

/** What a command prints to a terminal of 80 columns. */
function onTerminal(args: string[], env: Record<string, string>): Promise<string> {
  return new Promise((resolve) => {
    const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
    const terminal = spawn(join(checkout.root, "launch.sh"), args, {
      cols: 80,
      env: { PATH, NODE_COMPILE_CACHE, TERM: "xterm", ...env },
    });
    let text = "";
    terminal.onData((chunk) => {
      text += chunk;
    });
    terminal.onExit(() => resolve(text));
  });
}

test("a terminal gets colours, unless its type or the operator refuses them", async () => {
  const red = "\u001b[31mstopped\u001b[0m";
  const status = ["status", "--data", checkout.dataFolder("stopped")];
  expect(await onTerminal(status, {})).toContain(`tp-manager          ${red}`);
  expect(await onTerminal(status, { NO_COLOR: "1" })).not.toContain("\u001b[");
  expect(await onTerminal(status, { TERM: "dumb" })).not.toContain("\u001b[");
});

test("durations are printed in units that people use", () => {
  const minute = 60_000;
  const hour = 60 * minute;
  expect(
    [0, 59_999, minute, 59 * minute, hour, 3 * hour + 5 * minute, 52 * hour].map(duration),
  ).toEqual(["0 s", "59 s", "1 min", "59 min", "1 h 00 min", "3 h 05 min", "2 d 4 h"]);
});

test("texts name the launcher of the system that they are printed on", () => {
  const text = "see ./launch.sh doctor, ./always-up.sh --install";
  expect(forThisSystem(text, "win32")).toBe("see launch.cmd doctor, always-up.cmd --install");
  expect(forThisSystem(text, "linux")).toBe(text);
  process.env["CONNECTOR_COMMAND"] = "sudo terminal-connector";
  onTestFinished(() => void delete process.env["CONNECTOR_COMMAND"]);
  expect(forThisSystem(text, "linux")).toContain("see sudo terminal-connector doctor,");
});

test("a text is broken at its spaces, and a long word stays whole", () => {
  expect(wrap("one two three", 80, 0, 0)).toBe("one two three");
  expect(wrap("one two three", 12, 4, 2)).toBe("one two\n  three");
  expect(wrap("see /a/very/long/path/to/a/file now", 12, 0, 2)).toBe(
    "see\n  /a/very/long/path/to/a/file\n  now",
  );
  expect(wrap("", 10, 0, 0)).toBe("");
});

test("an entry keeps its two columns, and a text that goes on below is joined", () => {
  const entry = "  --from DAY         puts the copy of that";
  const text = `${entry}\n                     day back\nA sentence that is longer.`;
  expect(fitted(text, 45)).toEqual([
    "  --from DAY         puts the copy of that\n                     day back",
    "A sentence that is longer.",
  ]);
  expect(fitted(text, 34)[0]?.split("\n")).toEqual([
    "  --from DAY         puts the copy",
    "    of that day back",
  ]);
  expect(fitted("  indented words", 12)).toEqual(["  indented\n    words"]);
});

test("on a terminal of 80 columns no line is wider, whatever the command", async () => {
  const data = checkout.dataFolder("data", `${completeConfig}LOCALPORT=1\n`);
  const printed = [];
  for (const args of [["--help"], ["start"], ["status"], ["doctor"], ["stop"], ["status"]]) {
    const given = [...args, "--data", data];
    printed.push(...(await onTerminal(given, { NO_COLOR: "1" })).split("\r\n"));
  }
  expect(printed.length).toBeGreaterThan(30);
  // Paths are never broken; these are as long as the temporary folder's.
  const paths = [checkout.root, checkout.home];
  const hasPath = (line: string): boolean => paths.some((path) => line.includes(path));
  const wide = printed.filter((line) => line.length > 80 && !hasPath(line));
  expect(wide).toEqual([]);
  expect(printed).toContain(
    "setup file          warning         line 12: LOCALPORT is not a known name, did",
  );
  expect(checkout.running("tp-manager", data)).toEqual([]);
});
