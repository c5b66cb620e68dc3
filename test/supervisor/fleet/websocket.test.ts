import { createServer as createWeb } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { proxyChoice } from "../../../src/shared/config/proxy.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { selfSignedTls } from "../../../src/simulator/gateway/http/self-signed.ts";
import type { BrokerSettings } from "../../../src/supervisor/fleet/broker.ts";
import { mqttConnector } from "../../../src/supervisor/fleet/mqtt-broker.ts";
import { threadedConnector } from "../../../src/supervisor/fleet/threaded-broker.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { testProxy } from "../../support/programs/test-proxy.ts";
import { KIOSK } from "./fleet-rig.ts";
import { ScriptedBroker } from "./scripted-broker.ts";
import { frame, webFront } from "./web-front.ts";

const message = {
  topic: `connector/1/${KIOSK}/payment`,
  payload: "{}",
  retained: false,
  expirySeconds: 60,
};
const none = { user: undefined, password: undefined, certificate: undefined, key: undefined };

function heard() {
  const lost: string[] = [];
  const received: string[] = [];
  const listener = {
    lost: (because: string, text: string) => void lost.push(`${because}: ${text}`),
    received: ({ payload }: { payload: Buffer }) => void received.push(payload.toString()),
  };
  return { lost, received, listener };
}

/** A broker that is reached by websockets, with TLS that wants a client certificate, or without. */
async function webBroker({ answer, isTls = false }: { answer?: string; isTls?: boolean } = {}) {
  const broker = new ScriptedBroker();
  await broker.up();
  const name = "broker.example.test";
  const [own, kiosk] = [[name, "localhost"], ["kiosk"]].map((names) =>
    selfSignedTls(names, systemClock.now()),
  ) as [ReturnType<typeof selfSignedTls>, ReturnType<typeof selfSignedTls>];
  const server = isTls ? createServer({ ...own, ca: kiosk.cert, requestCert: true }) : createWeb();
  const front = webFront(server, Number(new URL(broker.url).port), answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const login = { certificate: String(kiosk.cert), key: String(kiosk.key) };
  const trusted = [String(own.cert)];
  const settings: BrokerSettings = {
    ...none,
    url: `ws://127.0.0.1:${port}/a/mqtt`,
    kiosk: KIOSK,
    trusted,
    commands: true,
  };
  const secure = { ...settings, ...login, url: `wss://localhost:${port}/a/mqtt` };
  return { broker, port, settings, secure, ...front };
}

test("over wss messages and requests pass, with a client certificate and a proxy", async () => {
  const { broker, port, secure, asked, open } = await webBroker({ isTls: true });
  const proxy = await testProxy({ to: port });
  const url = "wss://broker.example.test";
  const far = { ...secure, url, proxy: proxyChoice({ PROXY_URL: proxy.url }, {})(url) };
  for (const [i, settings] of [secure, far].entries()) {
    const { listener, received, lost } = heard();
    const connection = await threadedConnector(systemClock)(settings, message, listener);
    expect(await connection.send({ ...message, payload: "x".repeat(9_000) })).toBe("taken");
    broker.request(`connector/1/${KIOSK}/request`, { ask: "state" });
    await expect.poll(() => received).toEqual(['{"ask":"state"}']);
    await connection.close();
    await expect.poll(() => broker.farewells).toHaveLength(i + 1);
    expect([...broker.wills, ...lost]).toEqual([]);
    await expect.poll(() => open.size + proxy.open()).toBe(0);
  }
  expect(asked).toEqual(["/a/mqtt mqtt", "/ mqtt"]);
  expect(proxy.asked).toEqual(["CONNECT broker.example.test:443"]);
  const connect = mqttConnector(new TestClock());
  const attempt = (more: Partial<BrokerSettings>) =>
    connect({ ...secure, ...more }, message, heard().listener);
  await expect(attempt({ trusted: [] })).rejects.toThrow("self-signed");
  const unnamed = { certificate: undefined, key: undefined };
  await expect(attempt(unnamed)).rejects.toThrow(/certificate required|without an answer/);
  await expect.poll(() => broker.connections).toBe(0);
});

test("a server without websockets is named by its answer, and a silent one is left", async () => {
  const clock = new TestClock();
  const { settings } = await webBroker({ answer: "404 Not Found" });
  const { listener, lost } = heard();
  const connecting = mqttConnector(clock)(settings, message, listener);
  await expect(connecting).rejects.toThrow("Unexpected server response: 404");
  expect(lost).toEqual(["failed: Unexpected server response: 404"]);
  const other = await webBroker();
  other.broker.habits.silent = true;
  const late = mqttConnector(clock)(other.settings, message, heard().listener);
  const rejected = expect(late).rejects.toThrow("no connection within 30000 ms");
  await expect.poll(() => other.broker.connects.length).toBe(1);
  await clock.advance(30_000);
  await rejected;
  await expect.poll(() => other.open.size).toBe(0);
  expect(clock.running).toEqual([]);
});

test.each([
  ["pings", Buffer.concat(Array(700).fill(frame(9, Buffer.alloc(100)))), /floods us with data$/],
  ["data", Buffer.concat([1, 2].map(() => frame(2, Buffer.alloc(40_000)))), /floods us with data$/],
  ["a frame of 2^63 bytes", Buffer.from("827f7fffffffffffffff", "hex"), /Unsupported|payload/],
  ["a frame that is masked", Buffer.from("828100000000d0", "hex"), /MASK/],
])("%s end a connection by websocket, as a fault and not as a twin", async (_, attack, why) => {
  const { settings, open } = await webBroker();
  const { listener, lost } = heard();
  const connection = await mqttConnector(new TestClock())(settings, message, listener);
  for (const socket of open) socket.write(attack);
  await expect.poll(() => lost).toHaveLength(1);
  expect(lost[0]).toMatch(/^failed: /);
  expect(lost[0]).toMatch(why);
  await connection.close();
  await expect.poll(() => open.size).toBe(0);
});
