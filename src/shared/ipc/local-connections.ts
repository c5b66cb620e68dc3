import { connect, type Socket } from "node:net";
import type { Clock, Timer } from "../time.ts";
import { HEAD_BYTES_MAX, readChunks, readPlainHead } from "./plain-http.ts";
import { readInto } from "./read-into.ts";

interface LocalMessage {
  readonly socketPath: string;
  readonly path: string;
  /** Names in lower case, values without a line break. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

interface LocalAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: ReadonlyMap<string, string>;
}

interface LocalOptions {
  readonly clock: Clock;
  readonly answerBytesMax: number;
  /** The header of an answer that is handed on. */
  readonly header: string;
  /** Asked once connected, before anything is said: whether it is the right one who listens. */
  readonly isRight?: (socketPath: string) => boolean;
}

/** No answer came, or none that was understood. */
export class LocalFailure extends Error {
  /** The message may have arrived. */
  readonly connected: boolean;

  constructor(connected: boolean, message: string, options?: ErrorOptions) {
    super(message, options);
    this.connected = connected;
  }
}

/** More messages at once wait for one of these. */
const CONNECTIONS_MAX = 8;
/**
 * A connection that was idle for longer is not used again: Node's servers close one after 5 s, and
 * a message that meets the closing would be without an answer.
 */
const IDLE_MS_MAX = 2_000;
const NO_BYTES = Buffer.alloc(0);

/**
 * HTTP to the other program over connections that are kept, each with one message at a time. In
 * place of Node's client, which costs a payment three times as much. No message is ever repeated.
 */
export class LocalConnections {
  readonly #options: LocalOptions;
  readonly #open = new Set<Connection>();
  /** The last one used is used first. */
  readonly #idle: Connection[] = [];
  readonly #waiting: Exchange[] = [];

  constructor(options: LocalOptions) {
    this.#options = options;
  }

  /** Rejects with {@link LocalFailure}. */
  send(message: LocalMessage): Promise<LocalAnswer> {
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(message, this.#options.clock, resolve, reject);
      exchange.onEnd = () => {
        const at = this.#waiting.indexOf(exchange);
        if (at !== -1) this.#waiting.splice(at, 1);
      };
      this.#waiting.push(exchange);
      this.#next();
    });
  }

  close(): void {
    for (const one of [...this.#waiting]) one.fail("the connection was closed");
    for (const one of this.#open) one.close("the connection was closed");
  }

  #next(): void {
    const [exchange] = this.#waiting;
    if (!exchange) return;
    const { socketPath } = exchange.message;
    const kept = this.#kept(socketPath);
    if (!kept && this.#open.size >= CONNECTIONS_MAX) return;
    this.#waiting.shift();
    (kept ?? this.#begin(socketPath)).carry(exchange);
  }

  #kept(socketPath: string): Connection | undefined {
    for (let one = this.#idle.pop(); one; one = this.#idle.pop()) {
      const idleMs = this.#options.clock.monotonicMs() - one.idleSinceMs;
      if (one.isOpen && one.socketPath === socketPath && idleMs <= one.keptMs) return one;
      one.close("it was idle");
    }
    return undefined;
  }

  #begin(socketPath: string): Connection {
    const one: Connection = new Connection(socketPath, this.#options, {
      idle: () => {
        this.#idle.push(one);
        this.#next();
      },
      closed: () => {
        this.#open.delete(one);
        const at = this.#idle.indexOf(one);
        if (at !== -1) this.#idle.splice(at, 1);
        this.#next();
      },
    });
    this.#open.add(one);
    return one;
  }
}

/** One message, and who waits for its answer. Ends once. */
class Exchange {
  readonly message: LocalMessage;
  /** From now on the other side may read it. */
  connected = false;
  onEnd: () => void = () => {};
  readonly #timer: Timer;
  readonly #resolve: (answer: LocalAnswer) => void;
  readonly #reject: (failure: LocalFailure) => void;

