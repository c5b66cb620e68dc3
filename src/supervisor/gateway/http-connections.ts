import type { Socket } from "node:net";
import { IDLE_CONNECTION_MS } from "../../shared/process/node-http.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import { type PlainHead, readChunks, readPlainHead } from "./plain-http.ts";

/** Why an exchange has no answer. "stopped": the sender gave up because its program ends. */
export type FailureCause = "socket" | "certificate" | "timeout" | "stopped";

/** The outcome of one HTTP request to the gateway. */
export type Exchange =
  | {
      readonly kind: "answered";
      readonly httpStatus: number;
      readonly retryAfter: string | null;
      /** The body; null: it was larger than any genuine answer, and the connection is closed. */
      readonly body: string | null;
    }
  | {
      readonly kind: "failed";
      readonly cause: FailureCause;
      /** Whether bytes of the request may have reached the other side. */
      readonly written: boolean;
      readonly detail: string;
    };

interface Limits {
  readonly clock: Clock;
  readonly name: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** One request with its answer; ends once: by answer, fault, time limit or the program's stop. */
export class HttpExchange {
  /** Whether bytes of the request were written, so that the other side may have read them. */
  written = false;
  /** Closes the connection, if the exchange ended without a whole answer. */
  onGivenUp: () => void = () => undefined;
  ended = false;
  readonly #signal: AbortSignal;
  readonly #resolve: (end: Exchange) => void;
  readonly #timer: Timer;
  readonly #onStop = (): void => this.fail("stopped", "the program was stopped");

  constructor({ clock, name, timeoutMs, signal }: Limits, resolve: (end: Exchange) => void) {
    this.#signal = signal;
    this.#resolve = resolve;
    this.#timer = clock.startTimer(name, timeoutMs, () =>
      this.fail("timeout", `no complete answer within ${timeoutMs} ms`),
    );
    if (signal.aborted) this.#onStop();
    else signal.addEventListener("abort", this.#onStop, { once: true });
  }

  answered(httpStatus: number, retryAfter: string | null, body: string | null): void {
    this.#end({ kind: "answered", httpStatus, retryAfter, body });
    if (body === null) this.onGivenUp();
  }

  fail(cause: FailureCause, detail: string): void {
    if (this.ended) return;
    this.#end({ kind: "failed", cause, written: this.written, detail });
    this.onGivenUp();
  }

  failWith(error: Error): void {
    const { code = "" } = error as NodeJS.ErrnoException;
    const isCertificate = /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code);
    this.fail(isCertificate && !this.written ? "certificate" : "socket", textOf(error));
  }

  #end(end: Exchange): void {
    if (this.ended) return;
    this.ended = true;
    this.#timer.clear();
    this.#signal.removeEventListener("abort", this.#onStop);
    this.#resolve(end);
  }
}

function textOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  // A host with several addresses fails with one error for each address.
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [];
  const texts = [error, ...causes].map(({ message }) => message).filter((text) => text !== "");
  return [code, ...new Set(texts)].filter((text) => text !== undefined).join(": ");
}

/** A request: POST if it has a body, else GET. */
export interface HttpMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export type Opened = (error: Error | null, socket: Socket) => void;

interface Settings {
  readonly clock: Clock;
  /** Begins to open a connection; `opened` gets the socket for messages, or the fault. */
  readonly open: (origin: string, opened: Opened) => Socket;
  readonly answerBytesMax: number;
  /** Gets the server's time of each answer that has one. */
  readonly onDate?: (date: string) => void;
  /** Reads an answer that plain-http.ts cannot read, and ends the connection afterwards. */
  readonly readOther: (
    exchange: HttpExchange,
    pieces: readonly Buffer[],
    socket: Socket,
    method: "GET" | "POST",
  ) => void;
}

/** The largest number of chunks that are read here; `readOther` reads an answer with more. */
const CHUNKED_PIECES_MAX = 16;

/**
 * HTTP over connections kept open, each with one message at a time; Node's client takes three times
 * as long. A message is written once, in one piece, to an open connection (docs/gateway.md 2.11).
 */
export class HttpConnections {
  readonly #settings: Settings;
  readonly #open = new Set<Connection>();
  /** Idle connections; the one that was used last is used next, so that the others can close. */
  readonly #idle = new Set<Connection>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Throws when the address or a header cannot be written. */
  send(message: HttpMessage, exchange: HttpExchange): void {
    const url = new URL(message.url);
    const method = message.body === null ? "GET" : "POST";
    const bytes = bytesOf(method, url, message);
    const kept = [...this.#idle].findLast((one) => one.isFree(url.origin));
    if (kept) this.#idle.delete(kept);
    (kept ?? this.#begin(url.origin)).carry(bytes, method, exchange);
  }

  close(): void {
    for (const one of this.#open) one.close();
  }

  #begin(origin: string): Connection {
    const onIdle = (): unknown => this.#idle.add(one);
    const one: Connection = new Connection(origin, this.#settings, onIdle, () => {
      this.#open.delete(one);
      this.#idle.delete(one);
    });
    this.#open.add(one);
    return one;
  }
}

const CLOSED = "the answer did not come: the connection was closed";

class Connection {
  readonly #origin: string;
  /** The socket for messages; until it is open through a proxy, the connection to the proxy. */
  #socket: Socket;
  readonly #settings: Settings;
  readonly #onIdle: () => unknown;
  #ready = false;
  #exchange: HttpExchange | undefined;
  #method: "GET" | "POST" = "POST";
  /** The request waits here until the connection is open. */
  #bytes: Buffer | undefined;
  #pieces: Buffer[] = [];
  #received = 0;
  #head: PlainHead | undefined;
  #idle: Timer | undefined;
  #idleEndMs = 0;

