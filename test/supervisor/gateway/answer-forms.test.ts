import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { HttpTransport } from "../../../src/supervisor/gateway/http-transport.ts";
import { readChunks, readPlainHead } from "../../../src/supervisor/gateway/plain-http.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { selfSigned } from "./self-signed.ts";

function openTransport(certificates: readonly string[] = []) {
  const clock = new TestClock();
  const transport = new HttpTransport(clock, { certificates });
  onTestFinished(() => transport.close());
  const { signal } = new AbortController();
  const post = (url: string, headers: Record<string, string> = {}) =>
    transport.send({ url, headers, body: "<a/>" }, 30_000, signal);
  return Object.assign(post, { clock });
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const open = new Set<Socket>();
  server.on("connection", (socket) => open.add(socket));
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  });
  return (server.address() as AddressInfo).port;
}

/** A TCP server that has `answer` say something to each request, with its number from 1. */
async function serve(answer: (socket: Socket, number: number) => void) {
  const sockets: Socket[] = [];
  const asked: string[] = [];
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.push(socket);
    let received = "";
    socket.on("data", (piece) => {
      received += piece.toString("latin1");
      if (!received.endsWith("<a/>")) return;
      asked.push(received);
      received = "";
      answer(socket, asked.length);
    });
    socket.on("error", () => {
      // The client went away.
    });
  });
  return { url: `http://127.0.0.1:${await portOf(server)}/soap`, sockets, asked };
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
/** Answers whose end only the end of the connection shows. */
const endsByClosing = (bytes: string): boolean => /^HTTP\/1.0|200 OK\r\nA: b/.test(bytes);
const endless = (start: string): string => start + "x".repeat(20_000);

