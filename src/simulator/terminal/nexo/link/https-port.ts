import type { IncomingMessage, ServerResponse } from "node:http";
import { Duplex } from "node:stream";
import { type SecureContext, TLSSocket } from "node:tls";
import { createServer, readText } from "../../../../shared/process/node-http.ts";
import type { BytePort } from "../../port/ports.ts";

/** A request of a register, which the terminal may answer once, or drop. */
export interface Call {
  readonly text: string;
  readonly line: string;
  answer(status: number, text: string): void;
  /** Sends the head and the first half of an answer, then closes the connection. */
  cut(text: string): void;
  /** Closes the connection without an answer. */
  drop(): void;
}

const REQUEST_BYTES_MAX = 1024 * 1024;
const PATHS = new Set(["/nexo", "/nexo/"]);

/** Speaks HTTPS on byte ports; several registers may be connected (docs/nexo.md 2.1). */
export class HttpsPorts {
  readonly #context: () => SecureContext;
  readonly #isMuted: () => boolean;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #lines = new WeakMap<object, string>();
  readonly #called: (call: Call) => void;

  constructor(context: () => SecureContext, isMuted: () => boolean, called: (call: Call) => void) {
    this.#context = context;
    this.#isMuted = isMuted;
    this.#called = called;
  }

  connect(port: BytePort): void {
    const stream = streamOf(port, this.#isMuted);
    const socket = new TLSSocket(stream, { isServer: true, secureContext: this.#context() });
    // A register that refuses our certificate ends its connection; nothing else depends on it.
    socket.on("error", () => stream.destroy());
    stream.on("error", () => socket.destroy());
    this.#lines.set(socket, port.name);
    this.#server.emit("connection", socket);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    response.setHeader("connection", "close");
    if (request.method !== "POST" || !PATHS.has(request.url ?? "")) {
      response.writeHead(404).end();
      return;
    }
    const text = await readText(request, REQUEST_BYTES_MAX).catch(() => null);
    if (text === null) {
      socket.destroy();
      return;
    }
    const head = (body: string): object => ({
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    });
    this.#called({
      text,
      line: this.#lines.get(socket) ?? "",
      answer: (status, body) => {
        response.writeHead(status, { ...head(body) }).end(body);
      },
      cut: (body) => {
        response.writeHead(200, { ...head(body) });
        response.write(body.slice(0, body.length >> 1), () => socket.destroy());
      },
      drop: () => void socket.destroy(),
    });
  }
}

function streamOf(port: BytePort, isMuted: () => boolean): Duplex {
  const stream = new Duplex({
    read: () => {},
    write: (chunk: Uint8Array, _encoding, done) => {
      if (!isMuted()) port.write(chunk);
      done();
    },
    final: (done) => {
      port.close();
      done();
    },
    destroy: (error, done) => {
      port.close();
      done(error);
    },
  });
  port.start({
    data: (bytes) => stream.push(bytes),
    closed: () => {
      stream.push(null);
      stream.destroy();
    },
  });
  return stream;
}
