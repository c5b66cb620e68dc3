import { writeFileSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createServer } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { proxyChoice } from "../../../src/shared/config/proxy.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { selfSignedTls } from "../../../src/simulator/gateway/http/self-signed.ts";
import type {
  BrokerSettings,
  ConnectToBroker,
  Outgoing,
} from "../../../src/supervisor/fleet/broker.ts";
import { mqttConnector } from "../../../src/supervisor/fleet/mqtt-broker.ts";
import { threadedConnector } from "../../../src/supervisor/fleet/threaded-broker.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { testProxy } from "../../support/programs/test-proxy.ts";
import { KIOSK } from "./fleet-rig.ts";
import { ScriptedBroker } from "./scripted-broker.ts";

// An exception that nobody takes ends the supervisor; here it fails the run of the tests.

const message: Outgoing = {
  topic: `connector/1/${KIOSK}/payment`,
  payload: "{}",
  retained: false,
  expirySeconds: 60,
};

function settingsOf(url: string): BrokerSettings {
  const login = { user: undefined, password: undefined, certificate: undefined, key: undefined };
  return { url, kiosk: KIOSK, ...login, trusted: [], commands: true };
}

function heard() {
  const lost: string[] = [];
  const received: string[] = [];
  return {
    lost,
    received,
    listener: {
      lost: (because: string, text: string) => void lost.push(`${because}: ${text}`),
      received: ({ payload }: { payload: Buffer }) => void received.push(payload.toString()),
    },
  };
}

const head = `import { parentPort } from "node:worker_threads";
import { Writable } from "node:stream";
const stream = new Writable({ write() { throw new Error("in a stream"); } });
`;

/** A thread with this code in place of the package. */
function connectWith(code: string, clock = new TestClock()) {
  const script = join(temporaryFolder(), "thread.mjs");
  writeFileSync(script, `${head}${code}`);
  const ears = heard();
  const settings = settingsOf("mqtt://127.0.0.1:9");
  const connecting = threadedConnector(clock, script)(settings, message, ears.listener);
  return { clock, connecting, ...ears };
}

const connected = 'parentPort.postMessage({ say: "connected", window: 4 });\n';
const hoard = "const all = []; for (;;) all.push(new Array(10_000).fill({}).map(() => ({})));";

test.each([
  ["throws at once", 'throw new Error("no word");'],
  ["cannot be read", "const = ;"],
  ["rejects", 'void Promise.reject(new Error("later")); setInterval(() => {}, 1000);'],
  ["ends itself", "process.exit(7);"],
  ["hoards memory", hoard],
])("a thread that %s is a failed connection", async (_, code) => {
  const { connecting, clock } = connectWith(code);
  await expect(connecting).rejects.toThrow(/its thread has (failed|ended)/);
  expect(clock.running).toEqual([]);
});

test.each([
  ["throws in a callback", 'setImmediate(() => { throw new Error("later"); })'],
  ["throws no error", "{ throw null; }"],
  ["throws in a stream", 'stream.write("x")'],
  ["ends itself", "process.exit(0)"],
])("a connected thread that %s at a message loses its connection, once", async (_, code) => {
  // A fault may overtake the word "connected", so it waits for an answer to that word.
  const { connecting, clock, lost } = connectWith(
    `${connected}parentPort.on("message", () => ${code});`,
  );
  const connection = await connecting;
  expect(await connection.send(message)).toBe("lost");
  expect(lost).toHaveLength(1);
  expect(await connection.send(message)).toBe("lost");
  await connection.close();
  expect(clock.running).toEqual([]);
});

test("a thread that computes without end is left, connecting or connected", async () => {
  const first = connectWith("for (;;);");
  const rejected = expect(first.connecting).rejects.toThrow("its thread does not answer");
  await first.clock.advance(75_000);
  await rejected;
  const second = connectWith(`${connected}parentPort.on("message", () => { for (;;); });`);
  const connection = await second.connecting;
  const sent = connection.send(message);
  await second.clock.advance(60_000);
  expect(await sent).toBe("lost");
  expect(second.lost).toEqual(["failed: its thread does not answer"]);
});

test("a thread that is asked whether it lives keeps its connection", async () => {
  const answers = `${connected}parentPort.on("message", (word) => {
    parentPort.postMessage(word);
    parentPort.postMessage({ say: "received", payload: Buffer.from(word.say), retained: false });
  });`;
  const { connecting, clock, lost, received } = connectWith(answers);
  const connection = await connecting;
  for (let asked = 1; asked <= 5; asked++) {
    await clock.advance(30_000);
    await expect.poll(() => received).toEqual(Array(asked).fill("alive"));
  }
  expect(lost).toEqual([]);
  const closing = connection.close();
  await clock.advance(1_500);
  await closing;
  expect(clock.running).toEqual([]);
});

async function connectTo(broker: ScriptedBroker, more: Partial<BrokerSettings> = {}) {
  const ears = heard();
  const connect = threadedConnector(systemClock);
  const settings = { ...settingsOf(broker.url), ...more };
  const connection = await connect(settings, message, ears.listener);
  onTestFinished(() => connection.close());
  return { connection, ...ears };
}

