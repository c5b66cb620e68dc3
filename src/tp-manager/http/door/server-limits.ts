import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, type ErrorCode, errorTable } from "../../../shared/catalog/errors.ts";
import type { Connections } from "../../../shared/ipc/connections.ts";
import { PAGE_HEADER_BYTES_MAX, STATUS_CODES } from "../../../shared/process/node-http.ts";
import { errorOfAppError } from "../../orders/answer.ts";
import { jsonText } from "../envelope.ts";
import { securityHeaders } from "./access.ts";

/** The most connections of the local API; a kiosk needs a handful. */
const CONNECTIONS_MAX = 256;
/** How long a request may take to arrive completely, before its connection is closed. */
const REQUEST_ARRIVAL_MAX_MS = 10_000;
const HEADERS_ARRIVAL_MAX_MS = 5_000;
/** How often node checks for requests that take too long to arrive. */
const ARRIVAL_CHECK_MS = 500;
const KEEP_ALIVE_MS = 30_000;
const HEADER_BYTES_MAX = 16 * 1024;
/** The most connections of a port with pages; their headers take at most 48 MiB. */
const PAGE_CONNECTIONS_MAX = 64;
const HEADERS_MAX = 100;
/** How many new connections the system queues, so that a flood leaves room for the kiosk's. */
export const BACKLOG = 2_048;

export interface ServerLimits {
  readonly http: ServerOptions;
  /** The most connections on both loopback addresses together. */
  readonly connections: number;
}

const apiOptions: ServerOptions = {
  maxHeaderSize: HEADER_BYTES_MAX,
  connectionsCheckingInterval: ARRIVAL_CHECK_MS,
  // Node itself would answer a missing Host header without a body.
  requireHostHeader: false,
  insecureHTTPParser: false,
};

export const apiLimits: ServerLimits = { http: apiOptions, connections: CONNECTIONS_MAX };

export const pageLimits: ServerLimits = {
  http: { ...apiOptions, maxHeaderSize: PAGE_HEADER_BYTES_MAX },
  connections: PAGE_CONNECTIONS_MAX,
};

/** Sets the limits of a server; the servers of 127.0.0.1 and ::1 get the same limits. */
export function harden(server: Server, connections: Connections): void {
  server.requestTimeout = REQUEST_ARRIVAL_MAX_MS;
  server.headersTimeout = HEADERS_ARRIVAL_MAX_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.maxHeadersCount = HEADERS_MAX;
  connections.watch(server);
  // The method CONNECT is refused; an Expect header other than 100-continue is ignored.
  server.on("connect", (_request: IncomingMessage, socket: Duplex) =>
    refuseOnSocket(socket, "METHOD_NOT_ALLOWED"),
  );
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    server.emit("request", request, response);
  });
}

/**
 * Answers a request that the HTTP parser gave up on in the form of every other error, then closes
 * the connection. No refusal is sent while a complete request is being carried out on the same
 * connection: its sender would take the refusal for the answer of a payment that goes on.
 */
export function refuseUnparsed(
  connections: Connections,
  error: NodeJS.ErrnoException,
  socket: Duplex,
): void {
  const { open, ended } = connections.of(socket);
  const begun = [...open].some(({ req, headersSent }) => req.complete || headersSent);
  if (error.code === "ECONNRESET" || !socket.writable || begun) {
    socket.destroy();
    return;
  }
  const code = parserCodes[error.code ?? ""] ?? "REQUEST_INVALID";
  // A refusal that follows an answer could be taken for a part of that answer.
  if (ended && code === "REQUEST_INVALID") socket.end(() => socket.destroy());
  else refuseOnSocket(socket, code);
}

const parserCodes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "HEADERS_TOO_LARGE",
  ERR_HTTP_REQUEST_TIMEOUT: "REQUEST_TOO_SLOW",
};

function refuseOnSocket(socket: Duplex, code: ErrorCode): void {
  const { http } = errorTable[code];
  const text = code === "REQUEST_INVALID" ? "The request is not HTTP/1.1." : undefined;
  const error = errorOfAppError(new AppError(code, text));
  const body = jsonText([{ status: "Failed", error }]);
  const head = [
    `HTTP/1.1 ${http} ${STATUS_CODES[http]}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
    "connection: close",
  ];
  socket.on("error", () => undefined); // the client may be gone already
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
