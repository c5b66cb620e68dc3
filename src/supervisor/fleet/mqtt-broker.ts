import type { Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import mqtt, { type IClientOptions, MqttClient } from "mqtt";
import { ProxyAgent } from "../../shared/config/proxy.ts";
import { type Clock, type Timer, within } from "../../shared/time.ts";
import type {
  BrokerConnection,
  BrokerListener,
  BrokerSettings,
  ConnectToBroker,
  LostBecause,
  Outgoing,
  Sent,
} from "./broker.ts";
import { topicOf } from "./documents.ts";

/** The keep-alive; after 1.5 times as long the broker reports a kiosk lost (docs/fleet.md 3.2). */
const KEEP_ALIVE_SECONDS = 30;
/** The keep-alive that the kiosk announces, shorter because mosquitto 2.0.11 checks 6 s late. */
const ANNOUNCED_SECONDS = KEEP_ALIVE_SECONDS - 6;
/** The same by MQTT 3.1.1, because RabbitMQ 3.10 notices a silence after 1.5 to 3 times as long. */
const ANNOUNCED_OLDER_SECONDS = KEEP_ALIVE_SECONDS / 2 - 1;
/** How long the broker keeps requests for a kiosk without a connection. */
const SESSION_EXPIRY_SECONDS = 86_400;
/** The longest time for TCP, TLS and the broker's acceptance together. */
const CONNECT_LIMIT_MS = 30_000;
/** How long the broker may take for the PUBACK of a message before the connection is ended. */
const PUBACK_LIMIT_MS = 60_000;
const CLOSE_LIMIT_MS = 1_000;
const WINDOW_MAX = 16;
/** The largest packet that is accepted from the broker, far above any request of the fleet. */
const PACKET_BYTES_MAX = 16_384;
/** How many bytes a broker may send within {@link FLOOD_MS}; more ends the connection. */
const FLOOD_BYTES = 65_536;
const FLOOD_MS = 10_000;

/** The reason code of a lost connection: another client uses our client id (MQTT 5.0, 2.4). */
const SESSION_OF_ANOTHER = 0x8e;
/** The return codes of a broker that speaks another version: of MQTT 3.1.1, and of MQTT 5. */
const OTHER_VERSION: readonly number[] = [0x01, 0x84];
/** The codes of CONNACK that end by themselves: the broker is busy, or elsewhere. */
const TEMPORARY: readonly number[] = [0x03, 0x80, 0x83, 0x88, 0x89, 0x97, 0x9c, 0x9d, 0x9f];
const closedEarly = (version: string): string =>
  `the broker closed the connection without an answer, as one without MQTT ${version} may do`;
/** How a broker of MQTT 3.1.1 refuses a message: it cannot answer that access is denied. */
const CLOSED_UNTAKEN =
  "the broker closed the connection before it took a message; may the kiosk publish its topics?";
/** The MQTT reason codes of a message that the broker will never accept. */
const REFUSED_FOR_GOOD: readonly number[] = [0x90, 0x95, 0x99];

/** Returns a function that connects to a broker with MQTT 5 or 3.1.1 (docs/fleet.md 3.1). */
export function mqttConnector(clock: Clock): ConnectToBroker {
  return (settings, will, listener) =>
    new Promise((resolve, reject) => {
      const timers = timersOn(clock);
      const flood = new FloodLimit(clock);
      const options = optionsOf(settings, will, timers, flood);
      let abandon = (): void => {};
      let isDecided = false;
      const timer = clock.startTimer("fleet connection", CONNECT_LIMIT_MS, () =>
        fail(`no connection within ${CONNECT_LIMIT_MS} ms`),
      );
      const fail = (text: string, because: LostBecause = "failed"): void => {
        if (isDecided) return;
        isDecided = true;
        timer.clear();
        abandon();
        listener.lost(because, text);
        reject(new Error(text));
      };
      const begin = (client: MqttClient): void => {
        const connection = new MqttConnection({ client, settings, clock, listener, timers });
        abandon = () => connection.abandon();
        flood.end = () => client.emit("error", new Error("the broker floods us with data"));
        if (!options.wsOptions) flood.watch(client.stream);
        const { mqtt: version = "5" } = settings;
        const failed = (error: Error): void => fail(...refusalOf(error, version));
        client.on("error", failed);
        // The mqtt package hides an error without code, such as an HTTP answer 404 to a websocket.
        client.stream.on("error", failed);
        client.on("close", () => fail(closedEarly(version), "closed"));
        client.on("connect", ({ properties }) => {
          isDecided = true;
          timer.clear();
          client.removeAllListeners("close");
          client.removeAllListeners("error");
          const ready = connection.begin(properties?.receiveMaximum ?? WINDOW_MAX);
          void ready.then(() => resolve(connection));
        });
      };
      const { proxy } = settings;
      if (!proxy) return begin(mqtt.connect(options));
      const agent = new ProxyAgent({ proxyEnv: proxy.proxyEnv });
      abandon = () => agent.destroy();
      const { host, port, ca, cert, key } = options;
      agent.createConnection({ host, port, ca, cert, key }, (error, stream) => {
        if (error) fail(`through the proxy ${proxy.name}: ${error.message}`);
        else if (!options.wsOptions) begin(new MqttClient(() => stream, options));
        else begin(mqtt.connect({ ...options, wsOptions: overStream(options.wsOptions, stream) }));
      });
    });
}

/** Returns the words for a fault before the broker's acceptance, and whether it is a refusal. */
function refusalOf(
  { message, code }: Error & { code?: unknown },
  version: string,
): [string, LostBecause] {
  // A fault of the socket has a text as code, and a CONNACK has a number.
  if (code === "ECONNRESET") return [closedEarly(version), "closed"];
  if (typeof code !== "number") return [message || "no connection", "failed"];
  if (TEMPORARY.includes(code)) return [message, "failed"];
  const says = `the broker does not speak MQTT ${version} (CONNACK ${code})`;
  return [OTHER_VERSION.includes(code) ? says : message, "refused"];
}

/** Limits what the broker may send, because the mqtt package buffers packets of up to 256 MB. */
class FloodLimit {
  readonly #clock: Clock;
  #bytes = 0;
  #fromMs = 0;
  /** Ends the connection. */
  end: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch(stream: Readable): void {
    stream.prependListener("data", (chunk: Buffer) => {
      const nowMs = this.#clock.monotonicMs();
      if (nowMs - this.#fromMs > FLOOD_MS) [this.#bytes, this.#fromMs] = [0, nowMs];
      this.#bytes += chunk.length;
      if (this.#bytes > FLOOD_BYTES) this.end();
    });
  }
}

type WebOptions = NonNullable<IClientOptions["wsOptions"]>;

/** Returns what the package `ws` needs; it reads the certificates from the options around it. */
function webOptions(flood: FloodLimit): WebOptions {
  return {
    perMessageDeflate: false,
    maxPayload: FLOOD_BYTES,
    finishRequest(request) {
      // The whole line is watched, because a ping is no data of the websocket.
      request.once("upgrade", (_, socket) => flood.watch(socket));
      request.end();
    },
  };
}

/** Returns the options with a tunnel of a proxy, on which TLS has begun. */
function overStream(options: object, stream: Duplex): WebOptions {
  return { ...options, createConnection: () => stream as Socket };
}

function addressOf(url: string, flood: FloodLimit) {
  const { protocol, hostname, port, pathname } = new URL(url);
  const scheme = protocol.slice(0, -1) as "mqtt" | "mqtts" | "ws" | "wss";
  const usual = { mqtt: 1883, mqtts: 8883, ws: 80, wss: 443 };
  // The address is given in parts: the mqtt package parses a URL by a deprecated function.
  const host = hostname.replace(/^\[|\]$/g, "");
  const broker = { protocol: scheme, host, port: port === "" ? usual[scheme] : Number(port) };
  if (!scheme.startsWith("ws")) return broker;
  return { ...broker, hostname, path: pathname, wsOptions: webOptions(flood) };
}

function optionsOf(
  settings: BrokerSettings,
  will: Outgoing,
  timerVariant: Timers,
  flood: FloodLimit,
): IClientOptions {
  const { kiosk, user, password, certificate, key, trusted, commands, proxy } = settings;
  const isOlder = settings.mqtt === "3.1.1";
  return {
    ...addressOf(settings.url, flood),
    // The mqtt package leaves out of MQTT 3.1.1 what only MQTT 5 has, such as the expiry.
    protocolVersion: isOlder ? 4 : 5,
    clientId: `connector-${kiosk}`,
    // If the setup allows no requests, the broker keeps no messages and ends an old subscription.
    clean: !commands,
    keepalive: settings.keepAliveSeconds ?? (isOlder ? ANNOUNCED_OLDER_SECONDS : ANNOUNCED_SECONDS),
    reconnectPeriod: 0,
    connectTimeout: CONNECT_LIMIT_MS * 2,
    resubscribe: false,
    properties: {
      sessionExpiryInterval: commands ? SESSION_EXPIRY_SECONDS : 0,
      receiveMaximum: WINDOW_MAX,
      maximumPacketSize: PACKET_BYTES_MAX,
    },
    will: {
      topic: will.topic,
      payload: Buffer.from(will.payload),
      qos: 1,
      retain: will.retained,
      properties: { contentType: "application/json", payloadFormatIndicator: true },
    },
    ...(user === undefined ? {} : { username: user, password: password ?? "" }),
    ...(certificate === undefined || key === undefined ? {} : { cert: certificate, key }),
    ca: [...trusted, ...(proxy?.certificates ?? [])],
    rejectUnauthorized: true,
    timerVariant,
  };
}

/** Returns the repeating timers that the mqtt package needs for its keep-alive, on our clock. */
function timersOn(clock: Clock) {
  const timers = new Map<number, Timer>();
  let last = 0;
  return {
    set(work: () => void, everyMs = 0): number {
      const id = ++last;
      const again = (): void => {
        const timer = clock.startTimer("fleet keep-alive", everyMs, () => {
          again();
          work();
        });
        timers.set(id, timer);
      };
      again();
      return id;
    },
    clear(id: unknown): void {
      timers.get(Number(id))?.clear();
      timers.delete(Number(id));
    },
    end(): void {
      for (const timer of timers.values()) timer.clear();
      timers.clear();
    },
  };
}
type Timers = ReturnType<typeof timersOn>;

interface ConnectionParts {
  readonly client: MqttClient;
  readonly settings: BrokerSettings;
  readonly clock: Clock;
  readonly listener: BrokerListener;
  readonly timers: Timers;
}

class MqttConnection implements BrokerConnection {
  readonly #parts: ConnectionParts;
  readonly #unanswered = new Set<(sent: Sent) => void>();
  /** Functions that each send one message, once earlier messages have got their PUBACK. */
  readonly #waiting: (() => void)[] = [];
  window = 1;
  #hasTaken = false;
  #isOver = false;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  async begin(receiveMaximum: number): Promise<void> {
    const { client, settings, clock, listener } = this.#parts;
    this.window = Math.max(Math.min(receiveMaximum, WINDOW_MAX), 1);
    client.on("disconnect", ({ reasonCode }) => {
      const text = `the broker ended the connection (${reasonCode ?? 0})`;
      this.#lose(reasonCode === SESSION_OF_ANOTHER ? "twin" : "failed", text);
    });
    // An error with a code such as ECONNRESET comes from the socket; WS_ERR_ is of a wrong frame.
    client.on("error", (error) => {
      const isOfSocket = "code" in error && String(error.code).startsWith("E");
      if (isOfSocket) this.#loseClosed(error.message);
      else this.#lose("failed", error.message);
    });
    client.on("close", () => this.#loseClosed("the connection was lost"));
    const requests = topicOf(settings.kiosk, "request");
    client.on("message", (topic, payload, { retain }) => {
      if (this.#isOver || topic !== requests) return;
      listener.received({ payload, retained: retain });
    });
    if (!settings.commands) return;
    const answer = new Promise<string>((resolve) => {
      // With retain handling (rh) 2 the broker sends no retained message at the subscription.
      client.subscribe(requests, { qos: 1, rh: 2 }, (error) =>
        resolve(error ? `no subscription: ${error.message}` : ""),
      );
    });
    const fault =
      (await within(clock, "fleet subscription", CONNECT_LIMIT_MS, answer)) ??
      "the broker does not answer a subscription";
    if (fault !== "") this.#lose("failed", fault);
  }

  async send(message: Outgoing): Promise<Sent> {
    while (this.#unanswered.size >= this.window && !this.#isOver) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return this.#isOver ? "lost" : await this.#publish(message);
  }

  #publish({ topic, payload, retained, expirySeconds }: Outgoing): Promise<Sent> {
    const { client, clock } = this.#parts;
    return new Promise((resolve) => {
      const end = (sent: Sent): void => {
        timer.clear();
        this.#unanswered.delete(end);
        this.#waiting.shift()?.();
        resolve(sent);
      };
      this.#unanswered.add(end);
      const timer = clock.startTimer("fleet PUBACK", PUBACK_LIMIT_MS, () =>
        this.#lose("failed", `no PUBACK within ${PUBACK_LIMIT_MS} ms`),
      );
      const properties = {
        payloadFormatIndicator: true,
        contentType: "application/json",
        ...(expirySeconds === null ? {} : { messageExpiryInterval: expirySeconds }),
      };
      client.publish(topic, payload, { qos: 1, retain: retained, properties }, (error) => {
        if (!this.#unanswered.has(end)) return;
        if (!error) {
          this.#hasTaken = true;
          return end("taken");
        }
        const code = "code" in error ? Number(error.code) : 0;
        if (REFUSED_FOR_GOOD.includes(code)) return end("refused");
        this.#lose("failed", `the broker accepts no message: ${error.message}`);
      });
    });
  }

  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    const { client, clock } = this.#parts;
    const ended = new Promise<void>((resolve) =>
      client.end(false, { reasonCode: 0 }, () => resolve()),
    );
    await within(clock, "fleet farewell", CLOSE_LIMIT_MS, ended);
    this.abandon();
  }

  /** Closes the connection at once, without calling the listener. */
  abandon(): void {
    const { client, timers } = this.#parts;
    this.#end();
    timers.end();
    client.removeAllListeners();
    client.on("error", () => {});
    client.end(true);
    client.stream?.destroy();
  }

  /** A broker that has taken no message closed because of the first one, and not for a twin. */
  #loseClosed(text: string): void {
    if (this.#hasTaken) this.#lose("closed", text);
    else this.#lose("failed", CLOSED_UNTAKEN);
  }

  /** Ends a lost connection after the callback of the mqtt package that may be running. */
  #lose(because: LostBecause, text: string): void {
    if (this.#isOver) return;
    this.#end();
    queueMicrotask(() => {
      this.abandon();
      this.#parts.listener.lost(because, text);
    });
  }

  #end(): void {
    this.#isOver = true;
    for (const end of [...this.#unanswered]) end("lost");
    for (const go of this.#waiting.splice(0)) go();
  }
}
