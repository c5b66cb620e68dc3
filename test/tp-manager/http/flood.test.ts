import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ownTimeOf } from "../../support/clocks/own-time.ts";
import { asSlow } from "../../support/clocks/patience.ts";
import { TestInstallation } from "../../support/programs/installation.ts";

/** A real tp-manager, because the client that floods it must not share its thread. */
const at = new TestInstallation({ terminalSwitches: ["--instant"], simulatorPrograms: true });

/** Below the longest delay of a wrong login, however slow the machine is. */
const AT_ONCE_MS = asSlow(500, 4_000);

beforeAll(async () => {
  await at.start();
  await at.connected();
});

afterAll(() => at.stop());

async function open(): Promise<Socket> {
  const socket = connect(at.port, "127.0.0.1");
  socket.on("error", () => undefined); // a cut is one of the expected ends
  onTestFinished(() => void socket.destroy());
  await Promise.race([happens(socket, "connect"), happens(socket, "close")]);
  return socket;
}

/** Unlike `once` of node:events it does not mind an error before it. */
function happens(socket: Socket, event: "connect" | "close"): Promise<void> {
  return new Promise((resolve) => socket.once(event, () => resolve()));
}

function goodAnswerMs(): Promise<number> {
  return ownTimeOf([at.tpManager?.pid ?? 0], async () => {
    expect((await at.call("GET", "/version")).http).toBe(200);
  });
}

test("a thousand wrong logins at once do not delay the right one", async () => {
  const sockets = await Promise.all(Array.from({ length: 1_000 }, open));
  const answers: string[] = [];
  const ended = sockets.map((socket) => {
    socket.on("data", (chunk: Buffer) => answers.push(chunk.toString("latin1").slice(9, 12)));
    return happens(socket, "close");
  });
  const wrong = `Authorization: Basic ${btoa("kiosk:guessed")}\r\nConnection: close\r\n`;
  for (const socket of sockets) {
    socket.write(`GET /check HTTP/1.1\r\nHost: localhost:${at.port}\r\n${wrong}\r\n`);
  }
  expect(await goodAnswerMs()).toBeLessThan(AT_ONCE_MS);
  expect((await at.pay(9, "A-1")).one.status).toBe("Success");
  await Promise.all(ended);
  // A wrong login is answered late, refused at once or cut off to make room, never let in. On a
  // busy machine the time limit of a request is over for some sockets before the last one is open,
  // which is answered with 408.
  expect([...new Set(answers)].filter((http) => http !== "408").sort()).toEqual(["401", "429"]);
});

test("wrong logins one after another do not delay the right one either", async () => {
  const wrong = `Authorization: Basic ${btoa("kiosk:guessed")}\r\n`;
  const guess = `GET /check HTTP/1.1\r\nHost: localhost:${at.port}\r\n${wrong}\r\n`;
  const sockets = await Promise.all(Array.from({ length: 20 }, open));
  // Fifty on each connection without waiting for an answer.
  for (const socket of sockets) socket.write(guess.repeat(50));
  for (let i = 0; i < 5; i++) expect(await goodAnswerMs()).toBeLessThan(AT_ONCE_MS);
});

test("a payment goes through with 500 idle connections and 300 slow requests open", async () => {
  const before = (await at.ledger()).charged;
  await Promise.all(Array.from({ length: 500 }, open));
  expect((await at.pay(9, "B-1")).one.status).toBe("Success");
  for (const socket of await Promise.all(Array.from({ length: 300 }, open))) {
    socket.write("POST /payment HTTP/1.1\r\nHost: x\r\n");
  }
  expect((await at.pay(9, "B-2")).one.status).toBe("Success");
  expect((await at.ledger()).charged - before).toBe(1_800);
});
