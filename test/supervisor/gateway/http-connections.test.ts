import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  type Exchange,
  HttpConnections,
  HttpExchange,
} from "../../../src/supervisor/gateway/http-connections.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

/** No answer came, or none that was understood. */
class LocalFailure extends Error {
  /** The message may have arrived. */
  readonly connected: boolean;

  constructor(connected: boolean) {
    super("no answer");
    this.connected = connected;
  }
}

/** A server that hears every message and writes what a test says. */
async function pair() {
  const heard: Array<{ readonly text: string; readonly socket: Socket }> = [];
  const wakes: Array<() => void> = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      heard.push({ text: bytes.toString("utf8"), socket });
      for (const wake of wakes.splice(0)) wake();
    });
  });
  const path = join(temporaryFolder(), "local.sock");
  const socketPath = process.platform === "win32" ? String.raw`\\.\pipe\${path}` : path;
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const clock = new TestClock();
  const { signal } = new AbortController();
  /** The answers that were left to the other reader, which reads none of them here. */
  const left: string[] = [];
  const connections = new HttpConnections({
    clock,
    open(_origin, opened) {
      const socket = connect({ path: socketPath });
      return socket.once("connect", () => opened(null, socket));
    },
    answerBytesMax: 1_000,
    readOther(exchange, pieces, socket) {
      left.push(Buffer.concat(pieces).toString("utf8"));
      exchange.fail("socket", "left to the other reader");
      socket.destroy();
    },
  });
  onTestFinished(() => {
    connections.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    clock,
    sockets,
    connections,
    left,
    async send(body: string, timeoutMs = 100) {
      const to = { url: "http://localhost/v1/a", headers: { a: "b" } };
      const end = await new Promise<Exchange>((resolve) => {
        const exchange = new HttpExchange({ clock, name: "answer", timeoutMs, signal }, resolve);
        connections.send({ ...to, body }, exchange);
      });
      if (end.kind === "answered" && end.body !== null) {
        return { status: end.httpStatus, text: end.body, retryAfter: end.retryAfter };
      }
      throw new LocalFailure(end.kind === "answered" || end.written);
    },
    async nextHeard() {
      while (heard.length === 0) await new Promise<void>((wake) => wakes.push(wake));
      return heard.shift() as (typeof heard)[number];
    },
  };
}

const OK = "HTTP/1.1 200 OK\r\n";

async function failureOf(sent: Promise<unknown>): Promise<LocalFailure> {
  const error = await sent.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(LocalFailure);
  return error as LocalFailure;
}

test("a message is written once, and answers follow over one connection", async () => {
  const { send, nextHeard, sockets } = await pair();
  for (const body of ["1", "ä€"]) {
    const sent = send(body);
    const { text, socket } = await nextHeard();
    const length = Buffer.byteLength(body);
    const rest = `connection: keep-alive\r\na: b\r\ncontent-length: ${length}\r\n\r\n${body}`;
    expect(text).toBe(`POST /v1/a HTTP/1.1\r\nhost: localhost\r\n${rest}`);
    socket.write(`${OK}Retry-After: 7\r\ncontent-length: ${length}\r\n\r\n${body}`);
    expect(await sent).toMatchObject({ status: 200, text: body });
    expect((await sent).retryAfter).toBe("7");
  }
  expect(sockets.size).toBe(1);
});

test("an answer may come in chunks, and after its head in pieces cut anywhere", async () => {
  const { send, nextHeard } = await pair();
  const sent = send("1");
  const { socket } = await nextHeard();
  const head = `${OK}transfer-encoding: chunked\r\n\r\n`;
  for (const piece of [head, ..."2\r\n{}\r\n0\r\n\r\n"]) {
    await new Promise<void>((written) => {
      socket.write(piece, () => setImmediate(written));
    });
  }
  expect(await sent).toMatchObject({ status: 200, text: "{}" });
});

test.each([
  ["of a form that is not plain", "HTTP/1.0 200 OK\r\n\r\n{}"],
  ["without a length", `${OK}\r\n{}`],
  ["with a head that is cut", OK],
])("an answer %s is left to the other reader, once", async (_name, answer) => {
  const { send, nextHeard, left, sockets } = await pair();
  for (const body of ["1", "2"]) {
    const sent = failureOf(send(body));
    (await nextHeard()).socket.write(answer);
    expect((await sent).connected).toBe(true);
  }
  expect(left).toEqual([answer, answer]);
  expect(sockets.size).toBe(2); // the connection of such an answer is not used again
});

test("an answer larger than any is none", async () => {
  const { send, nextHeard, left } = await pair();
  const sent = failureOf(send("1"));
  (await nextHeard()).socket.write(`${OK}content-length: 2000\r\n\r\n${"x".repeat(1_001)}`);
  expect((await sent).connected).toBe(true);
  expect(left).toEqual([]);
});

test("bytes that were not asked for are not taken for the next answer", async () => {
  const { send, nextHeard, sockets } = await pair();
  const answer = `${OK}content-length: 1\r\n\r\n1`;
  const first = send("1");
  (await nextHeard()).socket.write(answer + answer);
  expect((await first).text).toBe("1");
  const second = send("2");
  (await nextHeard()).socket.write(`${OK}content-length: 1\r\n\r\n2`);
  expect((await second).text).toBe("2");
  expect(sockets.size).toBe(2);
});

test("a connection that was idle for long, or is to be closed, is not used again", async () => {
  const { send, nextHeard, sockets, clock } = await pair();
  const heads = ["", "keep-alive: timeout=5\r\n", "connection: close\r\n", ""];
  for (const [i, head] of heads.entries()) {
    const sent = send("1");
    (await nextHeard()).socket.write(`${OK}${head}content-length: 0\r\n\r\n`);
    await sent;
    if (i === 0) await clock.advance(2_001);
  }
  expect(sockets.size).toBe(3);
});
