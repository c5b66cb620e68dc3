import { writeFileSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { proxyChoice } from "../../../src/shared/config/proxy.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { selfSignedTls } from "../../../src/simulator/gateway/http/self-signed.ts";
import { HttpTransport } from "../../../src/supervisor/gateway/http-transport.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { testProxy } from "../../support/programs/test-proxy.ts";
import { selfSigned } from "./self-signed.ts";

function openTransport(
  settings: ConstructorParameters<typeof HttpTransport>[1],
  clock = new TestClock(),
) {
  const transport = new HttpTransport(clock, settings);
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

describe("a proxy", () => {
  const own = selfSignedTls(["gateway.example.test"], systemClock.now());
  const certificates = [String(own.cert)];
  const gateway = "https://gateway.example.test/soap";

  /** A gateway, to which a proxy leads; `behave` ends one request. */
  async function gatewayPort(behave: (socket: Socket) => void = () => {}) {
    const { key, cert } = own;
    const server = createTlsServer({ key, cert }, (request, response) => {
      request.resume();
      request.on("end", () => {
        behave(request.socket);
        if (!request.socket.destroyed) response.end("ok");
      });
    });
    return await portOf(server);
  }

  test.each([
    ["HTTPS_PROXY", {}],
    ["https_proxy", { NO_PROXY: "other.example.test" }],
  ])("%s carries https through one tunnel", async (name, settings) => {
    const proxy = await testProxy({ to: await gatewayPort() });
    const proxyFor = proxyChoice(settings, { [name]: proxy.url });
    const send = openTransport({ certificates, proxyFor });
    expect(await send(gateway)).toMatchObject({ kind: "answered", httpStatus: 200, body: "ok" });
    expect(await send(gateway)).toMatchObject({ httpStatus: 200 });
    expect(proxy.asked).toEqual(["CONNECT gateway.example.test:443"]);
  });

  test("gets the login of the settings, and a wrong login is no secret of the log", async () => {
    const proxy = await testProxy({ to: await gatewayPort(), login: "kiosk:s:e/cr%t" });
    const settings = { PROXY_URL: proxy.url, PROXY_USER: "kiosk", PROXY_PASSWORD: "s:e/cr%t" };
    const right = openTransport({ certificates, proxyFor: proxyChoice(settings, {}) });
    expect(await right(gateway)).toMatchObject({ httpStatus: 200 });
    const wrong = { ...settings, PROXY_PASSWORD: "wr0ng/" };
    const exchange = await openTransport({ proxyFor: proxyChoice(wrong, {}) })(gateway);
    expect(exchange).toMatchObject({ kind: "failed", cause: "socket", written: false });
    expect(exchange).toMatchObject({
      detail: expect.stringMatching(/127.0.0.1:\d+\/: .* 407 Proxy/),
    });
    expect(JSON.stringify(exchange)).not.toMatch(/wr0ng|kiosk/);
  });

  test("a connection that breaks after the proxy's tunnel may have sent the request", async () => {
    const proxy = await testProxy({ to: await gatewayPort((socket) => void socket.destroy()) });
    const proxyFor = proxyChoice({ PROXY_URL: proxy.url }, {});
    const exchange = await openTransport({ certificates, proxyFor })(gateway);
    expect(exchange).toMatchObject({ kind: "failed", cause: "socket", written: true });
  });

  test.each<[string, (socket: Socket) => void, string]>([
    ["refuses", (socket) => void socket.end("HTTP/1.1 502 Bad\r\n\r\n<html>"), "502 Bad"],
    ["demands a login", (socket) => void socket.end("HTTP/1.1 407 No\r\n\r\n"), "407 No"],
    ["answers with a page", (socket) => void socket.end("<html>sorry</html>"), "unexpectedly"],
    ["closes", (socket) => void socket.end(), "unexpectedly"],
    ["resets", (socket) => void socket.resetAndDestroy(), "ECONNRESET"],
    ["ends its tunnel at once", (socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\n"), "TLS"],
  ])("one that %s has sent nothing", async (_name, answer, why) => {
    const proxy = await testProxy({ answer });
    const proxyFor = proxyChoice({ PROXY_URL: proxy.url }, {});
    const exchange = await openTransport({ proxyFor })(gateway);
    const detail = expect.stringContaining(why);
    expect(exchange).toMatchObject({ kind: "failed", cause: "socket", written: false, detail });
    await expect.poll(proxy.open).toBe(0);
  });

  test("one that is not there has sent nothing", async () => {
    const proxyFor = proxyChoice({ PROXY_URL: "http://127.0.0.1:1" }, {});
    const exchange = await openTransport({ proxyFor })(gateway);
    const detail = expect.stringContaining("ECONNREFUSED 127.0.0.1:1");
    expect(exchange).toMatchObject({ kind: "failed", cause: "socket", written: false, detail });
  });

  test.each([
    ["does not answer", ""],
    ["opens a tunnel to a silent gateway", "HTTP/1.1 200 OK\r\n\r\n"],
  ])("a connection to one that %s ends with the time limit", async (_name, text) => {
    const asked = Promise.withResolvers<void>();
    const proxy = await testProxy({
      answer(socket) {
        if (text === "") asked.resolve();
        socket.on("data", () => asked.resolve());
        socket.write(text);
      },
    });
    const clock = new TestClock();
    const send = openTransport({ proxyFor: proxyChoice({ PROXY_URL: proxy.url }, {}) }, clock);
    const exchange = send(gateway);
    await asked.promise;
    await clock.advance(30_000);
    expect(await exchange).toMatchObject({ kind: "failed", cause: "timeout", written: false });
    await expect.poll(proxy.open).toBe(0);
  });

  test("one that decrypts TLS is trusted by PROXY_CA_FILE, and only for its tunnels", async () => {
    const port = await gatewayPort();
    const proxy = await testProxy({ to: port });
    const PROXY_CA_FILE = join(temporaryFolder(), "proxy.pem");
    writeFileSync(PROXY_CA_FILE, own.cert);
    const through = (settings: object) =>
      openTransport({ proxyFor: proxyChoice({ PROXY_URL: proxy.url, ...settings }, {}) });
    expect(await through({ PROXY_CA_FILE })(gateway)).toMatchObject({ httpStatus: 200 });
    const untrusted = { kind: "failed", cause: "certificate", written: false };
    expect(await through({})(gateway)).toMatchObject(untrusted);
    const directly = await through({ PROXY_CA_FILE })(`https://127.0.0.1:${port}/`);
    expect(directly).toMatchObject(untrusted);
  });

  test("an invalid HTTPS_PROXY sends nothing, and is not quoted", async () => {
    const proxyFor = proxyChoice({}, { HTTPS_PROXY: "http://user:pa/ss@proxy:8080" });
    const exchange = await openTransport({ proxyFor })(gateway);
    const detail = "HTTPS_PROXY is not a valid address";
    expect(exchange).toEqual({ kind: "failed", cause: "socket", written: false, detail });
  });

  test("NO_PROXY is respected, and this machine is never reached through one", async () => {
    const { url: HTTPS_PROXY, asked } = await testProxy({});
    const environment = { HTTPS_PROXY, HTTP_PROXY: HTTPS_PROXY, NO_PROXY: "gateway.invalid" };
    const closed = "http://127.0.0.1:1/soap";
    for (const url of ["https://gateway.invalid/", "https://127.0.0.1:1/soap", closed]) {
      const exchange = await openTransport({ proxyFor: proxyChoice({}, environment) })(url);
      expect(exchange).toMatchObject({ kind: "failed", cause: "socket", written: false });
    }
    expect(asked).toEqual([]);
  });
});
