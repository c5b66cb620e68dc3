import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { TestInstallation } from "../support/programs/installation.ts";
import { MockTerminal, type Plan, python } from "./programs.ts";
import { context, terminalCases, timers } from "./terminal-python-cases.ts";

/**
 * Two repeats, T2 apart, are over before T3 and T4 are. A terminal that another program keeps from
 * the processor for a second is not taken for a silent one: only `mute` costs the time of T2.
 */
const slow = { ZVT_T2_MS: 2_500, ZVT_T3_MS: 10_000, ZVT_T4_MS: 10_000 };

const possible = python && process.platform === "linux";

describe.skipIf(!possible)("tp-manager and a terminal in Python on a pty", () =>
  terminalCases("pty"),
);

describe.skipIf(!possible)("a driver on a bad line", () => {
  test("repeats a refused frame, and gets a malformed frame repeated", async () => {
    const link = join(temporaryFolder(), "python");
    const mock = await MockTerminal.start("--pty", link);
    const at = new TestInstallation({
      line: "own",
      alone: true,
      config: { ...timers, ...slow, SERIAL_PORT: link },
    });
    onTestFinished(async () => {
      await at.stop();
      await mock.stop();
    });
    await at.start();
    await at.connected();
    const faults: readonly NonNullable<Plan["fault"]>[] = [
      { nak: 2 },
      { mute: 1 },
      { corrupt: 2 },
      { nak: 1, corrupt: 1 },
    ];
    for (const [i, fault] of faults.entries()) {
      mock.plan({ fault });
      const { one } = await at.pay(1, `bad-line-${i}`);
      expect([fault, one.status], context(mock)).toEqual([fault, "Success"]);
    }
    expect(Object.values(await mock.books())).toEqual([100, 100, 100, 100]);
    expect(mock.problems, context(mock)).toEqual([]);
    expect(mock.count("0601")).toBe(4);
  });
});
