import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { started } from "../simulator/terminal/support/started.ts";
import { linesOr } from "../support/run/scope.ts";
import { mono, runProgram } from "./programs.ts";

/** A third reading of the protocol, in a language that many registers are written in. */
const steps = ["register", "status", "pay:1200", "pay:9900", "reverse", "pay:505", "end-of-day"];

describe.skipIf(!mono)("a register in C# (Mono)", () => {
  const folder = mkdtempSync(join(tmpdir(), "utc-csharp-"));
  const program = join(folder, "Register.exe");

  beforeAll(() => mono?.compile("Register.cs", program), 60_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(linesOr("pty"))("pays, reverses and closes the day over %s", async (transport) => {
    const { simulator, register } = await started(transport);
    await register.close();
    const tcp = ["tcp", "127.0.0.1", String(simulator.endpoints.tcp?.port)];
    const where = transport === "tcp" ? tcp : ["serial", String(simulator.endpoints.pty)];
    const output = await runProgram("mono", [program, ...where, ...steps]);
    expect(output.trim().split("\n")).toEqual([
      "register: 060F",
      "status: 060F",
      "pay:1200: 060F receipt 1",
      "pay:9900: 060F receipt 2",
      "reverse: 060F",
      "pay:505: 061E",
      "end-of-day: 060F",
    ]);
    expect(simulator.ledger.charged).toBe(1200);
  });
});
