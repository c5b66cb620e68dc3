import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { started } from "../simulator/terminal/support/started.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { linesOr } from "../support/run/scope.ts";
import { python, runRegister, type Step } from "./programs.ts";

/**
 * The simulator before a register that was written from the protocol alone, in another
 * language, and that prints every offence: timers, order of fields, lengths, messages nobody asked
 * for, a missing end.
 */
const approve = { behaviour: { outcome: "approve", vending: true } } as const;

async function run(transport: "tcp" | "pty", options: object, steps: readonly string[]) {
  const link = join(temporaryFolder(), "terminal");
  const pty = transport === "pty" ? { pty: { link } } : {};
  const { simulator, register } = await started(transport, { ...options, ...pty });
  await register.close();
  const tcp = ["--tcp", `127.0.0.1:${simulator.endpoints.tcp?.port}`];
  const where = transport === "tcp" ? tcp : ["--pty", link];
  const answers = await runRegister(where, ["pace:0.01", ...steps]);
  return { simulator, answers: answers.slice(1) };
}

function problems(answers: readonly Step[]): string[] {
  return answers.flatMap((step) => step.problems.map((problem) => `${step.step}: ${problem}`));
}

function ends(answers: readonly Step[]): string[] {
  return answers.map(({ step, answer = "", end = "" }) => `${step} ${end || answer}`);
}

// The tests of the line itself pay over a pty.
describe.skipIf(!python).each(linesOr("tcp"))("a register in Python over %s", (transport) => {
  test("pays, reverses and closes the day", async () => {
    const { simulator, answers } = await run(transport, approve, [
      "registration:BE:D3",
      "pay:1250",
      "pay:200",
      "pay-short:700",
      "reversal",
      "turnover:check",
      "refund:300",
      "repeat",
      "repeat:01",
      "repeat:02",
      "repeat:00",
      "registration:BE:06",
      "pay:410",
      "registration:BE",
      "pay:420",
      "registration:3E",
      "pay:430",
      "registration:08",
      "pay:440",
      "end-of-day",
      "turnover:check",
    ]);
    expect(problems(answers)).toEqual([]);
    expect(ends(answers).filter((line) => !line.endsWith("060F"))).toEqual([]);
    expect(simulator.ledger.charged).toBe(1250 + 200 - 300 + 410 + 420 + 430 + 440);
  });

  test("charges all goods, a part of them, or none", async () => {
    const { simulator, answers } = await run(transport, approve, [
      "registration:BE:D3",
      "pay:900:849C00,849C00,800000",
      "pay:500:846600",
      "pay:600:849D0704000000000200",
      "pay:700:849C00,849C00,849C00,849C00",
      "pay:300:849C00,849C00,849C00,840000",
      "pay:800:-:1",
      "turnover:check",
    ]);
    expect(problems(answers)).toEqual([]);
    expect(ends(answers).map((line) => line.slice(-4))).toEqual([
      "060F",
      "060F",
      "061E",
      "060F",
      "061E",
      "060F",
      "061E",
      "060F",
    ]);
    expect(answers.map(({ rounds }) => rounds)).toEqual([0, 3, 1, 1, 5, 4, 1, 1]);
    expect(simulator.ledger.charged).toBe(900 + 200 + 300);
  });

  test("reserves, books, lets go, and lists what is open", async () => {
    const { simulator, answers } = await run(transport, approve, [
      "registration:BE:D3",
      "open-preauths",
      "preauth:5000",
      "open-preauths",
      "book-total:3000",
      "preauth:4000",
      "preauth:1000",
      "preauth:2000",
      "open-preauths",
      "preauth-reversal:2000",
      "partial-reversal:400:3",
      "open-preauths",
      "book-total:9:77",
    ]);
    expect(problems(answers)).toEqual([]);
    expect(answers.flatMap(({ open }) => (open ? [open] : []))).toEqual([
      [],
      ["0001"],
      ["0003", "0004", "0005"],
      ["0004"],
    ]);
    expect(answers.at(-1)).toMatchObject({ end: "061E", code: 0xb7 });
    expect(simulator.ledger.charged).toBe(3000 + 3600);
  });

  test("is answered with a decline, and with the outcome of its own abort", async () => {
    const slow = { pace: { walkAwayMs: 3_000 } };
    const { simulator, answers } = await run(transport, slow, [
      "registration:BE:D3",
      "pay:505",
      "pay-abort:768",
      "pay:1000",
      "reversal:77:100",
      "repeat",
      "abort",
    ]);
    expect(problems(answers)).toEqual([]);
    expect(answers[1]).toMatchObject({ end: "061E", code: 5 });
    expect(answers[2]).toMatchObject({ end: "061E", code: 0x6c, abort: "8000" });
    expect(answers[4]).toMatchObject({ end: "061E", code: 0xb5 });
    expect(simulator.ledger.charged).toBe(1000);
  });

  test("asks for the status in every way, and maintains the terminal", async () => {
    const { answers } = await run(transport, approve, [
      "status",
      "status:pw",
      "status:00",
      "status:01",
      "status:02",
      "status:04",
      "status:06",
      "registration:BE:D3",
      "status:06",
      "diagnosis",
      "diagnosis:01",
      "diagnosis:03",
      "initialisation",
      "clock",
      "selftest",
      "display:Hello",
      "unknown",
      "unknown:0F7E",
      "read-card:5",
      "pay:300",
      "ask-key:Press:1",
      "abort",
      "extended",
      "log-off",
      "registration:BE:D3",
      "reset",
      "registration:BE:D3",
      "pay:100",
    ]);
    expect(problems(answers)).toEqual([]);
    expect(ends(answers).filter((line) => !line.endsWith("060F"))).toEqual([
      "display:Hello 8000",
      "unknown 8483",
      "unknown:0F7E 8483",
      "read-card:5 040F",
      "ask-key:Press:1 80000D",
      "abort 8000",
      "log-off 8000",
    ]);
    expect(answers[8]).toMatchObject({ serial: expect.stringMatching(/^\d+$/), version: null });
  });

  test("reconnects and goes on", async () => {
    const steps = ["registration:BE:D3", "pay:100", "reconnect", "pay:200", "turnover:check"];
    const { answers } = await run(transport, approve, steps);
    expect(problems(answers)).toEqual([]);
  });
});

