import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, type ErrorCode, errorTable } from "../../../shared/catalog/errors.ts";
import type { Connections } from "../../../shared/ipc/connections.ts";
import { PAGE_HEADER_BYTES_MAX } from "../../../shared/process/node-http.ts";
import { errorOfAppError } from "../../orders/answer.ts";
import { jsonText } from "../envelope.ts";
import { securityHeaders } from "./access.ts";

/** One kiosk needs a handful. */
const CONNECTIONS_MAX = 256;
/** A request that has not arrived completely by then is cut. */
const REQUEST_ARRIVAL_MAX_MS = 10_000;
const HEADERS_ARRIVAL_MAX_MS = 5_000;
/** How often late requests are looked for. */
const ARRIVAL_CHECK_MS = 500;
const KEEP_ALIVE_MS = 30_000;
const HEADER_BYTES_MAX = 16 * 1024;
/** A browser opens six to one name; together they may hold 48 MiB of headers. */
const PAGE_CONNECTIONS_MAX = 64;
const HEADERS_MAX = 100;
/** Connections the system keeps until we take them: a flood must not make it drop the kiosk. */
export const BACKLOG = 2_048;

export interface ServerLimits {
  /** Options that node:http must know when a server is made. */
  readonly http: ServerOptions;
  /** On both loopback addresses together. */
  readonly connections: number;
}

const apiOptions: ServerOptions = {
  maxHeaderSize: HEADER_BYTES_MAX,
  connectionsCheckingInterval: ARRIVAL_CHECK_MS,
  // A missing one is answered like a wrong one, with a body.
  requireHostHeader: false,
  insecureHTTPParser: false,
};

export const apiLimits: ServerLimits = { http: apiOptions, connections: CONNECTIONS_MAX };

/** Of a port that serves pages to a browser. */
export const pageLimits: ServerLimits = {
  http: { ...apiOptions, maxHeaderSize: PAGE_HEADER_BYTES_MAX },
  connections: PAGE_CONNECTIONS_MAX,
};

export const arrivalLimits = {
  requestTimeout: REQUEST_ARRIVAL_MAX_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
} as const;

/** Gives a server its limits and refusals, which are the same on 127.0.0.1 and ::1. */
export function harden(server: Server, connections: Connections): void {
  server.requestTimeout = REQUEST_ARRIVAL_MAX_MS;
  server.headersTimeout = HEADERS_ARRIVAL_MAX_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.maxHeadersCount = HEADERS_MAX;
  // Destroyed before anything is read of it, so that no request of it can begin.
  server.prependListener("connection", (socket: Duplex) => {
    if (!connections.admit(socket)) socket.destroy();
  });
  // Before the API's own listener: what has begun must be known when a parser gives up.
  server.prependListener("request", (_request: IncomingMessage, response: ServerResponse) =>
    connections.begin(response),
  );
  // A tunnel is never opened; an expectation other than 100-continue is ignored.
  server.on("connect", (_request: IncomingMessage, socket: Duplex) =>
    refuseOnSocket(socket, "METHOD_NOT_ALLOWED"),
  );
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    server.emit("request", request, response);
  });
}

/**
 * Answers a request that the HTTP parser gave up on in the form of every other error, then closes
 * the connection. No such answer leaves while a request that came whole is being carried out on the
 * same connection: its sender would take the refusal for the answer of a payment that goes on.
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
  // After an answer nothing may follow that could belong to it.
  if (ended && code === "REQUEST_INVALID") socket.end(() => socket.destroy());
  else refuseOnSocket(socket, code);
}

const parserCodes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "HEADERS_TOO_LARGE",
  ERR_HTTP_REQUEST_TIMEOUT: "REQUEST_TOO_SLOW",
};

const reasons: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

function refuseOnSocket(socket: Duplex, code: ErrorCode): void {
  const { http } = errorTable[code];
  const text = code === "REQUEST_INVALID" ? "The request is not HTTP/1.1." : undefined;
  const error = errorOfAppError(new AppError(code, text));
  const body = jsonText([{ status: "Failed", error }]);
  const head = [
    `HTTP/1.1 ${http} ${reasons[http] ?? "Error"}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
    "connection: close",
  ];
  socket.on("error", () => undefined); // the client may be gone already
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
