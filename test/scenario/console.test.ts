import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { scriptOf, until } from "../support/programs/child-program.ts";
import { freePort, TestInstallation } from "../support/programs/installation.ts";
import { outputOf } from "../support/programs/own-processes.ts";

const operator = { login: "operator", password: "test-operator-password" };
const port = await freePort();
const at = new TestInstallation({
  terminalSwitches: ["--instant"],
  config: {
    CONSOLE_PORT: port,
    OPERATOR_LOGIN: operator.login,
    OPERATOR_PWD: operator.password,
  },
});

beforeAll(async () => {
  await at.start();
  await at.connected();
});
afterAll(() => at.stop());

const origin = `http://localhost:${port}`;
const ask = (path: string, headers: Record<string, string> = {}, body?: object) =>
  fetch(`${origin}${path}`, {
    headers: { origin, "content-type": "application/json", ...headers },
    ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
  });

async function logIn(): Promise<Record<string, string>> {
  const [{ token }] = (await (await ask("/session", {}, operator)).json()) as [{ token: string }];
  return { authorization: `Bearer ${token}` };
}

test("the console gives the doctor's report and the support bundle while all runs", async () => {
  const session = await logIn();
  const [report] = (await (await ask("/api/doctor", session)).json()) as [
    { findings: Array<{ check: string; verdict: string; says: string }> },
  ];
  expect(report.findings.length).toBeGreaterThan(5);
  expect(report.findings.filter(({ check }) => check === "doctor")).toEqual([]);
  expect(report.findings.filter(({ check }) => check === "pages")).toMatchObject([
    { verdict: "ok", says: `tp-manager serves the pages of CONSOLE_PORT at ${origin}/` },
  ]);
  const bundle = await ask("/api/support-bundle", session);
  expect([bundle.status, bundle.headers.get("content-type")]).toEqual([200, "application/gzip"]);
  const folder = temporaryFolder();
  writeFileSync(join(folder, "a.tar.gz"), Buffer.from(await bundle.arrayBuffer()));
  const names = execFileSync("tar", ["-tzf", "a.tar.gz"], { cwd: folder, encoding: "utf8" });
  expect(names).toMatch(/config/);
  const said = execFileSync("tar", ["-xzOf", "a.tar.gz"], { cwd: folder, encoding: "utf8" });
  expect(said).toContain("LOCAL_PORT");
  expect(said).not.toContain(operator.password);
});

test("a taken port keeps only the console away, and a restart ends every session", async () => {
  const session = await logIn();
  expect((await ask("/session", session)).status).toBe(200);
  await at.tpManager?.end("SIGTERM");
  const other = createServer().listen(port, "127.0.0.1");
  await once(other, "listening");
  await at.startTpManager();
  await at.connected();
  expect((await at.pay(1, "A-1")).one.status).toBe("Success");
  const log = readFileSync(join(at.data, "logs", "tp-manager.log"), "utf8");
  expect(log).toMatch(
    new RegExp(`console cannot be served: CONSOLE_PORT ${port} on 127.0.0.1 cannot be used`),
  );
  const launcher = scriptOf("launcher/main.ts");
  const launched = (command: string): Promise<string> =>
    outputOf(process.execPath, [launcher, command, "--data", at.data]);
  expect(await launched("doctor")).toMatch(
    new RegExp(
      `^pages +fail +Process ${process.pid} \\(.+\\) listens on CONSOLE_PORT ${port}: .* -> End`,
      "m",
    ),
  );
  expect(await launched("status")).toMatch(
    new RegExp(`^console +missing +CONSOLE_PORT ${port} .*cannot be used`, "m"),
  );
  await at.tpManager?.end("SIGTERM");
  await new Promise((resolve) => other.close(resolve));
  await at.startTpManager();
  await until("the console answers", async () => {
    const answer = await ask("/session", session).catch(() => undefined);
    return answer && (answer.status === 401 || undefined);
  });
  expect((await ask("/session", await logIn())).status).toBe(200);
});