describe.skipIf(!python)("a register in Python on a bad line", () => {
  test("has its NAK, its missing ACK and its own wrong CRC repaired by repeats", async () => {
    const timers = { timers: { t2Ms: 1_000 } };
    const { simulator, answers } = await run("pty", { ...approve, ...timers }, [
      "registration:BE:D3",
      "fault:nak:2",
      "pay:100",
      "fault:mute:1",
      "pay:200",
      "fault:corrupt:2",
      "pay:300",
      "fault:nak:1",
      "turnover:check",
    ]);
    expect(problems(answers)).toEqual([]);
    expect(simulator.ledger.charged).toBe(600);
  });
});

describe.skipIf(!python)("a register in Python notices", () => {
  test.each([
    ["print-first", "receipt before 04 0F"],
    ["no-result", "04 0F of a payment without a result"],
    ["no-report", "06 0F after result FF"],
    ["other-amount", "amount in"],
    ["unknown-fields", "unknown field"],
    ["unknown-message", "was not permitted"],
    ["print-container", "control bytes in a line"],
    ["report-then-abort", "04 0F says 00, 06 1E 6C"],
    ["abort-without-code", "06 1E without a code"],
  ])("a terminal with the fault %s", async (fault, problem) => {
    const amount = fault === "abort-without-code" ? 505 : 500;
    const registration = fault === "print-container" ? "registration:BE:06" : "registration:BE:D3";
    const { answers } = await run("tcp", { faults: [fault] }, [registration, `pay:${amount}`]);
    expect(problems(answers).join("\n")).toContain(problem);
  });

  test("a frame with a wrong checksum", async () => {
    const { answers } = await run("pty", { faults: ["bad-crc:message=report"] }, [
      "registration:BE:D3",
      "pay:100",
    ]);
    expect(problems(answers)).toEqual([expect.stringContaining("broken frame")]);
    expect(answers[1]).toMatchObject({ end: "060F" });
  });
});
