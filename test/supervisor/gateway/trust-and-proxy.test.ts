import { createServer as createHttpServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/shared/time.ts";
import { selfSignedTls } from "../../../src/simulator/gateway/http/self-signed.ts";
import { HttpTransport } from "../../../src/supervisor/gateway/http-transport.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { selfSigned } from "./self-signed.ts";

function openTransport(settings: ConstructorParameters<typeof HttpTransport>[1]) {
  const transport = new HttpTransport(new TestClock(), settings);
  onTestFinished(() => transport.close());
  const { signal } = new AbortController();
  return (url: string) => transport.send({ url, headers: {}, body: "<a/>" }, 30_000, signal);
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

/** A proxy that tunnels everything to one port, or refuses. */
async function proxyTo(port: number | null) {
  const asked: string[] = [];
  const proxy = createHttpServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(500).end();
  });
  proxy.on("connect", (request, socket: Socket) => {
    asked.push(`CONNECT ${request.url}`);
    if (port === null) {
      socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
      return;
    }
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    for (const end of [socket, onward]) end.on("error", () => onward.destroy());
    socket.on("close", () => onward.destroy());
  });
  return { url: `http://127.0.0.1:${await portOf(proxy)}`, asked };
}

test("a certificate of GATEWAY_CA_FILE is trusted in addition to the system's", async () => {
  const server = createTlsServer(selfSigned, (request, response) => {
    request.resume();
    response.end("ok");
  });
  const url = `https://127.0.0.1:${await portOf(server)}/`;
  const trusting = openTransport({ certificates: [selfSigned.cert] });
  expect(await trusting(url)).toMatchObject({ kind: "answered", httpStatus: 200, body: "ok" });
  expect(await openTransport({})(url)).toMatchObject({ cause: "certificate", written: false });
});

describe("a proxy of the environment", () => {
  const certificates = selfSignedTls(["gateway.example.test"], systemClock.now());

  /** A gateway behind a proxy; `behave` ends one request. */
  async function throughProxy(behave: (socket: Socket) => void, variable = "HTTPS_PROXY") {
    const server = createTlsServer(
      { key: certificates.key, cert: certificates.cert },
      (request, response) => {
        request.resume();
        request.on("end", () => {
          behave(request.socket);
          if (!request.socket.destroyed) response.end("ok");
        });
      },
    );
    const proxy = await proxyTo(await portOf(server));
    const send = openTransport({
      certificates: [String(certificates.cert)],
      proxyEnvironment: { [variable]: proxy.url },
    });
    return { proxy, send: () => send("https://gateway.example.test/soap") };
  }

  test.each(["HTTPS_PROXY", "https_proxy"])("%s carries https through a tunnel", async (name) => {
    const { proxy, send } = await throughProxy(() => {}, name);
    expect(await send()).toMatchObject({ kind: "answered", httpStatus: 200, body: "ok" });
    expect(await send()).toMatchObject({ httpStatus: 200 });
    expect(new Set(proxy.asked)).toEqual(new Set(["CONNECT gateway.example.test:443"]));
  });

  test("a connection that breaks after the proxy's tunnel may have sent the request", async () => {
    const { send } = await throughProxy((socket) => void socket.destroy());
    expect(await send()).toMatchObject({ kind: "failed", cause: "socket", written: true });
  });

  test("a proxy that refuses the tunnel has sent nothing", async () => {
    const proxy = await proxyTo(null);
    const send = openTransport({ proxyEnvironment: { HTTPS_PROXY: proxy.url } });
    const exchange = await send("https://gateway.example.test/soap");
    expect(exchange).toMatchObject({ kind: "failed", written: false });
  });

  test("NO_PROXY is respected, and this machine is never reached through one", async () => {
    const proxy = await proxyTo(null);
    const proxyEnvironment = {
      HTTPS_PROXY: proxy.url,
      HTTP_PROXY: proxy.url,
      NO_PROXY: "gateway.invalid",
    };
    const closed = "http://127.0.0.1:1/soap";
    for (const url of ["https://gateway.invalid/", "https://127.0.0.1:1/soap", closed]) {
      const exchange = await openTransport({ proxyEnvironment })(url);
      expect(exchange).toMatchObject({ kind: "failed", cause: "socket", written: false });
    }
    expect(proxy.asked).toEqual([]);
  });
});
