import { connect, isIP, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { type PlainHead, readChunks, readPlainHead } from "../../shared/ipc/plain-http.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import { readByNode } from "./node-reader.ts";
import { ANSWER_BYTES_MAX, type OneExchange } from "./one-exchange.ts";

/**
 * Idle connections are closed before common servers close them (5 s): a request that meets a
 * connection just closed would be ambiguous.
 */
export const IDLE_MS = 2_000;
/** More pieces of a chunked answer are left to Node, which keeps its place in them. */
const CHUNKED_PIECES_MAX = 16;

/** One request: a POST with its body, or a GET without one. */
export interface HttpMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

interface Address {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
}

/**
 * Connections that carry one message at a time and are used again. A message is written once, in
 * one piece, to a connection that is open; nothing here ever writes one again
 * (docs/gateway.md 2.11).
 */
export class KeptConnections {
  readonly #clock: Clock;
  readonly #certificates: () => string[];
  readonly #open = new Set<Connection>();
  /** The last one used is used first, so that the others may close. */
  readonly #idle: Connection[] = [];
  #trusted: string[] | undefined;
  /** Spares the next connection half of its greeting. */
  #session: { readonly origin: string; readonly bytes: Buffer } | undefined;

  /** A queue of orders goes to one address, which is read once. */
  #known: (Address & { readonly url: string }) | undefined;

  constructor(clock: Clock, certificates: () => string[]) {
    this.#clock = clock;
    this.#certificates = certificates;
  }

  send(message: HttpMessage, exchange: OneExchange): void {
    const { origin, host, path } = this.#addressOf(message.url);
    const method = message.body === null ? "GET" : "POST";
    const bytes = requestOf(method, path, host, message);
    const at = this.#idle.findLastIndex((one) => one.origin === origin && one.isOpen);
    const [kept] = at === -1 ? [] : this.#idle.splice(at, 1);
    (kept ?? this.#begin(origin)).carry(bytes, method, exchange);
  }

  close(): void {
    for (const one of this.#open) one.close();
  }

  #addressOf(url: string): Address {
    if (this.#known?.url !== url) {
      const { origin, host, pathname, search } = new URL(url);
      this.#known = { url, origin, host, path: pathname + search };
    }
    return this.#known;
  }

  #begin(origin: string): Connection {
    const one = new Connection(origin, this.#socketTo(new URL(origin)), {
      clock: this.#clock,
      onIdle: () => this.#idle.push(one),
      onClosed: () => {
        this.#open.delete(one);
        const at = this.#idle.indexOf(one);
        if (at !== -1) this.#idle.splice(at, 1);
      },
    });
    this.#open.add(one);
    return one;
  }

  #socketTo({ protocol, hostname, port, origin }: URL): Socket {
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const options = { host, noDelay: true, keepAlive: true, keepAliveInitialDelay: 1_000 };
    if (protocol === "http:") return connect({ ...options, port: Number(port || 80) });
    this.#trusted ??= this.#certificates();
    const kept = this.#session?.origin === origin ? this.#session.bytes : undefined;
    const socket = connectSecurely({
      ...options,
      port: Number(port || 443),
      servername: isIP(host) === 0 ? host : "",
      ca: this.#trusted,
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

interface ConnectionParts {
  readonly clock: Clock;
  readonly onIdle: () => void;
  readonly onClosed: () => void;
}

/** One connection, and the exchange that it carries. */
class Connection {
  readonly origin: string;
  readonly #socket: Socket;
  readonly #parts: ConnectionParts;
  #ready = false;
  #exchange: OneExchange | undefined;
  #method: "GET" | "POST" = "POST";
  /** The request waits here until the connection is open. */
  #bytes: Buffer | undefined;
  #pieces: Buffer[] = [];
  #received = 0;
  #head: PlainHead | undefined;
  #idle: Timer | undefined;

  constructor(origin: string, socket: Socket, parts: ConnectionParts) {
    this.origin = origin;
    this.#socket = socket;
    this.#parts = parts;
    socket.once(origin.startsWith("https:") ? "secureConnect" : "connect", () => {
      this.#ready = true;
      if (this.#exchange) this.#write();
    });
    socket.on("data", (piece) => this.#take(piece));
    socket.on("error", (error) => this.#exchange?.failWith(error));
    socket.on("end", () => this.#cutOff());
    socket.on("close", () => {
      parts.onClosed();
      this.#cutOff();
    });
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Only when it carries none. */
  carry(bytes: Buffer, method: "GET" | "POST", exchange: OneExchange): void {
    this.#idle?.clear();
    this.#exchange = exchange;
    this.#method = method;
    this.#bytes = bytes;
    exchange.onGivenUp = () => this.close();
    if (this.#ready) this.#write();
  }

  close(): void {
    this.#idle?.clear();
    this.#socket.destroy();
  }

  #write(): void {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    if (!bytes || !this.#exchange || this.#exchange.ended || this.#socket.destroyed) return;
    this.#exchange.written = true;
    this.#socket.write(bytes);
  }

  #cutOff(): void {
    const how = this.#received > 0 ? "was cut off" : "did not come: the connection was closed";
    this.#exchange?.fail("socket", `the answer ${how}`);
    this.#exchange = undefined;
    this.close();
  }

  #take(piece: Buffer): void {
    const exchange = this.#exchange;
    // Words that nobody has asked for could be taken for the next answer.
    if (!exchange?.written || exchange.ended) {
      this.close();
      return;
    }
    this.#received += piece.length;
    if (this.#pieces.push(piece) === 1) this.#head = readPlainHead(piece);
    const head = this.#head;
    if (!head) this.#leaveToNode(exchange);
    else if (this.#received - head.headBytes > ANSWER_BYTES_MAX) {
      exchange.answered(head.httpStatus, retryAfterOf(head), null);
    } else if (head.bodyBytes !== null) this.#takeWhole(exchange, head, head.bodyBytes);
    else this.#takeChunks(exchange, head);
  }

  #takeWhole(exchange: OneExchange, head: PlainHead, bodyBytes: number): void {
    const end = head.headBytes + bodyBytes;
    if (this.#received < end) return;
    this.#answered(exchange, head, this.#all().toString("utf8", head.headBytes, end), end);
  }

  #takeChunks(exchange: OneExchange, head: PlainHead): void {
    const found = readChunks(this.#all().subarray(head.headBytes));
    if (!found || (found === "more" && this.#pieces.length >= CHUNKED_PIECES_MAX)) {
      this.#leaveToNode(exchange);
    } else if (found !== "more") {
      const { body, bytes } = found;
      this.#answered(exchange, head, body.toString("utf8"), head.headBytes + bytes);
    }
  }

  #all(): Buffer {
    const [first = Buffer.alloc(0), ...more] = this.#pieces;
    return more.length === 0 ? first : Buffer.concat(this.#pieces);
  }

  #answered(exchange: OneExchange, head: PlainHead, body: string, end: number): void {
    const glued = this.#received > end;
    this.#exchange = undefined;
    this.#pieces = [];
    this.#received = 0;
    this.#head = undefined;
    exchange.answered(head.httpStatus, retryAfterOf(head), body);
    const idleMs = Math.min(head.keptMs, IDLE_MS);
    if (glued || idleMs === 0) {
      this.close();
      return;
    }
    this.#idle = this.#parts.clock.startTimer("idle connection", idleMs, () => this.close());
    this.#parts.onIdle();
  }

  /** From here on the connection belongs to Node's client, and ends with this answer. */
  #leaveToNode(exchange: OneExchange): void {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#exchange = undefined;
    this.#socket.removeAllListeners("end");
    readByNode(exchange, pieces, this.#socket, this.#method);
  }
}

function retryAfterOf({ headers }: PlainHead): string | null {
  return headers.get("retry-after") ?? null;
}

/** Node lets the same into a header: nothing that would end its line. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The whole request. Throws when a header cannot be written. */
function requestOf(method: string, path: string, host: string, message: HttpMessage): Buffer {
  const { headers, body } = message;
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (!headerValue.test(value)) throw new Error(`the header ${name} cannot be written`);
    head += `${name}: ${value}\r\n`;
  }
  if (body === null) return Buffer.from(`${head}\r\n`, "latin1");
  return Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
