import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeFrame } from "../../../../src/simulator/terminal/zvt/link/frame.ts";
import { zvtProtocol } from "../../../../src/simulator/terminal/zvt/zvt-protocol.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { openPtyLine } from "../../../tp-manager/terminal/transport/pty-line.ts";
import { usedBy } from "../../../zvt/vector-uses.ts";
import { hasVectors } from "../../../zvt/vectors.ts";
import { startTerminalSimulator } from "../support/start-simulator.ts";
import {
  authorisation,
  bank,
  controls,
  END_OF_DAY,
  LAST_TRANSACTION,
  REGISTRATION_WITHOUT_PRINT,
  STATUS,
  started,
  transports,
} from "../support/started.ts";
import { fromHex, hex, ScriptedRegister } from "./support/register.ts";

describe.each(transports)("over %s", (transport) => {
  test("a command during a payment is answered to wait, and the payment goes on", async () => {
    const { register, simulator } = await started(transport, { behaviour: { customer: "manual" } });
    await register.run("0600 06 000000 36 0978");
    register.send(authorisation(1200));
    expect(await register.nextApdu()).toBe("800000");
    await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
    register.send(STATUS);
    expect(await register.nextApdu()).toBe("849c00");
    register.send(authorisation(1300));
    expect(await register.nextApdu()).toBe("849c00");
    simulator.terminal.parts.customer.act({ action: "insert" });
    expect(await register.nextApdu()).toMatch(/^040f/);
    register.send("800000");
    expect(await register.nextApdu()).toBe("060f00");
    register.send("800000");
    expect(bank(simulator)).toEqual(["charge 1200 final"]);
  });

  test("the next command may follow before the end of the last one is answered", async () => {
    const { register } = await started(transport);
    await register.run(REGISTRATION_WITHOUT_PRINT);
    register.send(STATUS);
    expect(await register.nextApdu()).toBe("800000");
    expect(await register.nextApdu()).toMatch(/^060f/);
    expect(controls(await register.run(STATUS))).toEqual(["8000", "060f"]);
    expect(await register.run("06b0 00")).toEqual(["800000"]);
    expect(controls(await register.run(STATUS))).toEqual(["8000", "060f"]);
  });

  test("a customer goes on although the register has gone, and gets the money back", async () => {
    const { register, simulator, reconnect } = await started(transport, {
      behaviour: { customer: "manual" },
      timers: { t2Ms: 200, t3Ms: 300 },
    });
    await register.run("0600 06 000000 36 0978");
    register.send(authorisation(1200));
    expect(await register.nextApdu()).toBe("800000");
    await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
    await register.close();
    const again = await reconnect();
    if (transport === "tcp") expect(await again.run(STATUS)).toEqual(["849c00"]);
    simulator.terminal.parts.customer.act({ action: "insert" });
    again.sendsAck = false;
    await simulator.terminal.idle();
    expect(bank(simulator)).toEqual(["charge 1200", "reversal 1200 final not-acknowledged"]);
  });

  test("a wrong length is refused", async () => {
    const { register } = await started(transport, { timers: { t3Ms: 50 } });
    register.send("0600 05 123456 ba 0978");
    if (transport === "pty") {
      expect(await register.nextApdu()).toBe("849a00");
      return;
    }
    // On a stream the extra byte begins the next message, which never comes (docs/zvt.md 3.2).
    expect(await register.nextApdu()).toBe("849a00");
    expect(await register.next()).toBe("closed");
  });

  test("any length form is understood", async () => {
    const { register } = await started(transport);
    expect(controls(await register.run("0600 ff 0600 000000 36 0978"))).toEqual(["8000", "060f"]);
    expect((await register.run("0601 ff 0a00 04 000000001200 49 0978")).at(-1)).toBe("060f00");
  });

  test("an answer that nobody waits for changes nothing", async () => {
    const { register } = await started(transport);
    register.send("800000");
    register.send("846600");
    expect(controls(await register.run(STATUS))).toEqual(["8000", "060f"]);
  });

  test("no bytes bring the terminal down", async () => {
    const { register, simulator, reconnect } = await started(transport, {
      timers: { t1Ms: 5, t2Ms: 30, t3Ms: 20 },
    });
    await register.close();
    const noise = fc.uint8Array({ minLength: 1, maxLength: 60 });
    const commands = fc
      .tuple(fc.constantFrom(0x06, 0x05, 0x04, 0x08, 0x80, 0x84), fc.nat(255), noise)
      .map(([group, kind, data]) => Uint8Array.of(group, kind, data.length, ...data));
    await fc.assert(
      fc.asyncProperty(fc.oneof(noise, commands), async (bytes) => {
        const other = await reconnect();
        other.sendBytes(Buffer.from(bytes).toString("hex"));
        other.send(Buffer.from(bytes).toString("hex"));
        await other.attempt("", 5);
        await other.close();
      }),
      { seed: 42, numRuns: 60 },
    );
    await simulator.terminal.idle();
    // T2 is short here: where an ACK came too late, a line of its own hears no repeated answers.
    const asked = async () => {
      const again = await reconnect();
      const answer = await again.attempt(STATUS, 200);
      await again.close();
      return answer;
    };
    await expect.poll(asked).toEqual(["8000", "060f"]);
  });
});

test("a new TCP connection takes the place of the old one", async () => {
  const { register, simulator, reconnect } = await started("tcp");
  await register.run(REGISTRATION_WITHOUT_PRINT);
  const newer = await reconnect();
  expect(await register.next()).toBe("closed");
  expect((await newer.run(authorisation(1200))).at(-1)).toBe("060f00");
  expect(bank(simulator)).toEqual(["charge 1200 final"]);
});

