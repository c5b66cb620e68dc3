import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { HttpTransport } from "../../../src/supervisor/gateway/http-transport.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { selfSigned } from "./self-signed.ts";

/** The largest answer that is read. */
const ANSWER_BYTES_MAX = 256 * 1024;
const TIMEOUT_MS = 30_000;
const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** A transport with a clock that stands still, and nothing left over at the end. */
function openTransport() {
  const clock = new TestClock();
  const transport = new HttpTransport(clock);
  onTestFinished(() => {
    transport.close();
    expect(clock.running).toEqual([]);
  });
  const post = (url: string, body = "<a/>", signal = new AbortController().signal) =>
    transport.send({ url, headers: { "content-type": "text/xml" }, body }, TIMEOUT_MS, signal);
  return { clock, transport, post };
}

/** A TCP server; `onRequest` is called with all that has come, whenever more comes. */
async function listen(onRequest: (socket: Socket, received: string) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      onRequest(socket, received);
    });
    socket.on("error", () => {
      // The client went away, as the test asked for.
    });
  });
  return { url: `http://127.0.0.1:${await portOf(server)}/soap`, sockets };
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

test("the clock of the server that answered last shows how far ours is ahead", async () => {
  const dates = ["not a time", "Thu, 15 Jan 2026 11:59:50 GMT", undefined];
  const { url } = await listen((socket, received) => {
    if (!isWhole(received)) return;
    const date = dates.shift();
    socket.write(ok.replace("\r\n", date === undefined ? "\r\n" : `\r\nDate: ${date}\r\n`));
  });
  const { clock, transport, post } = openTransport();
  const ahead = [transport.clockAheadSeconds];
  for (let i = 0; i < 3; i++) {
    await post(url);
    ahead.push(transport.clockAheadSeconds);
  }
  // Half a second is added to the whole seconds of the server's time.
  expect(ahead).toEqual([null, null, 10, 10]);
  clock.jumpWallClock(-3_600_000);
  await clock.advance(3_600_000);
  expect(transport.clockAheadSeconds).toBe(10 - 3_600);
});

const isWhole = (received: string): boolean => received.endsWith("<a/>");

test("an answer comes with status, Retry-After and body as UTF-8", async () => {
  const { url } = await listen((socket, received) => {
    if (!isWhole(received)) return;
    socket.end(
      "HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\n\xC3\xA9ok",
      "latin1",
    );
  });
  expect(await openTransport().post(url)).toEqual({
    kind: "answered",
    httpStatus: 503,
    retryAfter: "7",
    body: "éok",
  });
});

test("the request is one POST with its headers, length and body", async () => {
  let request = "";
  const { url } = await listen((socket, received) => {
    request = received;
    if (isWhole(received)) socket.write(ok);
  });
  await openTransport().post(url);
  expect(request).toMatch(/^POST \/soap HTTP\/1\.1\r\n/);
  expect(request.toLowerCase()).toContain("content-type: text/xml\r\n");
  expect(request.toLowerCase()).toContain("content-length: 4\r\n");
  expect(request).toMatch(/\r\n\r\n<a\/>$/);
});

test("a connection is used again for the next request", async () => {
  const { url, sockets } = await listen((socket, received) => {
    if (isWhole(received)) socket.write(ok);
  });
  const { post } = openTransport();
  await post(url);
  await post(url);
  expect(sockets).toHaveLength(1);
});

test("where nobody listens, nothing was written", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  expect(await openTransport().post(`http://127.0.0.1:${port}/`)).toEqual({
    kind: "failed",
    cause: "socket",
    written: false,
    detail: expect.stringContaining("ECONNREFUSED"),
  });
});

test("an unknown host is a fault before anything was written", async () => {
  expect(await openTransport().post("http://no-such-host.invalid/")).toMatchObject({
    kind: "failed",
    cause: "socket",
    written: false,
  });
});

test("a connection reset after the request was read leaves the outcome unknown", async () => {
  const { url } = await listen((socket, received) => {
    if (isWhole(received)) socket.resetAndDestroy();
  });
  expect(await openTransport().post(url)).toMatchObject({
    kind: "failed",
    cause: "socket",
    written: true,
  });
});

test.each([
  ["without a word", ""],
  ["inside the headers", "HTTP/1.1 200 OK\r\nConte"],
  ["inside the body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<half"],
  ["inside a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n<half"],
  ["after words that are no HTTP", "SSH-2.0-OpenSSH_9.2\r\n"],
])("a connection closed %s after the request is a lost answer", async (_where, bytes) => {
  const { url } = await listen((socket, received) => {
    if (isWhole(received)) socket.end(bytes);
  });
  expect(await openTransport().post(url)).toMatchObject({
    kind: "failed",
    cause: "socket",
    written: true,
  });
});