const whole: Array<[string, string, number, string]> = [
  ["one length", ok, 200, "ok"],
  ["no text after the status", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", 200, "ok"],
  ["a body without bytes", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", 500, ""],
  ["chunks", `${chunked}1\r\no\r\n00a\r\nk012345678\r\n0\r\n\r\n`, 200, "ok012345678"],
  [
    "an end of chunks inside a chunk",
    `${chunked}7\r\n0\r\n\r\nok\r\n0\r\n\r\n`,
    200,
    "0\r\n\r\nok",
  ],
  ["chunks with extensions and a trailer", `${chunked}2;a=b\r\nok\r\n0\r\nA: b\r\n\r\n`, 200, "ok"],
  ["a character over two chunks", `${chunked}1\r\n\xC3\r\n1\r\n\xA9\r\n0\r\n\r\n`, 200, "é"],
  ["a promise before it", `HTTP/1.1 100 Continue\r\n\r\n${ok}`, 200, "ok"],
  ["hints before it", `HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n${ok}`, 200, "ok"],
  ["no body by its status", "HTTP/1.1 204 Empty\r\n\r\n", 204, ""],
  ["its end where the connection ends", "HTTP/1.1 200 OK\r\nA: b\r\n\r\nok", 200, "ok"],
  ["the older version", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok"],
];

test.each(whole)(
  "an answer with %s is read, cut at any place",
  async (_what, bytes, status, body) => {
    const { url, asked } = await serve((socket, number) => {
      const cut = number - 1;
      socket.write(bytes.slice(0, cut), "latin1");
      // The next turn of the loop reads what was written in this one.
      setImmediate(() =>
        setImmediate(() =>
          endsByClosing(bytes)
            ? socket.end(bytes.slice(cut), "latin1")
            : socket.write(bytes.slice(cut), "latin1"),
        ),
      );
    });
    const post = openTransport();
    const answer = { kind: "answered", httpStatus: status, retryAfter: null, body };
    for (let cut = 0; cut <= bytes.length; cut++) expect(await post(url)).toEqual(answer);
    expect(asked).toHaveLength(bytes.length + 1);
  },
);

test.each([
  ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"],
  ["a length and chunks", `${chunked.replace("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\n")}ok`],
  ["a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\nok"],
  ["a size that is none", `${chunked}2x\r\nok\r\n0\r\n\r\n`],
  ["a chunk that is too long", `${chunked}2\r\nokok\r\n0\r\n\r\n`],
  ["a size beyond all numbers", endless(`${chunked}f`).replaceAll("x", "f")],
  ["a head without end", endless("HTTP/1.1 200 OK\r\nA: ")],
  ["a name with a blank", "HTTP/1.1 200 OK\r\nContent Length: 2\r\n\r\nok"],
  ["another protocol", "HTTP/1.1 101 Go\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n"],
  ["a status that is none", "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok"],
  ["nothing but words", "SSH-2.0-OpenSSH_9.2\r\n\r\n"],
])("an answer with %s is a lost answer at once", async (_what, bytes) => {
  // The connection stays open: nobody waits for the time limit.
  const { url, sockets, asked } = await serve((socket) => socket.write(bytes, "latin1"));
  const lost = { kind: "failed", cause: "socket", written: true };
  expect(await openTransport()(url)).toMatchObject(lost);
  await expect.poll(() => sockets[0]?.closed).toBe(true);
  expect(asked).toHaveLength(1);
});

test.each([
  ["a second answer that nobody asked for", ok + ok.replace("ok", "no")],
  ["the wish to close", ok.replace("\r\n", "\r\nConnection: close\r\n")],
  ["a second in which to close", ok.replace("\r\n", "\r\nKeep-Alive: timeout=1\r\n")],
])("after %s the connection is not used again", async (_what, bytes) => {
  const { url, sockets } = await serve((socket) => socket.write(bytes));
  const post = openTransport();
  expect(await post(url)).toMatchObject({ body: "ok" });
  expect(await post(url)).toMatchObject({ body: "ok" });
  expect(sockets).toHaveLength(2);
});

test.each([
  ["spoke", (socket: Socket) => void socket.write(ok)],
  ["closed", (socket: Socket) => void socket.end()],
])("a connection that %s between two requests is not used again", async (_what, behave) => {
  const { url, sockets, asked } = await serve((socket) => socket.write(ok));
  const post = openTransport();
  expect(await post(url)).toMatchObject({ body: "ok" });
  behave(sockets[0] as Socket);
  await expect.poll(() => sockets[0]?.closed).toBe(true);
  expect(await post(url)).toMatchObject({ body: "ok" });
  expect([sockets.length, asked.length]).toEqual([2, 2]);
});

test.each([
  ["closes", (socket: Socket) => void socket.end()],
  ["breaks", (socket: Socket) => void socket.resetAndDestroy()],
])("a kept connection that %s in a request leaves the outcome unknown", async (_what, behave) => {
  const { url, asked } = await serve((socket, number) => {
    if (number === 1) socket.write(ok);
    else behave(socket);
  });
  const post = openTransport();
  await post(url);
  expect(await post(url)).toMatchObject({ kind: "failed", cause: "socket", written: true });
  // Never sent again by itself.
  expect(asked).toHaveLength(2);
  expect(await post(url)).toMatchObject({ written: true });
  expect(asked).toHaveLength(3);
});

test.each([
  ["two seconds", ok, 2_000],
  [
    "the time that the other side keeps it",
    ok.replace("\r\n", "\r\nKeep-Alive: timeout=2\r\n"),
    1_000,
  ],
])("a connection that is not used is closed after %s", async (_what, bytes, afterMs) => {
  const { url, sockets } = await serve((socket) => socket.write(bytes));
  const post = openTransport();
  await post(url);
  await post.clock.advance(afterMs - 1);
  await post(url);
  expect(sockets).toHaveLength(1);
  await post.clock.advance(afterMs);
  await expect.poll(() => sockets[0]?.closed).toBe(true);
  await post(url);
  expect(sockets).toHaveLength(2);
});

test("a header that would begin another line is not sent", async () => {
  const { url, asked } = await serve((socket) => socket.write(ok));
  const post = openTransport();
  expect(await post(url, { "x-api-key": "a\r\nb: c" })).toMatchObject({
    kind: "failed",
    written: false,
    detail: expect.stringContaining("has a wrong character"),
  });
  await post(url, { "x-api-key": "abc" });
  expect(asked).toHaveLength(1);
});

test("a second secure connection resumes the first one's session", async () => {
  const resumed: boolean[] = [];
  const server = createTlsServer(selfSigned, (request, response) => {
    resumed.push((request.socket as TLSSocket).isSessionReused());
    request.resume();
    response.setHeader("connection", "close").end("ok");
  });
  const url = `https://127.0.0.1:${await portOf(server)}/`;
  const post = openTransport([selfSigned.cert]);
  for (const _ of [1, 2]) expect(await post(url)).toMatchObject({ body: "ok" });
  expect(resumed).toEqual([false, true]);
});

test("plain heads and chunks are distinguished from all others", () => {
  const head = (lines: string): boolean =>
    readPlainHead(Buffer.from(`HTTP/1.1 200 OK\r\n${lines}\r\n\r\n`)) !== undefined;
  for (const plain of ["Content-Length: 2", "content-length:\t2 ", "Transfer-Encoding: Chunked"]) {
    expect(head(plain), plain).toBe(true);
  }
  for (const other of [
    "Content-Length: +2",
    "Content-Length: 2, 2",
    "Transfer-Encoding: gzip, chunked",
    "Content-Length: 2\r\n folded",
    "Content-Length: 2\r\nA\0: b",
    "Content-Length: 2\nA: b",
    "Content-Length : 2",
    "Trailer: A\r\nTransfer-Encoding: chunked",
  ]) {
    expect(head(other), other).toBe(false);
  }
  const chunks = (text: string): unknown => readChunks(Buffer.from(text));
  for (const open of ["", "2", "2\r", "2\r\no", "2\r\nok\r", "2\r\nok\r\n0\r\n"]) {
    expect(chunks(open), open).toBe("more");
  }
  for (const other of ["\r\n", "-1\r\n", "2 \r\nok", "2\nok", "2\r\nokx", "0\r\nA: b"]) {
    expect(chunks(other), other).toBe(undefined);
  }
});
