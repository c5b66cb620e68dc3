import { createServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createIpcClient, IpcError } from "../../../src/shared/ipc/client.ts";
import { claimAddress, openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { PATIENCE_MS } from "../../support/clocks/patience.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { until } from "../../support/programs/child-program.ts";
import { testMessages } from "./test-messages.ts";

const answerOf = (body: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** A program whose messages a test answers, with a client for it. */
async function listener(answer: (socket: Socket) => unknown, clock = systemClock) {
  const run = openRunDirectory(temporaryFolder());
  const sockets = new Set<Socket>();
  /** The connection of each message that came. */
  const written: Socket[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", () => {
      written.push(socket);
      answer(socket);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(claimAddress(run, "supervisor"), resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const client = createIpcClient(run, "supervisor", testMessages, clock);
  onTestFinished(() => client.close());
  return { client, sockets, written };
}

async function failureOf(call: Promise<unknown>): Promise<IpcError> {
  const error: unknown = await call.then(
    () => new Error("was answered"),
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(IpcError);
  return error as IpcError;
}

describe("the client says", () => {
  test.each([
    ["stops half way", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"],
    ["has a head without an end", `HTTP/1.1 200 OK\r\na: ${"x".repeat(17_000)}`],
    ["is of no protocol", "hello\r\n\r\n"],
  ])("no-answer, when the answer %s", async (_name, answer) => {
    const { client } = await listener((socket) => socket.end(answer));
    const error = await failureOf(client.call("echo", { text: "a" }, PATIENCE_MS));
    expect(error.failure).toBe("no-answer");
  });

  test("refused, when the answer is not JSON", async () => {
    const { client } = await listener((socket) => socket.end(answerOf("<>")));
    const error = await failureOf(client.call("echo", { text: "a" }, PATIENCE_MS));
    expect(error.failure).toBe("refused");
  });

  test("its own answer, also after one that it did not ask for", async () => {
    const texts = ["1", "2"].map((text) => answerOf(JSON.stringify({ text, pid: 1 })));
    let messages = 0;
    const { client, sockets } = await listener((socket) => {
      messages += 1;
      socket.write(messages === 1 ? texts.join("") : answerOf('{"text":"3","pid":1}'));
    });
    expect((await client.call("echo", { text: "a" }, PATIENCE_MS)).text).toBe("1");
    expect((await client.call("echo", { text: "b" }, PATIENCE_MS)).text).toBe("3");
    expect(sockets.size).toBe(2);
  });

  test("no-answer for each message under way when it is closed", async () => {
    const { client, written } = await listener(() => undefined);
    const sent = Array.from({ length: 9 }, () => client.call("echo", { text: "a" }, PATIENCE_MS));
    const failures = Promise.all(sent.map(failureOf));
    await until("eight are written", () => written.length === 8 || undefined);
    client.close();
    const waiting = { failure: "unreachable" };
    const carried = Array.from({ length: 8 }, () => ({ failure: "no-answer" }));
    expect(await failures).toMatchObject([...carried, waiting]);
  });
});

describe("the connections of the client", () => {
  test("are at most eight; other messages wait, each for its own time", async () => {
    const { client, written, sockets } = await listener(() => undefined);
    const call = (ms: number) => client.call("echo", { text: "a" }, ms);
    const sent = Array.from({ length: 9 }, () => call(PATIENCE_MS));
    const first = await until("eight are written", () => written[7] && written[0]);
    expect(await failureOf(call(300))).toMatchObject({ failure: "unreachable" });
    expect([written.length, sockets.size]).toEqual([8, 8]);
    first.write(answerOf('{"text":"1","pid":1}'));
    expect((await Promise.race(sent)).text).toBe("1");
    expect(await until("the ninth is written", () => written[8])).toBe(first);
    expect(sockets.size).toBe(8);
    for (const socket of sockets) socket.destroy();
    const ends = await Promise.all(sent.map((one) => one.catch((error: IpcError) => error)));
    expect(ends.filter((end) => (end as IpcError).failure === "no-answer")).toHaveLength(8);
    // A message whose connection was lost may have arrived, so it is not sent a second time.
    expect(written).toHaveLength(9);
  });

  test("are kept, and closed when they were idle for two seconds", async () => {
    const answer = answerOf('{"text":"1","pid":1}');
    const { client, sockets } = await listener((socket) => socket.write(answer));
    for (let i = 0; i < 3; i++) await client.call("echo", { text: "a" }, PATIENCE_MS);
    expect(sockets.size).toBe(1);
    const [socket] = sockets;
    await until("it is closed", () => socket?.destroyed || undefined);
    await client.call("echo", { text: "a" }, PATIENCE_MS);
    expect(sockets.size).toBe(2);
  });
});

test.each([1, 3])(
  "after a standstill with %i idle connections a message is sent once",
  async (idle) => {
    let stoodMs = 0;
    const clock = Object.assign(Object.create(systemClock) as typeof systemClock, {
      monotonicMs: () => systemClock.monotonicMs() + stoodMs,
    });
    const answer = (socket: Socket) => socket.write(answerOf('{"text":"a","pid":1}'));
    const { client, sockets, written } = await listener(answer, clock);
    const call = () => client.call("echo", { text: "a" }, PATIENCE_MS);
    await Promise.all(Array.from({ length: idle }, call));
    await call();
    expect([sockets.size, written.length]).toEqual([idle, idle + 1]);
    // The server closes an idle connection after five seconds, which no timer here has shown.
    stoodMs = 6_000;
    await call();
    expect([sockets.size, written.length]).toEqual([idle + 1, idle + 2]);
  },
);
