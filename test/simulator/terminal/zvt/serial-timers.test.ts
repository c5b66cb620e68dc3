import { describe, expect, test } from "vitest";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import {
  ABORT,
  authorisation,
  bank,
  controls,
  REGISTRATION,
  REGISTRATION_WITHOUT_PRINT,
  STATUS,
  started,
  transports,
} from "../support/started.ts";

const T2_MS = 5_000;
const T3_MS = 5_000;
const WITHOUT_STATUS = "0600 08 000000 36 0978 0600";
const reversed = ["charge 1200", "reversal 1200 final not-acknowledged"];

/** Timers of the protocol, on a clock that only the test moves. */
async function onTestClock(transport: (typeof transports)[number], registration: string) {
  const clock = new TestClock();
  const at = await started(transport, { clock });
  await at.register.run(registration);
  return { ...at, clock };
}

describe.each(transports)("over %s", (transport) => {
  test("a report that is not answered is reversed after T3, not before", async () => {
    const { register, simulator, clock } = await onTestClock(transport, WITHOUT_STATUS);
    await register.runToReport(authorisation(1200));
    await expect.poll(() => clock.running).toContain("T3");
    await clock.advance(T3_MS - 1);
    expect(bank(simulator)).toEqual(["charge 1200"]);
    await clock.advance(1);
    expect(bank(simulator)).toEqual(reversed);
    expect(await register.next()).toEqual(transport === "tcp" ? "closed" : { apdu: "061e016c" });
  });

  test("a print message that is not answered is reversed after T3, not before", async () => {
    const { register, simulator, clock } = await onTestClock(
      transport,
      REGISTRATION.replace(" be ", " b6 "),
    );
    await register.runToReport(authorisation(1200));
    register.send("800000");
    expect(await register.nextApdu()).toMatch(/^06d3/);
    await expect.poll(() => clock.running).toContain("T3");
    await clock.advance(T3_MS - 1);
    expect(bank(simulator)).toEqual(["charge 1200"]);
    await clock.advance(1);
    expect(bank(simulator)).toEqual(reversed);
  });

  test("once everything was answered the end may be lost, and the payment stands", async () => {
    const { register, simulator, clock } = await onTestClock(transport, WITHOUT_STATUS);
    await register.runToReport(authorisation(1200));
    register.send("800000");
    expect(await register.nextApdu()).toBe("060f00");
    await expect.poll(() => clock.running).toContain("T3");
    await clock.advance(T3_MS);
    await simulator.terminal.idle();
    expect(bank(simulator)).toEqual(["charge 1200 final"]);
  });
});

test("a report leaves three times, T2 apart, then the terminal is in its basic state", async () => {
  const { register, simulator, clock } = await onTestClock("pty", WITHOUT_STATUS);
  register.send(authorisation(1200));
  expect(await register.nextApdu()).toBe("800000");
  register.sendsAck = false;
  const report = await register.nextApdu();
  expect(report).toMatch(/^040f/);
  for (const repeat of [1, 2]) {
    await expect.poll(() => clock.running).toContain("T2");
    await clock.advance(T2_MS - 1);
    expect(await register.hearsNothing(20), `${repeat}`).toBe(true);
    await clock.advance(1);
    expect(await register.nextApdu()).toBe(report);
  }
  await expect.poll(() => clock.running).toContain("T2");
  await clock.advance(T2_MS);
  await simulator.terminal.idle();
  expect(bank(simulator)).toEqual(reversed);
  // No word about it on a line that does not work; the next command is a new beginning.
  expect(await register.hearsNothing(20)).toBe(true);
  register.sendsAck = true;
  expect(controls(await register.run(STATUS))).toEqual(["8000", "060f"]);
});

