import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  type AddressInfo,
  createConnection,
  createServer,
  type Server,
  type Socket,
} from "node:net";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../../src/shared/time.ts";
import type * as bytes from "../../../../src/tp-manager/terminal/transport/byte-transport.ts";
import { createTransport } from "../../../../src/tp-manager/terminal/transport/open-transport.ts";
import { parseTcpAddress } from "../../../../src/tp-manager/terminal/transport/tcp-transport.ts";
import { fromHex, toHex } from "../../../../src/zvt/index.ts";
import { PATIENCE_MS } from "../../../support/clocks/patience.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { freePort } from "../../../support/programs/installation.ts";
import { openPtyLine } from "./pty-line.ts";
import { Recorder } from "./recorder.ts";

const line = { baudRate: 9600, stopBits: 2 } as const;
const never = new AbortController().signal;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** What a closed connection throws instead of writing. */
const notOpen = {
  name: "TransportError",
  message: expect.stringMatching(/ is not (open|connected)$/),
};

interface Far {
  readonly address: string;
  readonly received: () => string;
  send(bytes: Uint8Array): void;
  breakOff(): void;
}

async function tcpFar(): Promise<Far> {
  const server: Server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const sockets: Socket[] = [];
  let received = "";
  server.on("connection", (socket) => {
    sockets.push(socket);
    socket.on("data", (bytes) => {
      received += toHex(bytes);
    });
    socket.on("error", () => {});
  });
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    address: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    send: (bytes) => void sockets.at(-1)?.write(bytes),
    breakOff: () => sockets.at(-1)?.destroy(),
  };
}

async function serialFar(): Promise<Far> {
  const pty = await openPtyLine();
  let received = "";
  pty.onData((bytes) => {
    received += toHex(bytes);
  });
  cleanups.push(() => pty.unplug());
  return {
    address: pty.path,
    received: () => received,
    send: (bytes) => pty.write(bytes),
    breakOff: () => pty.unplug(),
  };
}

async function openTo(far: Far): Promise<{ connection: bytes.ByteConnection; recorder: Recorder }> {
  const recorder = new Recorder();
  const transport = createTransport(far.address, line, systemClock);
  const connection = await transport.open(recorder, never);
  cleanups.push(() => connection.close());
  return { connection, recorder };
}

async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

function tryWrite(connection: bytes.ByteConnection): boolean {
  try {
    connection.write(fromHex("02"));
    return true;
  } catch {
    return false;
  }
}

/** A state of /proc/net/tcp. A closed connection to the same port may be listed too. */
const ESTABLISHED = "01";

/** The timer that Linux runs for an open connection to a port: its kind, and the seconds left. */
function kernelTimer(port: number): { readonly kind: string; readonly seconds: number } {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n");
  const row = rows
    .map((text) => text.trim().split(/\s+/))
    .find((cells) => cells[2] === remote && cells[3] === ESTABLISHED);
  const [kind = "", left = ""] = row?.[5]?.split(":") ?? [];
  return { kind, seconds: Number.parseInt(left, 16) / 100 };
}

/** Every byte value, those included that a terminal in cooked mode would change. */
const allBytes = Uint8Array.from({ length: 256 }, (_, i) => i);

test.skipIf(process.platform !== "linux")(
  "the system probes a silent TCP connection, so that a pulled cable ends it (docs/zvt.md 9.3)",
  async () => {
    const far = await tcpFar();
    await openTo(far);
    const { kind, seconds } = kernelTimer(Number(new URL(far.address).port));
    expect(kind).toBe("02"); // the keep-alive's timer
    expect(seconds).toBeGreaterThan(5);
    expect(seconds).toBeLessThanOrEqual(10);
  },
);

