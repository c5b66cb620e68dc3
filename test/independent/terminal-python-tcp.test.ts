import { describe, expect, onTestFinished, test } from "vitest";
import { MockTerminal, python, runRegister } from "./programs.ts";
import { terminalCases } from "./terminal-python-cases.ts";

describe.skipIf(!python)("tp-manager and a terminal in Python on tcp", () => terminalCases("tcp"));

describe.skipIf(!python)("a terminal in Python notices", () => {
  test.each([
    ["registration:C1", "reserved bits in the config byte C1"],
    ["pay-short:700", "0601 lacks 0102"],
    ["unknown", "067F is no command this terminal knows of"],
    ["pay:0", "amount 0"],
    ["reversal:0:100", "receipt number 0"],
  ])("a register that says %s", async (step, problem) => {
    const mock = await MockTerminal.start("--tcp", "0");
    onTestFinished(() => mock.stop());
    await runRegister(["--tcp", `127.0.0.1:${mock.at}`], [step]);
    await mock.books();
    expect(mock.problems).toContain(problem);
  });
});