test("a report that arrives with its last repeat is good", async () => {
  const { register, simulator, clock } = await onTestClock("pty", WITHOUT_STATUS);
  register.send(authorisation(1200));
  expect(await register.nextApdu()).toBe("800000");
  register.sendsAck = false;
  await register.nextApdu();
  for (const _ of [1, 2]) {
    await expect.poll(() => clock.running).toContain("T2");
    await clock.advance(T2_MS);
    await register.nextApdu();
  }
  register.sendsAck = true;
  register.sendBytes("06");
  register.send("800000");
  expect(await register.nextApdu()).toBe("060f00");
  register.send("800000");
  expect(bank(simulator)).toEqual(["charge 1200 final"]);
});

test("a command whose 80 00 gets no ACK is not carried out", async () => {
  const { register, simulator, clock } = await onTestClock("pty", WITHOUT_STATUS);
  register.sendsAck = false;
  register.send(authorisation(1200));
  expect(await register.nextApdu()).toBe("800000");
  for (const _ of [1, 2]) {
    await expect.poll(() => clock.running).toContain("T2");
    await clock.advance(T2_MS);
    expect(await register.nextApdu()).toBe("800000");
  }
  await expect.poll(() => clock.running).toContain("T2");
  await clock.advance(T2_MS);
  await simulator.terminal.idle();
  expect(bank(simulator)).toEqual([]);
  register.sendsAck = true;
  expect(controls(await register.run(STATUS))).toEqual(["8000", "060f"]);
});

test("a command that comes again because its ACK was lost gets the same answer", async () => {
  const { register, simulator } = await started("pty", { behaviour: { customer: "manual" } });
  await register.run(WITHOUT_STATUS);
  register.send(authorisation(1200));
  expect(await register.nextApdu()).toBe("800000");
  await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
  register.send(authorisation(1200));
  expect(await register.nextApdu()).toBe("800000");
  register.send(authorisation(1300));
  expect(await register.nextApdu()).toBe("849c00");
  simulator.terminal.parts.customer.act({ action: "insert" });
  expect(await register.nextApdu()).toMatch(/^040f/);
  register.send("800000");
  expect(await register.nextApdu()).toBe("060f00");
  register.send("800000");
  expect(bank(simulator)).toEqual(["charge 1200 final"]);
});

test("the register's answer that comes twice answers one message, not two", async () => {
  const { register, simulator } = await started("pty");
  await register.run(REGISTRATION.replace(" be ", " b6 "));
  await register.runToReport(authorisation(1200));
  register.send("800000");
  register.send("800000");
  expect(await register.nextApdu()).toMatch(/^06d3/);
  expect(await register.hearsNothing(50)).toBe(true);
  expect(bank(simulator)).toEqual(["charge 1200"]);
  for (const message of ["06d3", "060f"]) {
    register.send("800000");
    expect(await register.nextApdu()).toMatch(new RegExp(`^${message}`));
  }
  register.send("800000");
  expect(bank(simulator)).toEqual(["charge 1200 final"]);
});

test("abort and 04 0F of Read Card at the same time: the register begins anew", async () => {
  const clock = new TestClock();
  const { register, simulator } = await started("pty", {
    clock,
    behaviour: { customer: "manual" },
  });
  await register.run(REGISTRATION_WITHOUT_PRINT.replace(" 3e ", " 36 "));
  register.send("06c0 01 0f");
  expect(await register.nextApdu()).toBe("800000");
  await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
  register.sendsAck = false;
  simulator.terminal.parts.customer.act({ action: "insert" });
  expect(await register.nextApdu()).toMatch(/^040f/);
  register.send(ABORT);
  for (const _ of [1, 2]) {
    await expect.poll(() => clock.running).toContain("T2");
    await clock.advance(T2_MS);
    expect(await register.nextApdu()).toMatch(/^040f/);
  }
  // The third failure is the last; from now on both sides talk again.
  register.sendsAck = true;
  await expect.poll(() => clock.running).toContain("T2");
  await clock.advance(T2_MS);
  expect(await register.nextApdu()).toBe("800000");
  expect(await register.run(ABORT)).toEqual(["800000"]);
  expect((await register.run(STATUS)).at(-1)).toMatch(/^060f..00/);
});