  constructor(
    message: LocalMessage,
    clock: Clock,
    resolve: (answer: LocalAnswer) => void,
    reject: (failure: LocalFailure) => void,
  ) {
    this.message = message;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = clock.startTimer("ipc answer", message.timeoutMs, () =>
      this.fail(`nothing within ${message.timeoutMs} ms`),
    );
  }

  answered(answer: LocalAnswer): void {
    this.#timer.clear();
    this.#resolve(answer);
  }

  /** Again is harmless. */
  fail(message: string, options?: ErrorOptions): void {
    this.#timer.clear();
    this.#reject(new LocalFailure(this.connected, message, options));
    this.onEnd();
  }
}

interface ConnectionListener {
  readonly idle: () => void;
  readonly closed: () => void;
}

class Connection {
  readonly socketPath: string;
  /** How long it may be idle, as the other side said. */
  keptMs = IDLE_MS_MAX;
  idleSinceMs = 0;
  readonly #socket: Socket;
  readonly #options: LocalOptions;
  readonly #listener: ConnectionListener;
  #exchange: Exchange | undefined;
  #ready = false;
  #received: Buffer = NO_BYTES;

  constructor(socketPath: string, options: LocalOptions, listener: ConnectionListener) {
    this.socketPath = socketPath;
    this.#options = options;
    this.#listener = listener;
    const onread = readInto((piece) => this.#take(piece));
    this.#socket = connect({ path: socketPath, onread }, () => {
      this.#ready = options.isRight?.(socketPath) ?? true;
      if (this.#ready) this.#write();
      else this.close("the program has ended, and another process listens in its place");
    });
    this.#socket.on("error", (cause) => this.#exchange?.fail(cause.message, { cause }));
    this.#socket.on("end", () => this.close("the connection was closed"));
    this.#socket.on("close", () => {
      this.close("the connection was closed");
      listener.closed();
    });
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Only when it carries none. */
  carry(exchange: Exchange): void {
    this.#exchange = exchange;
    exchange.onEnd = () => this.#socket.destroy();
    this.#socket.ref();
    if (this.#ready) this.#write();
  }

  close(why: string): void {
    this.#exchange?.fail(why);
    this.#exchange = undefined;
    this.#socket.destroy();
  }

  #write(): void {
    if (!this.#exchange || this.#socket.destroyed) return;
    this.#exchange.connected = true;
    const { path, headers, body } = this.#exchange.message;
    let head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: keep-alive\r\n`;
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
    this.#socket.write(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  #take(piece: Buffer): void {
    if (!this.#exchange) {
      this.#socket.destroy();
      return;
    }
    this.#received = this.#received.length === 0 ? piece : Buffer.concat([this.#received, piece]);
    const head = readPlainHead(this.#received, this.#options.header);
    const { answerBytesMax } = this.#options;
    if (!head) {
      const isWhole = this.#received.includes("\r\n\r\n");
      if (isWhole || this.#received.length > HEAD_BYTES_MAX) this.close("the answer is not plain");
      return;
    }
    if (this.#received.length - head.headBytes > answerBytesMax) {
      this.close("answer too large");
      return;
    }
    const coded = this.#received.subarray(head.headBytes);
    const found = head.bodyBytes === null ? readChunks(coded) : bodyOf(coded, head.bodyBytes);
    if (found === "more") return;
    if (!found) this.close("the answer is not plain");
    else {
      const { httpStatus: status, headers, keptMs } = head;
      const isExact = found.bytes === coded.length;
      this.#ended({ status, headers, text: found.body.toString("utf8") }, isExact ? keptMs : 0);
    }
  }

  #ended(answer: LocalAnswer, keptMs: number): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#received = NO_BYTES;
    this.keptMs = Math.min(keptMs, IDLE_MS_MAX);
    exchange?.answered(answer);
    if (this.keptMs === 0) this.#socket.destroy();
    else {
      this.idleSinceMs = this.#options.clock.monotonicMs();
      // Keeps no program from ending.
      this.#socket.unref();
      this.#listener.idle();
    }
  }
}

function bodyOf(coded: Buffer, bytes: number): { body: Buffer; bytes: number } | "more" {
  return coded.length < bytes ? "more" : { body: coded.subarray(0, bytes), bytes };
}
