import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { faultKinds } from "../../../src/simulator/gateway/faults.ts";
import { readCommandLine } from "../../../src/simulator/gateway/switches.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { scriptOf } from "../../support/programs/child-program.ts";
import { startProcess } from "../../support/programs/own-processes.ts";
import { root } from "../../tidy/sources.ts";
import { account, eventually, generate, LOGIN, orderBody, PASSWORD } from "./sandbox-for-test.ts";

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  output(): string;
}

const main = scriptOf("simulator/gateway/main.ts");

function run(...args: readonly string[]): Run {
  const child = startProcess(process.execPath, [main, ...args], { cwd: root });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { child, ended, output: () => output };
}

/** What the program says of a command line before it stops with 64. */
function problemOf(args: readonly string[]): string {
  const asked = readCommandLine(args);
  expect(asked.ask).toBe("wrong");
  return asked.ask === "wrong" ? asked.problem : "";
}

const credentials = ["--login", LOGIN, "--password", PASSWORD, "--website", "107"];

test("the program listens, says where, takes an order, and stops on a signal", async () => {
  const folder = temporaryFolder();
  const readyFile = join(folder, "ready.json");
  const database = join(folder, "data", "orders.db");
  const program = run(
    "--port",
    "0",
    "--database",
    database,
    "--ready-file",
    readyFile,
    ...credentials,
  );
  await eventually(() => existsSync(readyFile)).toBe(true);
  const { url } = JSON.parse(readFileSync(readyFile, "utf8"));
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  await eventually(program.output).toBe(`listening ${url}\n`);
  expect((await generate({ url })).result["code"]).toBe("0");
  program.child.kill("SIGTERM");
  expect(await program.ended).toBe(0);
  expect(existsSync(readyFile)).toBe(false);
  expect(readFileSync(database, "latin1")).toContain("Order_12345");
  expect(readFileSync(database, "latin1")).not.toContain(PASSWORD);
});

test("a login longer than the description allows is taken, and the start says so", async () => {
  const readyFile = join(temporaryFolder(), "ready.json");
  const login = "99999999.stage.gateway.example.test";
  const program = run(
    "--port",
    "0",
    "--database",
    ":memory:",
    "--ready-file",
    readyFile,
    "--login",
    login,
    "--password",
    PASSWORD,
    "--website",
    "107",
  );
  await eventually(() => existsSync(readyFile)).toBe(true);
  const { url } = JSON.parse(readFileSync(readyFile, "utf8"));
  expect((await generate({ url }, { wsLogin: login })).result["code"]).toBe("0");
  await eventually(program.output).toMatch(
    /^warning: the login 99999999\S+ has 35 characters; the gateway's description allows 32,/m,
  );
});

test("accounts and faults come from files and switches", async () => {
  const folder = temporaryFolder();
  const file = join(folder, "account.json");
  writeFileSync(file, JSON.stringify([account]));
  const readyFile = join(folder, "ready.json");
  run(
    "--port",
    "0",
    "--database",
    ":memory:",
    "--account",
    file,
    "--ready-file",
    readyFile,
    "--fault",
    "wrong-code:code=8,times=1",
  );
  await eventually(() => existsSync(readyFile)).toBe(true);
  const { url } = JSON.parse(readFileSync(readyFile, "utf8"));
  expect((await generate({ url })).result["code"]).toBe("8");
  expect((await generate({ url })).result["code"]).toBe("0");
});

test("a certificate is made and written, and --auto-pay pays orders at once", async () => {
  const folder = temporaryFolder();
  const [readyFile, certificate] = [join(folder, "ready.json"), join(folder, "ca.pem")];
  run(
    "--port",
    "0",
    "--database",
    ":memory:",
    "--ready-file",
    readyFile,
    ...credentials,
    "--tls-self-signed",
    certificate,
    "--auto-pay",
  );
  await eventually(() => existsSync(readyFile)).toBe(true);
  const { url } = JSON.parse(readFileSync(readyFile, "utf8"));
  expect(url).toMatch(/^https:/);
  const ca = readFileSync(certificate, "utf8");
  expect(await sendOver(ca, `${url}/soap/payment-v2`, orderBody)).toContain("<code>0</code>");
  const [order] = JSON.parse(await sendOver(ca, `${url}/sandbox/orders`));
  expect(order.state).toBe("captured");
});