  constructor(origin: string, settings: Settings, onIdle: () => unknown, onClosed: () => void) {
    this.#origin = origin;
    this.#settings = settings;
    this.#onIdle = onIdle;
    const watched = (socket: Socket): Socket => {
      socket.on("error", (error) => this.#exchange?.failWith(error));
      socket.on("close", () => {
        this.close();
        onClosed();
      });
      return socket;
    };
    const opening = settings.open(origin, (error, socket) => {
      if (error) {
        this.#exchange?.failWith(error);
        return this.close();
      }
      this.#socket = socket === opening ? socket : watched(socket);
      socket.on("data", (piece) => this.#take(piece));
      socket.on("end", () => this.close());
      this.#ready = true;
      this.#write();
    });
    this.#socket = watched(opening);
  }

  isFree(origin: string): boolean {
    const isKept = this.#settings.clock.monotonicMs() <= this.#idleEndMs;
    return origin === this.#origin && isKept && !this.#socket.destroyed;
  }

  /** Sends an exchange's request and reads its answer. The connection must be idle. */
  carry(bytes: Buffer, method: "GET" | "POST", exchange: HttpExchange): void {
    this.#idle?.clear();
    this.#exchange = exchange;
    this.#method = method;
    this.#bytes = bytes;
    exchange.onGivenUp = () => this.close();
    this.#socket.ref();
    if (this.#ready) this.#write();
  }

  close(): void {
    this.#idle?.clear();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.fail("socket", this.#received > 0 ? "the answer was cut off" : CLOSED);
    this.#socket.destroy();
  }

  #write(): void {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    if (!bytes || !this.#exchange || this.#exchange.ended || this.#socket.destroyed) return;
    this.#exchange.written = true;
    this.#socket.write(bytes);
  }

  #take(piece: Buffer): void {
    const exchange = this.#exchange;
    // Bytes that come without a request could be taken for the answer to the next request.
    if (!exchange?.written || exchange.ended) {
      this.close();
      return;
    }
    this.#received += piece.length;
    this.#pieces.push(piece);
    this.#head ??= readPlainHead(this.#all());
    const head = this.#head;
    if (!head) this.#leave(exchange);
    else if (this.#received - head.headBytes > this.#settings.answerBytesMax) {
      exchange.answered(head.httpStatus, head.retryAfter, null);
    } else if (head.bodyBytes === null) this.#takeChunks(exchange, head);
    else {
      const end = head.headBytes + head.bodyBytes;
      if (this.#received < end) return;
      this.#answered(exchange, head, this.#all().toString("utf8", head.headBytes, end), end);
    }
  }

  #takeChunks(exchange: HttpExchange, head: PlainHead): void {
    const found = readChunks(this.#all().subarray(head.headBytes));
    const isLong = this.#pieces.length >= CHUNKED_PIECES_MAX;
    if (!found || (found === "more" && isLong)) this.#leave(exchange);
    else if (found !== "more") {
      const { body, bytes } = found;
      this.#answered(exchange, head, body.toString("utf8"), head.headBytes + bytes);
    }
  }

  #all(): Buffer {
    const [first = Buffer.alloc(0), ...more] = this.#pieces;
    return more.length === 0 ? first : Buffer.concat(this.#pieces);
  }

  #answered(exchange: HttpExchange, head: PlainHead, body: string, end: number): void {
    const glued = this.#received > end;
    this.#exchange = undefined;
    this.#pieces = [];
    this.#received = 0;
    this.#head = undefined;
    if (head.date !== undefined) this.#settings.onDate?.(head.date);
    exchange.answered(head.httpStatus, head.retryAfter, body);
    const idleMs = Math.min(head.keptMs, IDLE_CONNECTION_MS);
    if (glued || idleMs === 0) {
      this.close();
      return;
    }
    const { clock } = this.#settings;
    this.#idleEndMs = clock.monotonicMs() + idleMs;
    this.#idle = clock.startTimer("idle connection", idleMs, () => this.close());
    // The idle socket does not keep the program alive; the timer does, for two seconds at most.
    this.#socket.unref();
    this.#onIdle();
  }

  /** Leaves an answer, of which the head may be incomplete, and its connection to `readOther`. */
  #leave(exchange: HttpExchange): void {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#exchange = undefined;
    this.#socket.removeAllListeners("end");
    this.#settings.readOther(exchange, pieces, this.#socket, this.#method);
  }
}

/** The characters that a header's value may have, as in Node: none that would end its line. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

function bytesOf(method: string, { host, pathname, search }: URL, message: HttpMessage): Buffer {
  const { headers, body } = message;
  let head = `${method} ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\n`;
  head += "connection: keep-alive\r\n";
  for (const [name, value] of Object.entries(headers)) {
    if (!headerValue.test(value)) throw new Error(`the header ${name} has a wrong character`);
    head += `${name}: ${value}\r\n`;
  }
  if (body === null) return Buffer.from(`${head}\r\n`, "latin1");
  return Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
