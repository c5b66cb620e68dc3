import { writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Server } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { checkGateway, checkIds } from "../../../src/launcher/doctor/check-gateway.ts";
import { type Clock, systemClock } from "../../../src/shared/time.ts";
import { selfSignedTls } from "../../../src/simulator/gateway/http/self-signed.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { ChildProgram } from "../../support/programs/child-program.ts";

async function sandbox(): Promise<string> {
  const ready = `${temporaryFolder()}/ready`;
  const program = new ChildProgram("simulator/gateway/main.ts", [
    "--port",
    "0",
    "--database",
    ":memory:",
    "--ready-file",
    ready,
    "--login",
    "shop",
    "--password",
    "good-password",
    "--website",
    "1",
    "--category",
    "1",
  ]);
  onTestFinished(async () => void (await program.end("SIGKILL")));
  return (await program.readyFile<{ url: string }>(ready)).url;
}

async function server(answer: RequestListener): Promise<string> {
  const http = createServer(answer);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void http.close());
  return `http://127.0.0.1:${portOf(http)}`;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

const ask = (
  GATEWAY_URL: string,
  GATEWAY_PWD = "good-password",
  more: { GATEWAY_API_KEY?: string; GATEWAY_CA_FILE?: string } = {},
  clock: Clock = systemClock,
) => {
  const without = { GATEWAY_API_KEY: undefined, GATEWAY_CA_FILE: undefined };
  const login = { GATEWAY_URL, GATEWAY_LOGIN: "shop", GATEWAY_PWD };
  return checkGateway({ ...without, ...login, ...more }, clock);
};

test("a good login is accepted, a wrong one refused, and no order is made", async () => {
  const url = await sandbox();
  const good = await ask(url);
  expect(good.finding).toMatchObject({
    verdict: "ok",
    says: `${url} answers and accepts the login.`,
  });
  expect(Math.abs((good.nowMs ?? 0) - systemClock.now())).toBeLessThan(60_000);
  const { finding } = await ask(url, "wrong-password");
  expect(finding).toMatchObject({
    verdict: "fail",
    says: `${url} refuses the login or the password (status 401).`,
    todo: "Correct GATEWAY_LOGIN and GATEWAY_PWD in the setup file, then run ./launch.sh restart",
  });
  expect(await (await fetch(`${url}/sandbox/orders`)).json()).toEqual([]);
});

test("an id that the gateway's list lacks is a warning; no list, no check", async () => {
  const listed = async (GATEWAY_URL: string, website: string, category: string) =>
    await checkIds(
      {
        GATEWAY_URL,
        GATEWAY_LOGIN: "shop",
        GATEWAY_PWD: "good-password",
        GATEWAY_API_KEY: undefined,
        GATEWAY_CA_FILE: undefined,
        GATEWAY_WEBSITE_ID: website,
        GATEWAY_CATEGORY_ID: category,
      },
      systemClock,
      "config.txt",
    );
  const url = await sandbox();
  const warning = (detail: string) => ({ code: "setup-doubtful", values: { detail } });
  const unknown = {
    code: "gateway-ids-unknown",
    verdict: "ok",
    says: expect.stringMatching(/^GATEWAY_WEBSITE_ID 1 and GATEWAY_CATEGORY_ID 1 are not checked/),
  };
  expect(await listed(url, "1", "1")).toBeUndefined();
  expect(await listed(url, "999", "1")).toMatchObject(
    warning("the gateway lists no categories of GATEWAY_WEBSITE_ID 999 (website not found)"),
  );
  expect(await listed(url, "1", "7")).toMatchObject(
    warning("GATEWAY_CATEGORY_ID 7 is none of the website's categories: 1"),
  );
  expect(await (await fetch(`${url}/sandbox/orders`)).json()).toEqual([]);
  const page = await server((_request, response) => void response.writeHead(404).end("<message>"));
  expect(await listed(page, "1", "1")).toMatchObject(unknown);
  expect(await listed("http://127.0.0.1:1", "1", "1")).toMatchObject(unknown);
});

test("one GET is all that is sent, and no redirect takes the login elsewhere", async () => {
  const requests: string[] = [];
  const url = await server((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(302, { location: "/elsewhere" }).end();
  });
  expect((await ask(url)).finding).toMatchObject({ verdict: "warn" });
  expect(requests).toEqual(["GET /v3/transaction/0"]);
});

