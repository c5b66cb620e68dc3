import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../../src/shared/time.ts";
import { type BytePort, PacedPort } from "../../../../src/simulator/terminal/port/ports.ts";
import { ACK, encodeFrame } from "../../../../src/simulator/terminal/zvt/link/frame.ts";
import { zvtProtocol } from "../../../../src/simulator/terminal/zvt/zvt-protocol.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { openPtyLine } from "../../../tp-manager/terminal/transport/pty-line.ts";
import { authorisation, REGISTRATION, started, transports } from "../support/started.ts";
import { fromHex } from "./support/register.ts";

const TO_9600 = "0840 01 00";
const TO_115200 = "0840 01 07";
/** No registration of some 76 bytes, and no payment of some 1 000, is faster at 9600. */
const REGISTRATION_MS = 60;
const PAYMENT_MS = 700;

test("a paced line takes as long as its speed says, in both directions", async () => {
  const clock = new TestClock();
  const { port, far, arrived, left } = pacedPort(9_600, clock);
  port.write(new Uint8Array(96));
  far(new Uint8Array(96));
  await clock.advance(99);
  expect([left(), arrived()]).toEqual([90, 90].map(() => expect.any(Number)));
  expect(left()).toBeLessThan(96);
  await clock.advance(2);
  expect([left(), arrived()]).toEqual([96, 96]);
  port.setSpeed(115_200);
  port.write(new Uint8Array(1_152));
  await clock.advance(99);
  expect(left()).toBeLessThan(96 + 1_152);
  await clock.advance(2);
  expect(left()).toBe(96 + 1_152);
});

test("bytes that are still on a paced line never arrive when it is cut", async () => {
  const clock = new TestClock();
  const { far, cut, arrived } = pacedPort(9_600, clock);
  far(new Uint8Array(96));
  await clock.advance(50);
  const before = arrived();
  cut();
  await clock.advance(100);
  expect(arrived()).toBe(before);
  expect(before).toBeGreaterThan(0);
});

describe.each(transports)("over %s", (transport) => {
  test("a speed outside the table is wrong, one that the terminal lacks impossible", async () => {
    const { register } = await started(transport, { speeds: [9_600, 115_200] });
    expect(await register.run("0840 01 02")).toEqual(["84fd00"]);
    expect(await register.run("0840 01 06")).toEqual(["847d00"]);
    expect(await register.run(TO_115200)).toEqual(["800000"]);
  });
});

test("a speed change is answered at the old speed, and the new one holds from then", async () => {
  const { clock, lineMs } = lineClock();
  const { register, simulator } = await started("pty", {
    clock,
    lineSpeed: 9_600,
    pace: { speedChangeMs: 100 },
  });
  expect(await timed(() => register.run(REGISTRATION))).toBeGreaterThan(REGISTRATION_MS);
  expect(await register.run(TO_115200)).toEqual(["800000"]);
  expect(speedChanges()).toEqual([]);
  await expect.poll(speedChanges).toEqual(["115200 bits per second"]);
  expect(await lineMs(() => register.run(REGISTRATION))).toBeLessThan(REGISTRATION_MS);
  function speedChanges() {
    return simulator.terminal.trace
      .last(100)
      .flatMap(({ what, note }) => (what === "speed" ? [note] : []));
  }
});

test("a payment with a fault is slower at 9600 than at 115200", async () => {
  const { clock, lineMs } = lineClock();
  const { register, simulator } = await started("pty", {
    clock,
    lineSpeed: 115_200,
    pace: { speedChangeMs: 20 },
  });
  const pay = () => {
    simulator.arm("bad-crc:message=report");
    return register.run(authorisation(1200));
  };
  await register.run(REGISTRATION);
  expect(await lineMs(pay)).toBeLessThan(PAYMENT_MS);
  await register.run(TO_9600);
  await expect.poll(() => simulator.terminal.trace.last(1)[0]?.what).toBe("speed");
  expect(await timed(pay)).toBeGreaterThan(PAYMENT_MS);
});

test("a restart brings the old speed back", async () => {
  const { register, simulator, reconnect } = await started("pty", {
    lineSpeed: 9_600,
    pace: { speedChangeMs: 0, rebootMs: 0 },
  });
  await register.run(TO_115200);
  await expect.poll(() => simulator.terminal.trace.last(1)[0]?.what).toBe("speed");
  const before = simulator.endpoints;
  simulator.reboot();
  const isBack = () => simulator.endpoints !== before && simulator.endpoints.pty !== null;
  await expect.poll(isBack).toBe(true);
  const again = await reconnect();
  expect(await timed(() => again.run(REGISTRATION))).toBeGreaterThan(REGISTRATION_MS);
});

test("a serial device takes the new speed itself", async () => {
  const cable = await openPtyLine();
  const serial = { path: cable.path, ...zvtProtocol.serialLine };
  const { simulator } = await started("tcp", { serial, pace: { speedChangeMs: 0 } });
  cable.onData(() => {});
  expect(speedOf(cable.path)).toBe("9600");
  cable.write(encodeFrame(fromHex(TO_115200)));
  await expect.poll(() => simulator.terminal.trace.last(1)[0]?.direction).toBe("out");
  cable.write(Uint8Array.of(ACK));
  await expect.poll(() => speedOf(cable.path)).toBe("115200");
  await simulator.close();
  cable.unplug();
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Measures how long bytes were held back for the line's speed: a busy machine adds nothing. */
function lineClock() {
  let heldMs = 0;
  const clock: Clock = {
    ...steppedClock,
    startTimer(name, delayMs, fire) {
      if (name === "line speed") heldMs += Math.max(delayMs, 0);
      return steppedClock.startTimer(name, delayMs, fire);
    },
  };
  const lineMs = async (work: () => Promise<unknown>): Promise<number> => {
    heldMs = 0;
    await work();
    return heldMs;
  };
  return { clock, lineMs };
}

function pacedPort(bitsPerSecond: number, clock: TestClock) {
  let [left, arrived] = [0, 0];
  let deliver: (bytes: Uint8Array) => void = () => {};
  let cut = () => {};
  const inner: BytePort = {
    name: "test",
    start: ({ data, closed }) => {
      deliver = data;
      cut = closed;
    },
    write: (bytes) => {
      left += bytes.length;
    },
    close: () => {},
  };
  const port = new PacedPort(inner, bitsPerSecond, clock);
  const data = (bytes: Uint8Array) => {
    arrived += bytes.length;
  };
  port.start({ data, closed: () => {} });
  const far = (bytes: Uint8Array) => deliver(bytes);
  return { port, far, cut: () => cut(), left: () => left, arrived: () => arrived };
}

function speedOf(path: string): string {
  return execFileSync("stty", ["-F", path, "speed"]).toString().trim();
}
