import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { checkGateway } from "../../../src/launcher/doctor/check-gateway.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { ChildProgram } from "../../support/child-program.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

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
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

const ask = (GATEWAY_URL: string, GATEWAY_PWD = "good-password") =>
  checkGateway({ GATEWAY_URL, GATEWAY_LOGIN: "shop", GATEWAY_PWD }, systemClock);

test("a good login is accepted, a wrong one refused, and no order is made", async () => {
  const url = await sandbox();
  const good = await ask(url);
  expect(good.finding).toMatchObject({
    verdict: "ok",
    says: `${url} answers and accepts the login`,
  });
  expect(Math.abs((good.nowMs ?? 0) - systemClock.now())).toBeLessThan(60_000);
  const { finding } = await ask(url, "wrong-password");
  expect(finding).toMatchObject({
    verdict: "fail",
    says: `${url} refuses the login or the password (HTTP 401)`,
    todo: "correct GATEWAY_LOGIN and GATEWAY_PWD, then ./launch.sh restart",
  });
  expect(await (await fetch(`${url}/sandbox/orders`)).json()).toEqual([]);
});

test("one GET is all that is sent, and no redirect takes the login elsewhere", async () => {
  const seen: string[] = [];
  const url = await server((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    response.writeHead(302, { location: "/elsewhere" }).end();
  });
  expect((await ask(url)).finding).toMatchObject({ verdict: "warn" });
  expect(seen).toEqual(["GET /v3/transaction/0"]);
});

test("a server that says nothing about the login leaves the check open", async () => {
  const url = await server((_request, response) => void response.writeHead(404).end("<html>"));
  const { finding } = await ask(url);
  expect(finding.verdict).toBe("warn");
  expect(finding.says).toContain("answers with HTTP 404, which does not show whether");
});

test("a gateway that cannot be reached is a failure with what to check", async () => {
  const nobody = await ask("http://127.0.0.1:1");
  expect(nobody.finding).toMatchObject({
    verdict: "fail",
    todo: "check GATEWAY_URL, the network and the firewall",
  });
  expect(nobody.finding.says).toContain("cannot be reached");
  expect(nobody.nowMs).toBeUndefined();
});
