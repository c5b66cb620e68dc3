import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/shared/time.ts";
import {
  deviceNames,
  type QuirkName,
  quirkNames,
  devices as simulated,
  type ZvtOptions as TerminalOptions,
} from "../../src/simulator/terminal/zvt/options.ts";

import { createTransport } from "../../src/tp-manager/terminal/transport/open-transport.ts";
import { profiles, type ZvtOptions } from "../../src/tp-manager/terminal/zvt/zvt-options.ts";
import { startTerminalSimulator } from "../simulator/terminal/support/start-simulator.ts";
import { type Line, linesOr } from "../support/run/scope.ts";
import { Driver, never, Observer, tenEuro } from "../tp-manager/terminal/zvt/driver.ts";

/** Terminals that report nothing about their last transaction. */
const forgetful: readonly string[] = ["pax-a80", "empty-repeat-receipt"];

const devices = deviceNames.flatMap((name, number) =>
  linesOr(number % 2 === 0 ? "tcp" : "pty").map((line) => ({ name, line })),
);

test.each(devices)("$name over $line: the driver's answers are true", async ({ name, line }) => {
  const { quirks, behaviour } = simulated[name];
  await sells(name, line, { ...behaviour, quirks }, driverProfile(name));
});

describe("one deviation by itself", () => {
  test.each(quirkNames)("%s: the driver's answers are true", async (quirk: QuirkName) => {
    await sells(quirk, "tcp", { quirks: [quirk] }, {});
  });
});

/** A sale, its reversal, a declined sale and an end of day, each compared with the bank. */
async function sells(
  name: string,
  line: Line,
  behaviour: Partial<TerminalOptions["behaviour"]>,
  profile: Partial<ZvtOptions>,
): Promise<void> {
  const { driver, simulator } = await connected(line, behaviour, profile);
  const { terminal } = driver;
  const { ledger } = simulator;

  const first = new Observer();
  await terminal.prepare(never);
  const paid = await terminal.pay({ ...tenEuro, amountMinor: 1_200 }, first);
  expect([paid.end, ledger.charged]).toEqual(["completed", 1_200]);
  const stored = {
    amountMinor: 1_200,
    receiptNumber: "0001",
    traceNumber: expect.stringMatching(/1$/),
  };
  expect(first.reports.at(-1)).toMatchObject({ good: true, currencyNumeric: "978", ...stored });
  expect(first.happened).toContain("acknowledged");
  if (paid.end === "completed") expect(paid.ticket).toContain("12,00");

  const declined = new Observer();
  const { last } = await terminal.prepare(never);
  expect(last.kind).toBe(forgetful.includes(name) ? "not-told" : "transaction");
  if (last.kind === "transaction") expect(last.report).toMatchObject({ good: true, ...stored });
  const refused = await terminal.pay({ ...tenEuro, amountMinor: 1_205 }, declined);
  expect([refused.end, ledger.charged]).toEqual(["aborted", 1_200]);
  expect(declined.reports.at(-1)?.resultCode).toBe("05");

  const order = { ...tenEuro, amountMinor: 1_200, receiptNumber: "0001" };
  const reversal = await terminal.reverse?.(order, new Observer());
  expect([reversal?.end, ledger.charged]).toEqual(["completed", 0]);

  const day = await terminal.telecollect?.(never);
  expect(day?.end).toBe("completed");
  expect(ledger.entries.filter(({ final }) => !final)).toEqual([]);
}

async function connected(
  line: Line,
  behaviour: Partial<TerminalOptions["behaviour"]>,
  profile: Partial<ZvtOptions>,
) {
  const simulator = await startTerminalSimulator({
    tcp: line === "tcp" ? { host: "127.0.0.1", port: 0 } : null,
    pty: line === "pty" ? { link: null } : null,
    pace: { customerMs: 0, hostMs: 0, reversalMs: 0, administrationMs: 0, rebootMs: 50 },
    behaviour,
  });
  const address = simulator.endpoints.pty ?? `tcp://127.0.0.1:${simulator.endpoints.tcp?.port}`;
  const transport = createTransport(address, { baudRate: 9_600, stopBits: 2 }, systemClock);
  const driver = new Driver(transport, profile);
  onTestFinished(async () => {
    await driver.terminal.close();
    await simulator.close();
  });
  driver.terminal.start();
  await driver.connected();
  return { driver, simulator };
}

function driverProfile(name: (typeof deviceNames)[number]): Partial<ZvtOptions> {
  return profiles[name] ?? {};
}
