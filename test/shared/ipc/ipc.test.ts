import { readFileSync, statSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createIpcClient, IpcError } from "../../../src/shared/ipc/client.ts";
import { ipcToken, openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { asSlow, PATIENCE_MS } from "../../support/clocks/patience.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { until } from "../../support/programs/child-program.ts";
import { spawnChild, startChild, type TalkingChild } from "../talking-child.ts";
import { testMessages } from "./test-messages.ts";

async function startServer(data: string): Promise<TalkingChild> {
  const child = startChild("ipc/test-server.ts", data);
  expect(await child.nextLine()).toBe("listening");
  return child;
}

function clientFor(run: string) {
  const client = createIpcClient(run, "supervisor", testMessages, systemClock);
  onTestFinished(() => client.close());
  return client;
}

/** A server that most tests share, for each process takes its time to start. */
const sharedData = temporaryFolder(afterAll);
const sharedServer = spawnChild("ipc/test-server.ts", sharedData);
afterAll(() => sharedServer.kill("SIGKILL"));
beforeAll(async () => {
  expect(await sharedServer.nextLine()).toBe("listening");
});

const shared = () => ends(sharedData, sharedServer);

/** A server of its own, for a test that ends it or damages its files. */
async function pair() {
  const data = temporaryFolder();
  return ends(data, await startServer(data));
}

function ends(data: string, server: TalkingChild) {
  const run = openRunDirectory(data);
  const log = (): string => readFileSync(join(data, "logs", "supervisor.log"), "utf8");
  return { server, run, data, log, client: clientFor(run) };
}

async function failureOf(call: Promise<unknown>): Promise<IpcError> {
  const error: unknown = await call.then(
    () => new Error("was answered"),
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(IpcError);
  return error as IpcError;
}

/** A request as any other program on the machine could make it. */
function raw(
  run: string,
  path: string,
  { method = "POST", token = ipcToken(run) as string | null, body = "{}" } = {},
): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = token === null ? {} : { "x-connector-token": token };
    const socketPath = join(run, "supervisor.sock");
    const request = httpRequest({ socketPath, path, method, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    request.on("error", reject);
    request.end(method === "GET" ? undefined : body);
  });
}

describe("a message between two processes", () => {
  test("is answered, also several at once and of every kind of text", async () => {
    const { client, server } = shared();
    const texts = ["", "a", "äöü €", "\u0000\u2028\ud83d\udcb6", "x".repeat(900_000)];
    const answers = await Promise.all(
      texts.map((text) => client.call("echo", { text }, PATIENCE_MS)),
    );
    expect(answers).toEqual(texts.map((text) => ({ text, pid: server.pid })));
  });

  test("may carry fields of a newer version, which are left out", async () => {
    const { client, server } = shared();
    const newer = { text: "a", addedLater: { deep: true } };
    expect(await client.call("echo", newer, PATIENCE_MS)).toEqual({ text: "a", pid: server.pid });
  });

  test("goes through a socket that only the owner can open", () => {
    const { run } = shared();
    expect(statSync(join(run, "supervisor.sock")).mode & 0o777).toBe(0o600);
  });
});

describe("the server refuses", () => {
  test("every request without the right token, with 401", async () => {
    const { run } = shared();
    const right = ipcToken(run);
    for (const token of [null, "", right.slice(1), `${right}0`, right.toUpperCase(), "\u00e9"]) {
      const { status } = await raw(run, "/v1/echo", { token, body: '{"text":"a"}' });
      expect(status, String(token)).toBe(401);
    }
    expect((await raw(run, "/v1/echo", { body: '{"text":"a"}' })).status).toBe(200);
  });

  test("an empty token, even when the file was emptied", async () => {
    const { run, client, server } = await pair();
    writeFileSync(join(run, "token"), "");
    expect((await raw(run, "/v1/echo", { token: "", body: '{"text":"a"}' })).status).toBe(401);
    expect(await client.call("echo", { text: "b" }, PATIENCE_MS)).toEqual({
      text: "b",
      pid: server.pid,
    });
  });

  test.each([
    ["POST", "/v1/unknown"],
    ["POST", "/v1/constructor"],
    ["POST", "/v1/__proto__"],
    ["POST", "/v2/echo"],
    ["POST", "/v1/echo/"],
    ["POST", "/echo"],
    ["GET", "/v1/echo"],
    ["PUT", "/v1/echo"],
  ])("%s %s with 404", async (method, path) => {
    const { run } = shared();
    expect(await raw(run, path, { method })).toMatchObject({
      status: 404,
      text: expect.stringContaining("no message"),
    });
  });

  test("bodies that are not the message, with 400 and the reason", async () => {
    const { run } = shared();
    for (const body of ["", "{", "null", "[]", "{}", '{"text":1}', '"text"', "\u0000"]) {
      const { status, text } = await raw(run, "/v1/echo", { body });
      expect([status, JSON.parse(text).error], body).toEqual([400, "message not understood"]);
    }
  });

  test("a body above the limit with 413, and goes on", async () => {
    const { run, client } = shared();
    const body = JSON.stringify({ text: "x".repeat(5_000_000) });
    expect(await raw(run, "/v1/echo", { body })).toEqual({
      status: 413,
      text: '{"error":"body too large"}',
    });
    expect((await client.call("echo", { text: "a" }, PATIENCE_MS)).text).toBe("a");
  });
});

describe("a sender that writes otherwise than the client is answered all the same", () => {
  const body = '{"text":"a"}';
  const head = (more: string, length: number | null = body.length): string =>
    `POST /v1/echo HTTP/1.1\r\nhost: x\r\nx-connector-token: ${ipcToken(shared().run)}\r\n` +
    `${more}${length === null ? "" : `content-length: ${length}\r\n`}\r\n`;
  const plain = (): string => head("") + body;

  test.each<[string, () => string[], number]>([
    ["plainly", () => [plain()], 1],
    ["byte by byte", () => [...plain()], 1],
    ["the body apart", () => [head(""), body], 1],
    [
      "in chunks",
      () => [`${head("transfer-encoding: chunked\r\n", null)}c\r\n${body}\r\n0\r\n\r\n`],
      1,
    ],
    ["with headers more", () => [head("accept: */*\r\nx-connector-token-2: b\r\n") + body], 1],
    ["two at once", () => [plain() + plain()], 2],
    ["one and a half", () => [(plain() + plain()).slice(0, -5), body.slice(-5)], 2],
    ["plainly, then in pieces", () => [plain(), head(""), body], 2],
  ])("%s", async (_name, pieces, answers) => {
    const socket = await dial(shared().run);
    let heard = "";
    const count = (): number => heard.split('"text":"a"').length - 1;
    const all = new Promise<void>((resolve) => {
      socket.on("data", (bytes: Buffer) => {
        heard += bytes.toString("utf8");
        if (count() === answers) resolve();
      });
    });
    for (const piece of pieces()) {
      const before = count();
      await new Promise((resolve) => socket.write(piece, resolve));
      // The next message of a sender comes after the answer to the last one.
      if (piece === plain()) await until("answered", () => count() > before || undefined);
    }
    await all;
    expect(heard.match(/HTTP\/1\.1 200 /g)).toHaveLength(answers);
  });

  test("a message that comes while another one is carried out is answered after it", async () => {
    const { server, run, client } = shared();
    const socket = await dial(run);
    let heard = "";
    const all = new Promise<void>((resolve) => {
      socket.on("data", (bytes: Buffer) => {
        heard += bytes.toString("utf8");
        if (heard.includes('"text":"a"')) resolve();
      });
    });
    const hold = plain().replace("echo", "hold").replace(body, "{}");
    socket.write(hold.replace(/12(?=\r)/, "2"));
    expect(await server.nextLine()).toBe("holding");
    socket.write(plain());
    // Another connection is served meanwhile, and nothing overtakes the message on the first one.
    expect((await client.call("echo", { text: "b" }, PATIENCE_MS)).text).toBe("b");
    expect(heard).toBe("");
    server.send("release");
    await all;
    expect(heard).toMatch(/\{"held":true\}HTTP.*\{"text":"a"/s);
  });

  test("bytes of no protocol are answered with 400", async () => {
    const socket = await dial(shared().run);
    const answer = new Promise((resolve) => socket.once("data", resolve));
    socket.write("hello\r\n\r\n");
    expect(String(await answer)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe("the client says", () => {
  test("refused, when the message itself is too large, without sending it", async () => {
    const { client } = shared();
    const error = await failureOf(
      client.call("echo", { text: "x".repeat(1_100_000) }, PATIENCE_MS),
    );
    expect(error).toMatchObject({ failure: "refused", message: expect.stringContaining("larger") });
  });

  test("refused, when a handler throws; the server logs it and goes on", async () => {
    const { client, log } = shared();
    const error = await failureOf(client.call("fail", {}, PATIENCE_MS));
    expect(error.failure).toBe("refused");
    expect(error.message).toContain("supervisor answered 500");
    expect(error.message).not.toContain("on purpose");
    expect(log()).toContain("the handler failed on purpose");
    expect((await client.call("echo", { text: "a" }, PATIENCE_MS)).text).toBe("a");
  });

  test.each(["misshapen", "unsendable", "nothing"] as const)(
    "refused, when the answer is %s; the server lives on",
    async (name) => {
      const { client } = shared();
      expect((await failureOf(client.call(name, {}, PATIENCE_MS))).failure).toBe("refused");
      expect((await client.call("echo", { text: "a" }, PATIENCE_MS)).text).toBe("a");
    },
  );

  test("no-answer, when the answer is too large", async () => {
    const { client } = shared();
    const error = await failureOf(client.call("huge", { bytes: 3_000_000 }, PATIENCE_MS));
    expect(error.failure).toBe("no-answer");
    expect((await client.call("huge", { bytes: 1_000_000 }, PATIENCE_MS)).text.length).toBe(
      1_000_000,
    );
  });

  test("no-answer, when time is over", async () => {
    const { client, server } = shared();
    const held = failureOf(client.call("hold", {}, 300));
    expect(await server.nextLine()).toBe("holding");
    expect(await held).toMatchObject({
      failure: "no-answer",
      message: expect.stringContaining("no complete answer within 300 ms"),
    });
    expect((await client.call("echo", { text: "a" }, PATIENCE_MS)).text).toBe("a");
  });

  test("no-answer, when the other process dies with the message in its hands", async () => {
    const { client } = await pair();
    expect((await failureOf(client.call("die", {}, PATIENCE_MS))).failure).toBe("no-answer");
  });

  test("unreachable, when the program was never started or its folder is unreadable", async () => {
    const run = openRunDirectory(temporaryFolder());
    const never = await failureOf(clientFor(run).call("echo", { text: "a" }, PATIENCE_MS));
    expect(never).toMatchObject({
      failure: "unreachable",
      message: "supervisor was never started",
    });
    const file = join(run, "file");
    writeFileSync(file, "");
    const broken = await failureOf(clientFor(file).call("echo", { text: "a" }, PATIENCE_MS));
    expect(broken.failure).toBe("unreachable");
  });

  test("unreachable after the server was killed, and is answered by the next one", async () => {
    const { client, server, data } = await pair();
    await client.call("echo", { text: "a" }, PATIENCE_MS);
    server.kill("SIGKILL");
    await server.exited;
    expect((await failureOf(client.call("echo", { text: "b" }, PATIENCE_MS))).failure).toBe(
      "unreachable",
    );
    const next = await startServer(data);
    expect(await client.call("echo", { text: "c" }, PATIENCE_MS)).toEqual({
      text: "c",
      pid: next.pid,
    });
  });

  test("refused, when the run directory's token is of another installation", async () => {
    const { run } = shared();
    const other = openRunDirectory(temporaryFolder());
    writeFileSync(join(other, "supervisor.address"), join(run, "supervisor.sock"));
    const error = await failureOf(clientFor(other).call("echo", { text: "a" }, PATIENCE_MS));
    expect(error).toMatchObject({ failure: "refused", message: expect.stringContaining("401") });
  });
});

describe("closing the server", () => {
  test("waits for a running message, which is answered, and takes no new one", async () => {
    const { client, server, run } = await pair();
    const held = client.call("hold", {}, PATIENCE_MS);
    expect(await server.nextLine()).toBe("holding");
    server.send("close");
    expect(await server.nextLine()).toBe("closing");
    const late = await failureOf(clientFor(run).call("echo", { text: "late" }, PATIENCE_MS));
    expect(late.failure).toBe("unreachable");
    server.send("release");
    expect(await held).toEqual({ held: true });
  });

  test("does not wait for idle, silent or half-sent connections", async () => {
    const { client, server, run } = await pair();
    await client.call("echo", { text: "keeps its connection" }, PATIENCE_MS);
    const silent = await dial(run);
    const half = await dial(run);
    const lines = ["POST /v1/echo HTTP/1.1", "Host: x", `X-Connector-Token: ${ipcToken(run)}`];
    half.write(`${lines.join("\r\n")}\r\nContent-Length: 50\r\n\r\n{`);
    const held = client.call("hold", {}, PATIENCE_MS);
    expect(await server.nextLine()).toBe("holding");
    const startedMs = performance.now();
    server.send("close");
    expect(await server.nextLine()).toBe("closing");
    server.send("release");
    expect(await held).toEqual({ held: true });
    expect(await server.nextLine()).toBe("closed");
    expect(performance.now() - startedMs).toBeLessThan(asSlow(4_000));
    for (const socket of [silent, half]) socket.destroy();
  });
});

async function dial(run: string): Promise<Socket> {
  const socket = connect(join(run, "supervisor.sock"));
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined); // being cut off is what these tests are about
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}
