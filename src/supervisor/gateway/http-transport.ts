import type { ClientRequest } from "node:http";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import { connect, isIP, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectSecurely, TLSSocket } from "node:tls";
import { proxyFor, trustedWith } from "../../shared/config/server-trust.ts";
import { httpRequest, IDLE_CONNECTION_MS, readText } from "../../shared/process/node-http.ts";
import type { Clock } from "../../shared/time.ts";
import {
  type Exchange,
  HttpConnections,
  HttpExchange,
  type HttpMessage,
} from "./http-connections.ts";

/** The largest answer that is read; a result has 2 KB, a web server's error page up to 100 KB. */
const ANSWER_BYTES_MAX = 256 * 1024;

interface TransportSettings {
  /** Certificates in PEM that are trusted in addition to the system's (GATEWAY_CA_FILE). */
  readonly certificates?: readonly string[];
  /** The environment with HTTPS_PROXY and NO_PROXY; missing: no proxy is used. */
  readonly proxyEnvironment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Sends HTTP requests over connections of our own, which take a third of the time of Node's client.
 * If the environment names a proxy, Node's client is used.
 */
export class HttpTransport {
  readonly #clock: Clock;
  readonly #settings: TransportSettings;
  readonly #direct: HttpConnections;
  #tunnelled: TlsAgent | undefined;
  #trusted: string[] | undefined;
  /** The TLS session of the last connection, which shortens the handshake of the next one. */
  #session: { readonly origin: string; readonly bytes: Buffer } | undefined;

  constructor(clock: Clock, settings: TransportSettings = {}) {
    this.#clock = clock;
    this.#settings = settings;
    this.#direct = new HttpConnections({
      clock,
      open: (origin, take) => this.#socketTo(new URL(origin)).on("data", take),
      answerBytesMax: ANSWER_BYTES_MAX,
      readOther: readByNode,
    });
  }

  /** Sends once, follows no redirect, never rejects; a failure says whether it may have arrived. */
  send(message: HttpMessage, timeoutMs: number, signal: AbortSignal): Promise<Exchange> {
    return new Promise((resolve) => {
      const limits = { clock: this.#clock, name: "gateway answer", timeoutMs, signal };
      const exchange = new HttpExchange(limits, resolve);
      if (exchange.ended) return;
      try {
        this.#begin(message, exchange);
      } catch (error) {
        exchange.failWith(error as Error);
      }
    });
  }

  close(): void {
    this.#direct.close();
    this.#tunnelled?.destroy();
  }

  #begin(message: HttpMessage, exchange: HttpExchange): void {
    const proxyEnv = proxyFor(message.url, this.#settings.proxyEnvironment);
    if (proxyEnv) {
      this.#tunnelled ??= new TlsAgent({ ...tunnelOptions, ca: this.#ca, proxyEnv });
      sendByNode(message, this.#tunnelled, exchange);
    } else this.#direct.send(message, exchange);
  }

  get #ca(): string[] {
    this.#trusted ??= trustedWith(this.#settings.certificates ?? []);
    return this.#trusted;
  }

  #socketTo({ protocol, hostname, port, origin }: URL): Socket {
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const options = { host, noDelay: true, keepAlive: true, keepAliveInitialDelay: 1_000 };
    if (protocol === "http:") return connect({ ...options, port: Number(port || 80) });
    const kept = this.#session?.origin === origin ? this.#session.bytes : undefined;
    const socket = connectSecurely({
      ...options,
      port: Number(port || 443),
      servername: isIP(host) === 0 ? host : "",
      ca: this.#ca,
      ALPNProtocols: ["http/1.1"],
      ...(kept && { session: kept }),
    });
    socket.on("session", (bytes) => {
      this.#session = { origin, bytes };
    });
    socket.on("error", () => {
      this.#session = undefined;
    });
    return socket;
  }
}

const tunnelOptions = { keepAlive: true, maxSockets: 16, timeout: IDLE_CONNECTION_MS };

function sendByNode(
  { url, headers, body }: HttpMessage,
  agent: TlsAgent,
  exchange: HttpExchange,
): void {
  const request = httpsRequest(url, {
    method: body === null ? "GET" : "POST",
    agent,
    headers: body === null ? headers : { ...headers, "content-length": Buffer.byteLength(body) },
  });
  exchange.onGivenUp = () => request.destroy();
  request.on("socket", (socket) => {
    // Once the socket is ready, the other side may read bytes of the request. A socket that came
    // through a proxy's tunnel is ready before it is handed out.
    if (request.reusedSocket || isReady(socket)) exchange.written = true;
    else socket.once("secureConnect", () => (exchange.written = true));
  });
  endBy(request, exchange);
  request.end(body ?? undefined);
}

function isReady(socket: Socket): boolean {
  const handshaking = socket instanceof TLSSocket && socket.getFinished() === undefined;
  return !socket.connecting && !handshaking;
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
