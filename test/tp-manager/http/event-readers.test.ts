import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { TestInstallation } from "../../support/programs/installation.ts";
import { listening } from "./listening.ts";
import { authorization } from "./rig.ts";

interface Reader {
  readonly socket: Socket;
  readonly text: () => string;
}

/** A real tp-manager, and readers of its events on raw sockets. */
async function started() {
  const at = new TestInstallation({ terminalSwitches: ["--instant"] });
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  const pair = `Authorization: Basic ${btoa(`kiosk:${at.password}`)}`;
  const read = (lastId?: number): Reader => {
    const socket = connect(at.port, "127.0.0.1");
    let text = "";
    socket.on("error", () => undefined); // a cut is one of the expected ends
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
    });
    const from = lastId === undefined ? "" : `Last-Event-ID: ${lastId}\r\n`;
    socket.write(`GET /events HTTP/1.1\r\nHost: localhost:${at.port}\r\n${pair}\r\n${from}\r\n`);
    onTestFinished(() => void socket.destroy());
    return { socket, text: () => text };
  };
  return { at, read };
}

const isStream = ({ text }: Reader): boolean => text().includes("event: terminal");
const isRefused = ({ text }: Reader): boolean => text().includes("TOO_MANY_READERS");
const charges = ({ text }: Reader): number => text().split('"state":"charged"').length - 1;

test("of fifty readers of events sixteen are served, and a payment goes on", async () => {
  const { at, read } = await started();
  const readers = Array.from({ length: 50 }, () => read());
  await expect.poll(() => readers.filter(isStream).length).toBe(16);
  await expect.poll(() => readers.filter(isRefused).length).toBe(34);
  // Half of them stop reading.
  const served = readers.filter(isStream);
  for (const { socket } of served.slice(8)) socket.pause();
  expect((await at.pay(9, "A-1")).one.status).toBe("Success");
  await expect.poll(() => served.slice(0, 8).map(charges)).toEqual(Array(8).fill(1));
  expect((await at.call("GET", "/version")).http).toBe(200);
});

test("after many readers that come and go a new reader is served every event", async () => {
  const { at, read } = await started();
  expect((await at.pay(9, "A-1")).one.status).toBe("Success");
  for (let wave = 0; wave < 20; wave++) {
    const readers = Array.from({ length: 16 }, () => read(0));
    // Some leave before they are answered, some while they are, some have read everything.
    if (wave % 2 === 0) await expect.poll(() => readers.some(isStream)).toBe(true);
    for (const { socket } of readers) socket.destroy();
  }
  await expect
    .poll(async () => {
      const reader = read(0);
      await expect.poll(() => isStream(reader) || isRefused(reader)).toBe(true);
      return isStream(reader) && charges(reader) === 1;
    })
    .toBe(true);
});

test("an event id that is no longer stored gets a gap and then all stored events", async () => {
  const api = await listening();
  const alarm = { alarm: "test", message: "", orderId: null, transactionId: null };
  api.at.journal.events.commit((append) => {
    for (let i = 0; i < 10_100; i++) append("alarm", alarm, 0);
  });
  const head = `Host: localhost:${api.port}\r\nAuthorization: ${authorization}`;
  const { received } = api.raw(`GET /events HTTP/1.1\r\n${head}\r\nLast-Event-ID: 2\r\n\r\n`);
  await expect.poll(() => received().includes("id: 10100\n")).toBe(true);
  const gap = /event: gap\ndata: (.*)\n/.exec(received())?.[1] ?? "";
  expect(JSON.parse(gap)).toMatchObject({ afterId: 2, beforeId: 101 });
  // The reader knows what is missing before it reads what follows.
  expect(received().indexOf("event: gap")).toBeLessThan(received().indexOf("event: alarm"));
  const ids = [...received().matchAll(/^id: (\d+)\nevent: alarm$/gm)].map(([, id]) => Number(id));
  expect(ids).toEqual(Array.from({ length: 10_000 }, (_, i) => i + 101));
});