test("TCP and a pseudo-terminal serve one register at a time", async () => {
  const { register, simulator } = await started("tcp", {
    pty: { link: null },
    behaviour: { customer: "manual" },
  });
  const serial = await ScriptedRegister.serial(String(simulator.endpoints.pty));
  await register.run("0600 06 000000 36 0978");
  register.send(authorisation(1200));
  expect(await register.nextApdu()).toBe("800000");
  await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
  expect(await serial.run(STATUS)).toEqual(["849c00"]);
  expect(await serial.run("06b0 00")).toEqual(["849c00"]);
  simulator.terminal.parts.customer.act({ action: "insert" });
  expect(await register.nextApdu()).toMatch(/^040f/);
  register.send("800000");
  expect(await register.nextApdu()).toBe("060f00");
  register.send("800000");
  await simulator.terminal.idle();
  expect((await serial.run(STATUS)).length).toBe(2);
  await serial.close();
});

test("a message that comes in pieces too slowly closes the connection", async () => {
  const { register } = await started("tcp", { timers: { t3Ms: 50 } });
  register.sendBytes("0601");
  expect(await register.next()).toBe("closed");
});

test.each([
  { before: "a sale", commands: [authorisation(900)] },
  { before: "an end of day", commands: [authorisation(900), END_OF_DAY] },
])("a power cut before the ACK reverses the sale, also after $before", async (row) => {
  const folder = temporaryFolder();
  const options = { stateFile: join(folder, "state.sqlite"), pace: { rebootMs: 0 } };
  const { register, simulator } = await started("tcp", options);
  await register.run(REGISTRATION_WITHOUT_PRINT);
  for (const command of row.commands) await register.run(command);
  await register.runToReport(authorisation(1200));
  await simulator.close();
  const next = await startTerminalSimulator({ ...options, tcp: { host: "127.0.0.1", port: 0 } });
  expect(bank(next)).toEqual(["charge 900 final", "charge 1200", "reversal 1200 final restart"]);
  const again = await ScriptedRegister.tcp(Number(next.endpoints.tcp?.port));
  await again.run(REGISTRATION_WITHOUT_PRINT);
  expect((await again.run(LAST_TRANSACTION))[1]).toContain("04000000000900");
  await again.close();
  await next.close();
});

test("the daily restart is announced, and the terminal restarts at that time", async () => {
  const clock = new TestClock();
  const soon = new Date(clock.now() + 60_000);
  const restartAt = soon.toTimeString().slice(0, 5);
  const { register, simulator } = await started("tcp", { behaviour: { restartAt }, clock });
  const [, completion] = await register.run(STATUS);
  const digits = restartAt.replace(":", "");
  expect(completion).toMatch(new RegExp(`350d1f0e04\\d{8}1f0f03${digits}00$`));
  await register.run(REGISTRATION_WITHOUT_PRINT);
  await clock.advance(60_000);
  expect(await register.next()).toBe("closed");
  expect(simulator.terminal.parts.registration.registered).toBe(false);
});

test("the daily restart can be set later, and follows the clock of the terminal", async () => {
  const clock = new TestClock();
  const { register, simulator } = await started("tcp", { clock, controlPort: 0 });
  const state = async (restartAt: string) =>
    await fetch(`${simulator.controlUrl}/state`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ restartAt }),
    });
  expect((await state("25:00")).status).toBe(400);
  expect((await state("03:30")).status).toBe(200);
  await register.run(REGISTRATION_WITHOUT_PRINT);
  expect((await register.run(STATUS)).at(-1)).toMatch(/350d1f0e04\d{8}1f0f03033000$/);
  // One minute before, by the terminal's clock.
  await register.run("0691 0b 000000 aa 260301 0c 032900");
  await clock.advance(59_000);
  expect(simulator.terminal.parts.registration.registered).toBe(true);
  await clock.advance(1_500);
  expect(await register.next()).toBe("closed");
});

test("a serial device is served like a pseudo-terminal", async () => {
  const cable = await openPtyLine();
  const simulator = await startTerminalSimulator({
    tcp: null,
    serial: { path: cable.path, ...zvtProtocol.serialLine },
  });
  const heard: string[] = [];
  cable.onData((bytes) => heard.push(hex(bytes)));
  cable.write(encodeFrame(fromHex("0fff00")));
  await expect.poll(() => heard.join("")).toBe(`06${hex(encodeFrame(fromHex("848300")))}`);
  cable.write(Uint8Array.of(0x06));
  expect(simulator.endpoints.serial).toBe(cable.path);
  await simulator.close();
  cable.unplug();
});

test("a line that is unplugged twice at once comes back once", async () => {
  const { register, simulator, reconnect } = await started("tcp");
  await Promise.all([simulator.unplug(20), simulator.unplug(0)]);
  expect(await register.next()).toBe("closed");
  await expect.poll(() => reconnect().then(Boolean, () => false)).toBe(true);
  await simulator.unplug(0);
});

test("a line of 9600 baud takes its time", async () => {
  const { register } = await started("pty", { lineSpeed: 9_600 });
  const before = performance.now();
  await register.run(STATUS);
  // 14 + 9 + 87 + 9 bytes of frames and an ACK for each, at 1.04 ms a byte.
  expect(performance.now() - before).toBeGreaterThan(100);
});

describe.skipIf(!hasVectors)("the conformance vectors of a register's invalid messages", () => {
  test.each(usedBy("refuse-by-simulator"))("$id", async ({ hex: bytes, expect: expected }) => {
    const { register } = await started("tcp", { timers: { t3Ms: 50 } });
    const exchange = await register.attempt(bytes, 300);
    const { result } = expected as { result: string };
    expect(exchange).toEqual(result === "incomplete" ? ["closed"] : ["849a"]);
  });
});
