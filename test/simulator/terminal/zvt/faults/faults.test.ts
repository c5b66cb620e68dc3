import { expect, test } from "vitest";
import { type FaultName, zvtFaults } from "../../../../../src/simulator/terminal/zvt/faults.ts";
import {
  authorisation,
  bank,
  REGISTRATION_WITHOUT_PRINT,
  started,
  type Transport,
} from "../../support/started.ts";

/** One payment of 12.00 with a fault, without prompts and receipts unless they matter. */
interface Case {
  readonly fault: string;
  readonly on: readonly Transport[];
  /** Control fields that the register hears, and how it ends for it. */
  readonly heard: readonly string[];
  readonly bank: readonly string[];
  readonly registration?: string;
}

const both = ["tcp", "pty"] as const;
const tcp = ["tcp"] as const;
const pty = ["pty"] as const;
const good = ["8000", "040f", "060f"];
const charged = ["charge 1200 final"];
const reversed = ["charge 1200", "reversal 1200 final not-acknowledged"];
const restarted = ["charge 1200", "reversal 1200 final restart"];
const WITHOUT_STATUS = "0600 06 000000 36 0978";
const WITH_PRINT_LINES = "0600 06 000000 b6 0978";

const cases: readonly Case[] = [
  // The wire: repeats repair what they can.
  { fault: "bad-crc", on: pty, heard: good, bank: charged },
  { fault: "bad-crc:message=report,times=2", on: pty, heard: good, bank: charged },
  {
    fault: "bad-crc:message=report,times=3",
    on: pty,
    heard: ["8000", "silence"],
    bank: reversed,
  },
  { fault: "nak-storm", on: pty, heard: ["nak"], bank: [] },
  { fault: "drop-ack", on: pty, heard: good, bank: charged },
  { fault: "late-ack:ms=20", on: pty, heard: good, bank: charged },
  { fault: "half-frame", on: pty, heard: good, bank: charged },
  { fault: "half-frame", on: tcp, heard: ["8000", "closed"], bank: reversed },
  { fault: "split:message=report,ms=1", on: both, heard: good, bank: charged },
  { fault: "delay:message=report,ms=30", on: both, heard: good, bank: charged },
  { fault: "duplicate", on: both, heard: ["8000", "040f", "040f", "060f"], bank: charged },
  { fault: "noise-before:message=report", on: pty, heard: good, bank: charged },
  { fault: "noise-inside", on: pty, heard: good, bank: charged },
  { fault: "extended-length:times=0", on: both, heard: good, bank: charged },
  { fault: "wrong-length", on: tcp, heard: ["8000", "closed"], bank: reversed },
  // Silence and lost lines: what got no ACK is reversed.
  { fault: "mute:at=command", on: both, heard: ["silence"], bank: [] },
  { fault: "mute:at=command,run=yes", on: tcp, heard: ["closed"], bank: reversed },
  { fault: "mute:at=report", on: tcp, heard: ["8000", "closed"], bank: reversed },
  { fault: "mute:at=report", on: pty, heard: ["8000", "silence"], bank: reversed },
  { fault: "mute:at=acknowledged", on: tcp, heard: ["8000", "040f", "closed"], bank: charged },
  { fault: "unplug:at=accepted", on: tcp, heard: ["8000", "closed"], bank: reversed },
  { fault: "unplug:at=card", on: tcp, heard: ["8000", "closed"], bank: reversed },
  { fault: "unplug:at=reported", on: tcp, heard: ["8000", "040f", "closed"], bank: reversed },
  { fault: "unplug:at=acknowledged", on: tcp, heard: ["8000", "040f", "closed"], bank: charged },
  {
    fault: "unplug:at=printed",
    on: tcp,
    heard: ["8000", "040f", ...Array(32).fill("06d1"), "closed"],
    bank: charged,
    registration: WITH_PRINT_LINES,
  },
  {
    fault: "unplug:at=print",
    on: tcp,
    heard: ["8000", "040f", "closed"],
    bank: reversed,
    registration: WITH_PRINT_LINES,
  },
  { fault: "unplug:at=card", on: pty, heard: ["8000", "closed"], bank: reversed },
  { fault: "unplug:at=acknowledged", on: pty, heard: ["8000", "040f", "closed"], bank: charged },
  { fault: "reboot:at=charged", on: pty, heard: ["8000", "closed"], bank: restarted },
  { fault: "unplug:at=completed", on: tcp, heard: [...good], bank: charged },
  { fault: "reboot:at=card", on: tcp, heard: ["8000", "closed"], bank: [] },
  { fault: "reboot:at=charged", on: tcp, heard: ["8000", "closed"], bank: restarted },
  { fault: "reboot:at=completion", on: tcp, heard: ["8000", "040f", "closed"], bank: charged },
  { fault: "hold:at=reported,ms=30", on: both, heard: good, bank: charged },
  // The dialogue.
  { fault: "refuse", on: both, heard: ["8483"], bank: [] },
  { fault: "refuse:code=9c", on: both, heard: ["849c"], bank: [] },
  { fault: "fail", on: both, heard: ["8000", "061e"], bank: [] },
  { fault: "other-amount", on: both, heard: good, bank: ["charge 1201 final"] },
  { fault: "no-result", on: both, heard: good, bank: charged },
  { fault: "no-report", on: both, heard: ["8000", "060f"], bank: charged },
  {
    fault: "report-then-abort",
    on: both,
    heard: ["8000", "040f", "061e"],
    bank: ["charge 1200", "reversal 1200 final fault"],
  },
  {
    fault: "report-then-abort:charged=yes",
    on: both,
    heard: ["8000", "040f", "061e"],
    bank: charged,
  },
  { fault: "wrong-pin-first", on: both, heard: ["8000", "040f", "040f", "060f"], bank: charged },
  { fault: "unknown-message", on: both, heard: ["8000", "0fa1", "040f", "060f"], bank: charged },
  { fault: "unknown-fields", on: both, heard: good, bank: charged },
  {
    fault: "print-first",
    on: both,
    heard: ["8000", ...Array(32).fill("06d1"), "040f", "060f"],
    bank: charged,
    registration: WITH_PRINT_LINES,
  },
];