test("a proxy leads to a broker by TLS, and a refusal names the proxy without login", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  const { key, cert } = selfSignedTls(["broker.example.test"], systemClock.now());
  const front = createServer({ key, cert }, (socket) => {
    const onward = connect(Number(new URL(broker.url).port), "127.0.0.1");
    for (const end of [socket, onward]) end.on("error", () => onward.destroy());
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void front.close());
  const { port } = front.address() as AddressInfo;
  const proxy = await testProxy({ to: port, login: "kiosk:s:e/cr%t" });
  const url = "mqtts://broker.example.test";
  const settings = { PROXY_URL: proxy.url, PROXY_USER: "kiosk", PROXY_PASSWORD: "s:e/cr%t" };
  const right = { url, trusted: [String(cert)], proxy: proxyChoice(settings, {})(url) };
  const { connection } = await connectTo(broker, right);
  expect(proxy.asked).toEqual(["CONNECT broker.example.test:8883"]);
  expect(await connection.send(message)).toBe("taken");
  await connection.close();
  await expect.poll(() => broker.farewells).toEqual([0]);
  await expect.poll(proxy.open).toBe(0);
  const other = proxyChoice({ ...settings, PROXY_PASSWORD: "wr0ng" }, {})(url);
  const refused = connectTo(broker, { ...right, proxy: other });
  const why = `^through the proxy ${proxy.url}: .* 407 Proxy Authentication Required$`;
  await expect(refused).rejects.toThrow(new RegExp(why));
  await expect(connectTo(broker, { ...right, trusted: [] })).rejects.toThrow("self-signed");
  await expect.poll(proxy.open).toBe(0);
});

test("a proxy that does not answer is left at the time limit", async () => {
  const asked = Promise.withResolvers<void>();
  const proxy = await testProxy({ answer: () => asked.resolve() });
  const [url, clock] = ["mqtts://broker.example.test", new TestClock()];
  const settings = { ...settingsOf(url), proxy: proxyChoice({ PROXY_URL: proxy.url }, {})(url) };
  const connecting = mqttConnector(clock)(settings, message, heard().listener);
  const rejected = expect(connecting).rejects.toThrow("no connection within 30000 ms");
  await asked.promise;
  await clock.advance(30_000);
  await rejected;
  await expect.poll(proxy.open).toBe(0);
  expect(clock.running).toEqual([]);
});

test("over a thread messages are sent, requests come, and a farewell leaves no will", async () => {
  const broker = new ScriptedBroker();
  await broker.up();
  const { connection, received } = await connectTo(broker);
  expect(connection.window).toBe(16);
  expect(await connection.send(message)).toBe("taken");
  broker.habits.answer = 0x99;
  expect(await connection.send(message)).toBe("refused");
  broker.request(`connector/1/${KIOSK}/request`, { ask: "state" });
  await expect.poll(() => received).toEqual(['{"ask":"state"}']);
  await connection.close();
  await expect.poll(() => broker.farewells).toEqual([0]);
  expect(broker.wills).toEqual([]);
});

const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
const malformed: Readonly<Record<string, Buffer>> = {
  "a reserved packet type": bytes("0000"),
  "a length without end": bytes("30ffffffffff"),
  "a publish that is shorter than its topic": bytes("3004ffff4141"),
  "a publish of quality 3": bytes("360700014100010000"),
  "properties longer than the packet": bytes("3205000141ff7f"),
  "an unknown property": bytes("300600014102fe00"),
  "a property twice": bytes("300800014104010001 00".replaceAll(" ", "")),
  "a topic that is no UTF-8": bytes("30060003c328ff00"),
  "a topic alias that nobody named": bytes("300600000323ffff"),
  "a PUBACK of nothing": bytes("4003ffff00"),
  "a second acceptance": bytes("2003000000"),
  "a connect": bytes("100d00044d5154540502003c00000000"),
  "an answer to a subscription of another": bytes("9004ffff0001"),
  "an authentication": bytes("f00218 00".replaceAll(" ", "")),
  "a disconnect with a wrong reason": bytes("e00142"),
};

const floods = [
  Buffer.concat([bytes("30ffffff7f"), Buffer.alloc(1_000_000)]),
  Buffer.alloc(80_000, bytes("d000")),
];

/**
 * Attacks a connection that stands; the words of its end. Unless the attack is enough to end it,
 * the broker goes away.
 */
async function attacked(
  connect: ConnectToBroker,
  attack: Buffer,
  isEnough: boolean,
): Promise<string> {
  const broker = new ScriptedBroker();
  await broker.up();
  const { lost, listener } = heard();
  const connection = await connect(settingsOf(broker.url), message, listener);
  broker.write(attack);
  const sent = connection.send(message);
  if (isEnough) await expect.poll(() => lost).toHaveLength(1);
  else await Promise.race([sent, setTimeout(100)]);
  await broker.down();
  await sent;
  await expect.poll(() => lost).toHaveLength(1);
  await connection.close();
  return `${lost}`;
}

test.each(Object.entries(malformed))(
  "%s ends the connection and nothing else",
  async (_, attack) => {
    const connect = mqttConnector(new TestClock());
    expect(await attacked(connect, attack, false)).toMatch(/^(failed|closed): /);
  },
);

test("a malformed packet and floods end a thread's connection", async () => {
  const connect = threadedConnector(systemClock);
  const attacks = [bytes("0000"), ...floods];
  const ends = await Promise.all(attacks.map((attack) => attacked(connect, attack, true)));
  expect(ends).toEqual([
    expect.stringContaining("failed: "),
    ...floods.map(() => "failed: the broker floods us with data"),
  ]);
});

const { "a second acceptance": _, ...noAcceptance } = malformed;

test.each(Object.entries(noAcceptance))(
  "%s in place of an acceptance is a failure",
  async (_, attack) => {
    const broker = new ScriptedBroker();
    await broker.up();
    broker.habits.opening = attack;
    const clock = new TestClock();
    const connecting = mqttConnector(clock)(settingsOf(broker.url), message, heard().listener);
    const end = connecting.then(
      () => "connected",
      (error: Error) => error.message,
    );
    await Promise.race([end, setTimeout(100)]);
    await broker.down();
    await clock.advance(30_000);
    expect(await end).not.toBe("connected");
  },
);
