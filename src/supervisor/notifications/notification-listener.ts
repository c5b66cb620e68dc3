import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Connections, sourceOf } from "../../shared/ipc/connections.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { createServer } from "../../shared/process/node-http.ts";
import { holderText } from "../../shared/process/open-files.ts";
import { type Clock, MINUTE_MS } from "../../shared/time.ts";
import { SIGNATURE_HEADER } from "./fraud-event.ts";
import { formField } from "./mapi-notification.ts";
import type { NotificationHandler, Reception } from "./notification-handler.ts";

/** The size limit of a notification: most have 4 KB, as a form 12 KB, and free data may be long. */
const NOTIFICATION_BYTES_MAX = 64 * 1024;
/** The largest number of connections of all senders together. */
const CONNECTIONS_MAX = 256;
/** The most connections of one address, which for a reverse proxy means of all senders. */
const CONNECTIONS_OF_SOURCE_MAX = CONNECTIONS_MAX / 2;
/** How many connections the operating system queues until this program accepts them. */
const BACKLOG = 1_024;
const HEADERS_MAX = 100;
const REQUEST_MS_MAX = 10_000;
const HEADER_BYTES_MAX = 8 * 1024;

/** The limit of genuine messages a minute from one source; after a 503 the gateway sends again. */
const MESSAGES_PER_MINUTE_MAX = 600;
/** How many senders' addresses have a limit each; all further addresses share one limit. */
const SOURCES_MAX = 256;
const OTHERS = "others";

/** The path for fraud events; every other path accepts notifications. */
const FRAUD_PATH = "/fraud";

interface ListenerParts {
  readonly host: string;
  readonly port: number;
  readonly handler: Pick<NotificationHandler, "takeOperation" | "takeFraud">;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a sender may take to send one request; missing: {@link REQUEST_MS_MAX}. */
  readonly requestMs?: number;
}

/**
 * Listens for the gateway's own messages (docs/gateway.md 3.6). Any sender may reach this port, so
 * only what the digest or signature covers is believed, and a flood of other messages takes no
 * connection from the gateway. Answers: 200 stored, 403 not genuine or not ours, 413 too large; and
 * 500 not stored or 503 too many or perhaps ours, after which the gateway sends again.
 */
export async function startNotificationListener(parts: ListenerParts) {
  const { host, port, log, requestMs = REQUEST_MS_MAX } = parts;
  const connections = new Connections({
    total: CONNECTIONS_MAX,
    ofSource: CONNECTIONS_OF_SOURCE_MAX,
  });
  const isAllowed = sourceRate(parts.clock);
  const server = createServer(
    {
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      // By default Node checks its time limits so rarely that a slow request goes on for 30 s more.
      connectionsCheckingInterval: requestMs / 5,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    (request, response) => {
      const mayStore = (): boolean => {
        connections.trust(request.socket);
        return isAllowed(sourceOf(request.socket.remoteAddress));
      };
      respond(request, parts, mayStore).then(
        (status) => answer(request, response, status),
        (error: unknown) => {
          log.error({ err: error }, "a notification of the gateway could not be stored");
          answer(request, response, 500);
        },
      );
    },
  );
  server.maxHeadersCount = HEADERS_MAX;
  connections.watch(server);
  await listen(server, host, port);
  const bound = (server.address() as AddressInfo).port;
  log.info({ host, port: bound }, "the supervisor listens for notifications of the gateway");
  return {
    port: bound,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Throws if the address cannot be listened on. Listens for a moment and accepts no message. */
export async function requireListening(host: string, port: number): Promise<void> {
  const server = createServer();
  server.on("connection", (socket: Socket) => socket.destroy());
  await listen(server, host, port);
  await new Promise((resolve) => server.close(resolve));
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", ({ message }) => {
      const who = message.includes("EADDRINUSE") ? holderText(port) : undefined;
      const why =
        `NOTIFICATION_HOST and NOTIFICATION_PORT: cannot listen at ${host} port ${port}: ` +
        `${message}${who ? ` (${who})` : ""}; use a free port and an address of this machine`;
      reject(new ProgramExit(exitCodes.configuration, why));
    });
    server.listen(port, host, BACKLOG, resolve);
  });
}

async function respond(
  request: IncomingMessage,
  { handler }: ListenerParts,
  mayStore: () => boolean,
): Promise<number> {
  if (request.method !== "POST") return 405;
  const body = await readBody(request);
  if (body === "cut") return 400;
  if (body === "too large") return 413;
  const type = (request.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase();
  const path = (request.url ?? "").split("?")[0];
  if (path === FRAUD_PATH) {
    if (type !== "application/json") return 415;
    const signature = request.headers[SIGNATURE_HEADER];
    const given = typeof signature === "string" ? signature : undefined;
    return statusOf[handler.takeFraud(body, given, mayStore)];
  }
  if (type !== "application/x-www-form-urlencoded") return 415;
  const document = formField(body, "xml");
  return document ? statusOf[handler.takeOperation(document, mayStore)] : 403;
}

const statusOf = {
  taken: 200,
  refused: 403,
  "put-off": 503,
} as const satisfies Record<Reception, number>;

function answer(request: IncomingMessage, response: ServerResponse, status: number): void {
  if (response.destroyed) return;
  // The connection is closed, because an unread rest of the body would be read as a new request.
  const last = request.complete ? {} : { connection: "close" };
  response.writeHead(status, {
    "content-type": "text/plain",
    ...last,
    ...(status === 503 ? { "retry-after": "60" } : {}),
    ...(status === 405 ? { allow: "POST" } : {}),
  });
  response.end(status === 200 ? "OK" : "");
}

/** Reads the body into one buffer, because many small pieces would take far more memory. */
async function readBody(request: IncomingMessage): Promise<Buffer | "too large" | "cut"> {
  const announced = Number(request.headers["content-length"] ?? NOTIFICATION_BYTES_MAX);
  if (announced > NOTIFICATION_BYTES_MAX) return "too large";
  const body = Buffer.alloc(announced);
  let length = 0;
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      if (length + piece.length > body.length) return "too large";
      length += (piece as Buffer).copy(body, length);
    }
  } catch {
    return "cut"; // the sender is gone and reads no answer
  }
  return body.subarray(0, length);
}

/**
 * Returns a function that counts a genuine message and returns whether its source may have it
 * stored: each source has a token bucket for one minute. Only verified messages are counted; the
 * limit stops a sender that repeats a recorded message of the gateway.
 */
function sourceRate(clock: Clock): (source: string) => boolean {
  /** For each source: when its token bucket is full again, in ms of the monotonic clock. */
  const buckets = new Map<string, number>();
  return (source) => {
    const nowMs = Math.floor(clock.monotonicMs());
    if (!buckets.has(source) && buckets.size >= SOURCES_MAX) {
      // A source whose token bucket is full again is like a new source, so it can be forgotten.
      for (const [one, fullMs] of buckets) if (fullMs <= nowMs) buckets.delete(one);
    }
    const isRoom = buckets.has(source) || buckets.size < SOURCES_MAX;
    const key = isRoom ? source : OTHERS;
    const fullMs = Math.max(buckets.get(key) ?? 0, nowMs) + MINUTE_MS / MESSAGES_PER_MINUTE_MAX;
    if (fullMs - nowMs > MINUTE_MS) return false;
    buckets.set(key, fullMs);
    return true;
  };
}