const rows = cases.flatMap((row) => row.on.map((transport) => ({ ...row, transport })));

test.each(rows)("$fault over $transport: $heard", async ({ fault, transport, ...row }) => {
  const { simulator, register } = await started(transport, {
    timers: { t1Ms: 200, t2Ms: 400, t3Ms: 600 },
  });
  await register.run(row.registration ?? WITHOUT_STATUS);
  simulator.arm(fault);
  expect(await register.attempt(authorisation(1200), 2_000)).toEqual(row.heard);
  await simulator.terminal.idle();
  expect(bank(simulator)).toEqual(row.bank);
  expect(simulator.faults.armed.filter(({ struck }) => struck === 0)).toEqual([]);
});

test("the fault of another amount stays within what a report can hold", async () => {
  const behaviour = { outcome: "approve" } as const;
  const { simulator, register } = await started("tcp", { behaviour });
  await register.run(REGISTRATION_WITHOUT_PRINT);
  for (const [by, amountMinor] of [
    [-2_000, 1_200],
    [1, 999_999_999_999],
  ] as const) {
    simulator.arm(`other-amount:by=${by}`);
    expect((await register.run(authorisation(amountMinor))).at(-1)).toBe("060f00");
  }
  expect(bank(simulator)).toEqual(["charge 1 final", "charge 999999999999 final"]);
});

test.each(both)("after every fault that leaves a line, %s takes the next payment", async (on) => {
  const { simulator, register } = await started(on, { timers: { t1Ms: 50, t2Ms: 100, t3Ms: 150 } });
  await register.run(REGISTRATION_WITHOUT_PRINT);
  simulator.arm("mute:at=command");
  await register.attempt(authorisation(1200), 300);
  expect((await register.run(authorisation(1300))).at(-1)).toBe("060f00");
  expect(bank(simulator)).toEqual(["charge 1300 final"]);
});

test("every fault of the table is tried here or with the messages it changes", () => {
  const tried = new Set(cases.map(({ fault }) => fault.split(":")[0]));
  const elsewhere: FaultName[] = [
    "refuse-abort",
    "ignore-abort",
    "late-approval",
    "abort-without-code",
    "charset",
    "bare-repeat",
    "print-container",
    "no-timeout-byte",
  ];
  const missing = Object.keys(zvtFaults.kinds).filter(
    (name) => !tried.has(name) && !elsewhere.includes(name as FaultName),
  );
  expect(missing).toEqual([]);
});