test("a server that says nothing about the login leaves the check open", async () => {
  const url = await server((_request, response) => void response.writeHead(404).end("<html>"));
  const { finding } = await ask(url);
  expect(finding.verdict).toBe("warn");
  expect(finding.says).toContain("answers with status 404, which does not show whether");
});

test("a gateway that cannot be reached is a failure with what to check", async () => {
  const nobody = await ask("http://127.0.0.1:1");
  expect(nobody.finding).toMatchObject({
    verdict: "fail",
    todo: "Check GATEWAY_URL in the setup file, the network and the firewall.",
  });
  expect(nobody.finding.says).toContain("cannot be reached");
  expect(nobody.nowMs).toBeUndefined();
});

test("the lookup trusts GATEWAY_CA_FILE and takes the proxy, as the supervisor does", async () => {
  const tls = selfSignedTls(["gateway.example.test"], systemClock.now());
  const caFile = `${temporaryFolder()}/ca.pem`;
  writeFileSync(caFile, tls.cert);
  const gateway = createTlsServer({ key: tls.key, cert: tls.cert }, (_request, response) => {
    response.writeHead(404).end('{"code":3000002}');
  });
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void gateway.close());
  const tunnels: (string | undefined)[] = [];
  const proxy = createServer().on("connect", (request, socket) => {
    tunnels.push(request.url);
    const onward = connect(portOf(gateway), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    for (const end of [socket, onward]) end.on("error", () => onward.destroy());
    socket.on("close", () => onward.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  vi.stubEnv("HTTPS_PROXY", `http://127.0.0.1:${portOf(proxy)}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const url = "https://gateway.example.test";
  const trusting = await ask(url, undefined, { GATEWAY_CA_FILE: caFile });
  expect(trusting.finding).toMatchObject({ verdict: "ok" });
  expect(tunnels).toEqual(["gateway.example.test:443"]);
  const strict = await ask(url);
  expect(strict.finding.says).toContain("is not trusted");
  expect(strict.finding.todo).toContain("GATEWAY_CA_FILE");
  const broken = await ask(url, undefined, { GATEWAY_CA_FILE: "/not/there.pem" });
  expect(broken.finding.says).toMatch(/is not trusted: GATEWAY_CA_FILE \/not\/there.pem cannot/);
});

test.each([
  ["never answers", ""],
  ["opens a tunnel to a silent gateway", "HTTP/1.1 200 OK\r\n\r\n"],
])("a proxy that %s is not waited for, and no connection to it stays open", async (_, answer) => {
  const clock = new TestClock();
  const closed = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const proxy = createServer().on("connect", (_request, socket) => {
    for (const end of ["end", "error"]) socket.once(end, () => closed.resolve());
    socket.write(answer);
    if (answer === "") asked.resolve();
    socket.on("data", () => asked.resolve());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  vi.stubEnv("HTTPS_PROXY", `http://127.0.0.1:${portOf(proxy)}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const checked = ask("https://gateway.example.test", undefined, {}, clock);
  await asked.promise;
  await clock.advance(10_000);
  expect((await checked).finding.says).toContain("has not answered within 10 s");
  await closed.promise;
});

test("an HTTPS_PROXY that is no address is reported without its password", async () => {
  vi.stubEnv("HTTPS_PROXY", "http://user:pa/ss@proxy:8080");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { finding } = await ask("https://gateway.example.test");
  expect(finding.says).toContain("HTTPS_PROXY is not a valid address");
  expect(JSON.stringify(finding)).not.toContain("pa/ss");
});

test("a key for the lookup is tested in place of the login", async () => {
  const requests: unknown[] = [];
  const url = await server(({ headers }, response) => {
    requests.push([headers["x-api-key"], headers.authorization]);
    response.writeHead(headers["x-api-key"] === "right" ? 404 : 401).end('{"code":3000002}');
  });
  const withKey = async (key: string) =>
    (await ask(url, undefined, { GATEWAY_API_KEY: key })).finding;
  expect(await withKey("right")).toMatchObject({
    verdict: "ok",
    says: `${url} answers and accepts GATEWAY_API_KEY; the login is not tested.`,
  });
  expect(await withKey("wrong")).toMatchObject({
    verdict: "fail",
    says: `${url} refuses GATEWAY_API_KEY (status 401).`,
  });
  expect(requests).toEqual([
    ["right", undefined],
    ["wrong", undefined],
  ]);
});