/** GET, or POST of a body, with one certificate as the only authority. */
function sendOver(ca: string, url: string, body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const headers = { "content-type": "text/xml" };
    const outgoing = request(url, { method, agent: false, ca, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve(text));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

test("a command line that cannot be obeyed stops the program with 64 and the reason", async () => {
  const program = run("--colour", "red");
  expect(await program.ended).toBe(64);
  expect(program.output()).toMatch(/--colour/);
  expect(program.output()).toContain("--help");
});

describe("a command line that cannot be obeyed is wrong, and the problem says why:", () => {
  const database = ["--database", ":memory:"];
  const lines: ReadonlyArray<readonly [args: readonly string[], expected: RegExp]> = [
    [["--colour", "red"], /--colour/],
    [["extra"], /extra/],
    [credentials, /--database is missing/],
    [database, /no account/],
    [[...database, "--login", "a"], /belong together/],
    [
      [...database, ...credentials, "--port", "99999"],
      /--port 99999 cannot be used: it must be a whole number from 0 to 65535/,
    ],
    [[...database, ...credentials, "--port", "1", "--port", "2"], /--port is given 2 times/],
    [
      [...database, ...credentials, "--website", "x"],
      /--website x cannot be used: it must be a whole/,
    ],
    [[...database, ...credentials, "--currency", "eur"], /three capital letters/],
    [[...database, ...credentials, "--fault", "explode"], /--fault explode cannot be used: kind/],
    [[...database, ...credentials, "--tls-key", main], /belong together/],
    [[...database, ...credentials, "--tls-key", "k"], /--tls-key k .* cannot be read/],
    [[...database, "--account", "/nowhere.json"], /--account .* cannot be read/],
    [
      [...database, ...credentials, "--tls-self-signed", "/nowhere/c.pem"],
      /--tls-self-signed cannot be written/,
    ],
  ];
  for (const [args, expected] of lines) {
    test(expected.source, () => {
      expect(problemOf(args)).toMatch(expected);
    });
  }
});

test("an account file with faults names every one of them", () => {
  const file = join(temporaryFolder(), "account.json");
  writeFileSync(file, JSON.stringify({ login: "", password: "p", websites: [{ id: "1" }], x: 1 }));
  const problem = problemOf(["--database", ":memory:", "--account", file]);
  for (const name of ["login", "websites.0.id", "websites.0.currency", "x"]) {
    expect(problem).toContain(name);
  }
});

test("the same login in a file and on the command line is refused", () => {
  const file = join(temporaryFolder(), "account.json");
  writeFileSync(file, JSON.stringify(account));
  const problem = problemOf(["--database", ":memory:", "--account", file, ...credentials]);
  expect(problem).toContain("is given twice");
});

test("a port that is taken stops the program with 70 and the reason", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  const address = other.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const program = run("--port", String(port), "--database", ":memory:", ...credentials);
  expect(await program.ended).toBe(70);
  expect(program.output()).toContain("EADDRINUSE");
});

test("--help has a line for every switch and every fault", async () => {
  const program = run("--help");
  expect(await program.ended).toBe(0);
  const source = readFileSync(join(root, "src/simulator/gateway/README.md"), "utf8");
  const named = [...source.matchAll(/`--([a-z-]+)/g)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(10);
  for (const name of named) expect(program.output()).toMatch(new RegExp(`^  --${name}\\b`, "m"));
  for (const [, name] of program.output().matchAll(/^ {2}--([a-z-]+)/gm)) {
    expect(named).toContain(name);
  }
  for (const kind of Object.keys(faultKinds)) {
    expect(program.output()).toMatch(new RegExp(`^  ${kind} `, "m"));
    expect(source).toContain(`\`${kind}\``);
  }
});
