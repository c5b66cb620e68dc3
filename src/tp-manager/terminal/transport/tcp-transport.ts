import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { PORT_MAX } from "../../../shared/config/config-field.ts";
import type { Clock } from "../../../shared/time.ts";
import {
  type ByteConnection,
  type ByteTransport,
  TransportError,
  type TransportListener,
} from "./byte-transport.ts";

const CONNECT_TIMEOUT_MS = 5_000;
/** The silence after which TCP probes a connection, so that a pulled cable is noticed. */
const KEEP_ALIVE_AFTER_MS = 10_000;
/** The size of the read buffer in bytes; nearly every message of a terminal fits. */
const READ_BYTES_MAX = 8 * 1024;

/** Returns host and port of `tcp://host:port`; undefined for any other text. */
export function parseTcpAddress(text: string) {
  const match = /^tcp:\/\/(\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+):(\d{1,5})$/.exec(text);
  const [, host = "", digits = ""] = match ?? [];
  const port = Number(digits);
  if (!match || port < 1 || port > PORT_MAX) return undefined;
  return { host: host.replace(/^\[|\]$/g, ""), port };
}

export function createTcpTransport(host: string, port: number, clock: Clock): ByteTransport {
  const address = `tcp://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return {
    kind: "tcp",
    address,
    open: (listener, signal) => {
      signal.throwIfAborted();
      // Set as an option, because Windows loses a keep-alive time set on a connecting socket.
      const keepAlive = { keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS };
      const line = { isOpen: true };
      // The socket reads into this buffer, because Node otherwise allocates 64 KiB for each piece.
      const onread = {
        buffer: new Uint8Array(READ_BYTES_MAX),
        callback(count: number, buffer: Uint8Array) {
          if (line.isOpen) listener.data(Buffer.from(buffer.subarray(0, count)));
          return true;
        },
      };
      const socket = createConnection({ host, port, noDelay: true, ...keepAlive, onread });
      return connected(socket, address, clock, signal).then(() =>
        tcpConnection(socket, address, listener, line),
      );
    },
  };
}

/** Waits until a socket is connected. Rejects with {@link TransportError} or `signal.reason`. */
async function connected(socket: Socket, address: string, clock: Clock, signal: AbortSignal) {
  const late = new AbortController();
  const timer = clock.startTimer("tcp connect", CONNECT_TIMEOUT_MS, () =>
    late.abort(new TransportError(`${address} did not answer`)),
  );
  const over = AbortSignal.any([signal, late.signal]);
  try {
    await once(socket, "connect", { signal: over });
  } catch (error) {
    // A destroyed socket may still emit an error, which without a listener ends the process.
    socket.on("error", () => {});
    socket.destroy();
    const problem = `cannot connect to ${address}: ${(error as Error).message}`;
    throw over.aborted ? over.reason : new TransportError(problem);
  } finally {
    timer.clear();
  }
}

function tcpConnection(
  socket: Socket,
  address: string,
  listener: TransportListener,
  line: { isOpen: boolean },
): ByteConnection {
  let problem: TransportError | null = null;
  const gone = Promise.withResolvers<void>();
  socket.on("end", () => {
    problem ??= new TransportError(`${address} closed the connection`);
  });
  socket.on("error", (cause) => {
    problem ??= new TransportError(`${address}: ${cause.message}`, { cause });
  });
  socket.on("close", () => {
    const wasOpen = line.isOpen;
    line.isOpen = false;
    gone.resolve();
    listener.closed(wasOpen ? (problem ?? new TransportError(`${address} closed`)) : null);
  });
  return {
    write(bytes) {
      if (!line.isOpen || socket.destroyed || !socket.writable) {
        throw new TransportError(`${address} is not connected`);
      }
      // In Node's pool the bytes need no memory of their own, which Node would allocate for them.
      socket.write(Buffer.from(bytes));
    },
    close() {
      line.isOpen = false;
      socket.destroySoon();
      return gone.promise;
    },
  };
}