test("silence after the request ends at the time limit, with the outcome unknown", async () => {
  const heard = Promise.withResolvers<void>();
  const { url } = await listen((_socket, received) => {
    if (isWhole(received)) heard.resolve();
  });
  const { clock, post } = openTransport();
  const exchange = post(url);
  await heard.promise;
  await clock.advance(TIMEOUT_MS);
  expect(await exchange).toEqual({
    kind: "failed",
    cause: "timeout",
    written: true,
    detail: "no complete answer within 30000 ms",
  });
});

test("an answer that trickles without end is cut at the same time limit", async () => {
  const heard = Promise.withResolvers<void>();
  const { url } = await listen((socket, received) => {
    if (!isWhole(received)) return;
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<");
    heard.resolve();
  });
  const { clock, post } = openTransport();
  const exchange = post(url);
  await heard.promise;
  await clock.advance(TIMEOUT_MS);
  expect(await exchange).toMatchObject({ cause: "timeout", written: true });
});

test("a TLS handshake that never ends is a time-out before anything was written", async () => {
  const heard = Promise.withResolvers<void>();
  const { url } = await listen(() => heard.resolve());
  const { clock, post } = openTransport();
  const exchange = post(url.replace("http:", "https:"));
  await heard.promise;
  await clock.advance(TIMEOUT_MS);
  expect(await exchange).toMatchObject({ cause: "timeout", written: false });
});

test("a certificate that nobody has signed is refused before anything was written", async () => {
  let requests = 0;
  const server = createTlsServer(selfSigned, () => (requests += 1));
  const port = await portOf(server);
  expect(await openTransport().post(`https://127.0.0.1:${port}/`)).toMatchObject({
    cause: "certificate",
    written: false,
    detail: expect.stringMatching(/SELF_SIGNED/),
  });
  expect(requests).toBe(0);
});

test("a server that speaks no TLS is a fault before anything was written", async () => {
  const { url } = await listen((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  expect(await openTransport().post(url.replace("http:", "https:"))).toMatchObject({
    kind: "failed",
    written: false,
  });
});

test("a redirect is an answer and is not followed", async () => {
  const elsewhere = await listen(() => expect.unreachable("the redirect was followed"));
  const { url } = await listen((socket, received) => {
    if (!isWhole(received)) return;
    const head = `HTTP/1.1 307 Go\r\nLocation: ${elsewhere.url}\r\nContent-Length: 0\r\n\r\n`;
    socket.write(head);
  });
  expect(await openTransport().post(url)).toMatchObject({ kind: "answered", httpStatus: 307 });
  expect(elsewhere.sockets).toEqual([]);
});

test("an answer is read up to its limit, and given up beyond it", async () => {
  const serve = async (bytes: number) => {
    const { url } = await listen((socket, received) => {
      if (!isWhole(received)) return;
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`);
      socket.write("x".repeat(bytes));
    });
    return await openTransport().post(url);
  };
  expect(await serve(ANSWER_BYTES_MAX)).toMatchObject({ body: "x".repeat(ANSWER_BYTES_MAX) });
  expect(await serve(ANSWER_BYTES_MAX + 1)).toMatchObject({ httpStatus: 200, body: null });
});

test("an endless answer is given up and its connection closed", async () => {
  const { url, sockets } = await listen((socket, received) => {
    if (!isWhole(received)) return;
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const more = (): void => {
      while (socket.writable && socket.write("x".repeat(65_536)));
      if (socket.writable) socket.once("drain", more);
    };
    more();
  });
  expect(await openTransport().post(url)).toMatchObject({ httpStatus: 200, body: null });
  await expect.poll(() => sockets[0]?.closed).toBe(true);
});

test("a stop ends a running exchange at once and says that it was written", async () => {
  const heard = Promise.withResolvers<void>();
  const { url } = await listen((_socket, received) => {
    if (isWhole(received)) heard.resolve();
  });
  const { post } = openTransport();
  const stop = new AbortController();
  const exchange = post(url, "<a/>", stop.signal);
  await heard.promise;
  stop.abort();
  expect(await exchange).toMatchObject({ cause: "stopped", written: true });
});

test("after a stop nothing is sent any more", async () => {
  const { url, sockets } = await listen(() => expect.unreachable("a request was sent"));
  const exchange = await openTransport().post(url, "<a/>", AbortSignal.abort());
  expect(exchange).toMatchObject({ cause: "stopped", written: false });
  expect(sockets).toEqual([]);
});