describe.each([
  ["tcp", tcpFar],
  ["serial", serialFar],
] as const)("%s", (kind, makeFar) => {
  test("moves every byte value both ways unchanged", async () => {
    const far = await makeFar();
    const { connection, recorder } = await openTo(far);
    connection.write(allBytes);
    await eventually(() => far.received().length >= 512);
    expect(far.received()).toBe(toHex(allBytes));
    far.send(allBytes);
    await recorder.until(() => recorder.received.length >= 512);
    expect(recorder.received).toBe(toHex(allBytes));
  });

  test("reports once that the connection broke, and refuses to write from then on", async () => {
    const far = await makeFar();
    const { connection, recorder } = await openTo(far);
    connection.write(fromHex("01"));
    await eventually(() => far.received() === "01");
    far.breakOff();
    // Once in a few hundred times a pulled serial plug is noticed only at the next write.
    await eventually(() => recorder.closedWith !== undefined || !tryWrite(connection));
    await recorder.until(() => recorder.closedWith !== undefined);
    expect(recorder.closedWith).toMatchObject({
      name: "TransportError",
      message: expect.stringContaining(far.address),
    });
    expect(() => connection.write(fromHex("02"))).toThrow(expect.objectContaining(notOpen));
    await connection.close();
  });

  test("after close refuses to write, and reports only the end", async () => {
    const far = await makeFar();
    const { connection, recorder } = await openTo(far);
    await connection.close();
    await connection.close();
    expect(() => connection.write(fromHex("03"))).toThrow(expect.objectContaining(notOpen));
    expect(recorder.closedWith).toBeNull();
    expect(far.received()).toBe("");
  });

  test("can be opened again after a close, and the old connection receives nothing", async () => {
    const far = await makeFar();
    const first = await openTo(far);
    first.connection.write(fromHex("aa"));
    await eventually(() => far.received() === "aa");
    await first.connection.close();
    const second = await openTo(far);
    second.connection.write(fromHex("bb"));
    await eventually(() => far.received() === "aabb");
    far.send(fromHex("cc"));
    await second.recorder.until(() => second.recorder.received === "cc");
    expect(first.recorder.received).toBe("");
  });

  test("gives up opening when the signal has been aborted", async () => {
    const far = await makeFar();
    const transport = createTransport(far.address, line, systemClock);
    expect(transport.kind).toBe(kind);
    await expect(
      Promise.resolve().then(() => transport.open(new Recorder(), AbortSignal.abort("enough"))),
    ).rejects.toBe("enough");
  });
});

test("a port that does not exist is unreachable, with its name in the message", async () => {
  const transport = createTransport("/dev/ttyNOPE7", line, systemClock);
  await expect(transport.open(new Recorder(), never)).rejects.toMatchObject({
    name: "TransportError",
    // The message of the serial port's library is shortened: it repeats its name and the path.
    message: "cannot open /dev/ttyNOPE7: No such file or directory",
  });
});

test("a TCP port on which nobody listens is unreachable", async () => {
  const transport = createTransport(`tcp://127.0.0.1:${await freePort()}`, line, systemClock);
  await expect(transport.open(new Recorder(), never)).rejects.toMatchObject({
    name: "TransportError",
    message: expect.stringMatching(/^cannot connect to tcp:.* ECONNREFUSED/),
  });
});

test.skipIf(process.platform !== "linux")(
  "a host that never answers has a time limit",
  async () => {
    const clock = new TestClock();
    const port = await silentPort();
    const transport = createTransport(`tcp://127.0.0.1:${port}`, line, clock);
    const opening = transport.open(new Recorder(), never);
    const settled = expect(opening).rejects.toMatchObject({
      name: "TransportError",
      message: `tcp://127.0.0.1:${port} did not answer`,
    });
    await clock.advance(5_000);
    await settled;
    expect(clock.running).toEqual([]);
  },
);

test.each([
  ["tcp://10.0.0.5:20007", { host: "10.0.0.5", port: 20007 }],
  ["tcp://terminal.local:5577", { host: "terminal.local", port: 5577 }],
  ["tcp://[::1]:20007", { host: "::1", port: 20007 }],
])("%s is a TCP address", (text, address) => {
  expect(parseTcpAddress(text)).toEqual(address);
});

test.each([
  "tcp://10.0.0.5",
  "tcp://:20007",
  "tcp://h:0",
  "tcp://h:65536",
  "tcp:h:1",
  "tcp://::1:2",
])("%s is refused with an example of a TCP address", (text) => {
  expect(() => createTransport(text, line, systemClock)).toThrow(/tcp:\/\/192/);
});

test("a line that reads and writes late meets neither the next line nor a hung-up line", () => {
  const program = fileURLToPath(new URL("./late-line.ts", import.meta.url));
  const printed = execFileSync(process.execPath, [program], {
    encoding: "utf8",
    timeout: PATIENCE_MS,
  });
  expect(JSON.parse(printed)).toEqual({
    atFirst: "for the first line",
    atSecond: "for the second line",
    heard: "from the second",
    ended: "the port went away: the line was hung up",
  });
});

/**
 * A port that answers no new connection, without any network: its thread listens and then sleeps,
 * and two connections fill its queue, so that Linux drops each further one in silence.
 */
async function silentPort(): Promise<number> {
  const asleep = new Int32Array(new SharedArrayBuffer(4));
  const listener = new Worker(
    `const { parentPort, workerData } = require("node:worker_threads");
     const server = require("node:net").createServer();
     server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       Atomics.wait(workerData, 0, 0);
       process.exit();
     });`,
    { eval: true, workerData: asleep },
  );
  const [port] = (await once(listener, "message")) as [number];
  const waiting = [1, 2].map(() => createConnection({ port, host: "127.0.0.1" }));
  for (const socket of waiting) socket.on("error", () => {});
  await Promise.all(waiting.map((socket) => once(socket, "connect")));
  onTestFinished(async () => {
    for (const socket of waiting) socket.destroy();
    const exited = once(listener, "exit");
    Atomics.store(asleep, 0, 1);
    Atomics.notify(asleep, 0);
    await exited;
  });
  return port;
}
