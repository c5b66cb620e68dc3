import type { ClientRequest } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectSecurely } from "node:tls";
import { ProxyAgent, type ProxyChoice } from "../../shared/config/proxy.ts";
import { trustedWith } from "../../shared/config/server-trust.ts";
import { httpRequest, readText } from "../../shared/process/node-http.ts";
import type { Clock } from "../../shared/time.ts";
import {
  type Exchange,
  HttpConnections,
  HttpExchange,
  type HttpMessage,
  type Opened,
} from "./http-connections.ts";

/** The largest answer that is read; a result has 2 KB, a web server's error page up to 100 KB. */
const ANSWER_BYTES_MAX = 256 * 1024;

interface TransportSettings {
  /** Certificates in PEM that are trusted in addition to the system's (GATEWAY_CA_FILE). */
  readonly certificates?: readonly string[];
  /** Missing: no proxy is used. */
  readonly proxyFor?: ProxyChoice;
}

/**
 * Sends HTTP requests over connections of our own, which take a third of the time of Node's client.
 * Node opens the tunnel through a proxy.
 */
export class HttpTransport {
  readonly #clock: Clock;
  readonly #settings: TransportSettings;
  readonly #connections: HttpConnections;
  #trusted: string[] | undefined;
  /** The TLS session of the last connection, which shortens the handshake of the next one. */
  #session: { readonly origin: string; readonly bytes: Buffer } | undefined;
  /** The clock of the server that answered last, minus our monotonic clock. */
  #theirMs = Number.NaN;

  constructor(clock: Clock, settings: TransportSettings = {}) {
    this.#clock = clock;
    this.#settings = settings;
    this.#connections = new HttpConnections({
      clock,
      open: (origin, opened) => this.#socketTo(new URL(origin), opened),
      answerBytesMax: ANSWER_BYTES_MAX,
      readOther: readByNode,
      // A server writes the whole seconds of its time, so that half a second is missing on average.
      onDate: (date) => (this.#theirMs = Date.parse(date) + 500 - clock.monotonicMs()),
    });
  }

  /** Sends once, follows no redirect, never rejects; a failure says whether it may have arrived. */
  send(message: HttpMessage, timeoutMs: number, signal: AbortSignal): Promise<Exchange> {
    return new Promise((resolve) => {
      const limits = { clock: this.#clock, name: "gateway answer", timeoutMs, signal };
      const exchange = new HttpExchange(limits, resolve);
      if (exchange.ended) return;
      try {
        this.#connections.send(message, exchange);
      } catch (error) {
        exchange.failWith(error as Error);
      }
    });
  }

  /** By how much our clock is ahead of the clock of the server that answered last; null: none. */
  get clockAheadSeconds(): number | null {
    const aheadMs = this.#clock.now() - this.#clock.monotonicMs() - this.#theirMs;
    return Number.isNaN(aheadMs) ? null : Math.round(aheadMs / 1_000);
  }

  close(): void {
    this.#connections.close();
  }

  get #ca(): string[] {
    this.#trusted ??= trustedWith(this.#settings.certificates ?? []);
    return this.#trusted;
  }

  #socketTo({ protocol, hostname, port, origin }: URL, opened: Opened): Socket {
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const options = { host, noDelay: true, keepAlive: true, keepAliveInitialDelay: 1_000 };
    if (protocol === "http:") {
      const socket = connect({ ...options, port: Number(port || 80) });
      return socket.once("connect", () => opened(null, socket));
    }
    const proxy = this.#settings.proxyFor?.(origin);
    const kept = this.#session?.origin === origin ? this.#session.bytes : undefined;
    const secured = {
      ...options,
      port: Number(port || 443),
      servername: isIP(host) === 0 ? host : "",
      ca: proxy ? [...this.#ca, ...proxy.certificates] : this.#ca,
      ALPNProtocols: ["http/1.1"],
      ...(kept && { session: kept }),
    };
    const keepSession = (socket: Socket): Socket =>
      socket
        .on("session", (bytes) => (this.#session = { origin, bytes }))
        .on("error", () => (this.#session = undefined));
    if (!proxy) {
      const socket = keepSession(connectSecurely(secured));
      return socket.once("secureConnect", () => opened(null, socket));
    }
    const agent = new ProxyAgent({ proxyEnv: proxy.proxyEnv });
    return agent.createConnection(secured, (error, socket) => {
      if (error) this.#session = undefined;
      else keepSession(socket as Socket);
      opened(error, socket as Socket);
    }) as Socket;
  }
}

function endBy(request: ClientRequest, exchange: HttpExchange): void {
  request.on("error", (error) => exchange.failWith(error));
  request.on("upgrade", () =>
    exchange.fail("socket", "the other side changes to another protocol"),
  );
  request.on("response", (response) => {
    readText(response, ANSWER_BYTES_MAX, () => response.destroy()).then(
      (text) =>
        exchange.answered(response.statusCode ?? 0, response.headers["retry-after"] ?? null, text),
      (error: Error) => exchange.failWith(error),
    );
  });
}

/**
 * Reads an answer of any form to a request that was written: Node's client gets the bytes that have
 * come and those that follow, and what Node's client writes is dropped.
 */
function readByNode(
  exchange: HttpExchange,
  pieces: readonly Buffer[],
  socket: Socket,
  method: "GET" | "POST",
): void {
  const carried = new Duplex({
    read() {
      // Nothing is fetched on demand: the pieces of the answer are pushed as they come.
    },
    write: (_piece, _encoding, done) => done(),
  });
  const request = httpRequest({ method, createConnection: () => carried });
  exchange.onGivenUp = () => {
    request.destroy();
    socket.destroy();
  };
  endBy(request, exchange);
  request.end();
  for (const piece of pieces) carried.push(piece);
  socket.removeAllListeners("data");
  socket.on("data", (piece) => void carried.push(piece));
  socket.on("end", () => void carried.push(null));
  socket.on("error", (error) => carried.destroy(error));
  socket.on("close", () => carried.destroy());
  // After this answer the connection is closed, so that no other request uses it.
  carried.on("close", () => socket.destroy());
}
