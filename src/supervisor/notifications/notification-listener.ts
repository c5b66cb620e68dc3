import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Connections, sourceOf } from "../../shared/ipc/connections.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { createServer } from "../../shared/process/node-http.ts";
import type { Clock } from "../../shared/time.ts";
import { SIGNATURE_HEADER } from "./fraud-event.ts";
import type { NotificationHandler, Reception } from "./notification-handler.ts";

/** A notification is below 4 KB, its form encoding three times that; free data may be long. */
export const NOTIFICATION_BYTES_MAX = 64 * 1024;
/** Of all senders together. */
export const CONNECTIONS_MAX = 256;
/** Half, so that two addresses are served at least; behind a reverse proxy all senders have one. */
export const CONNECTIONS_OF_SOURCE_MAX = CONNECTIONS_MAX / 2;
/**
 * Connections that the system keeps until they are accepted here: enough that no pause makes it
 * drop the gateway's, and few enough that a flood of them is accepted within two seconds.
 */
const BACKLOG = 1_024;
const HEADERS_MAX = 100;
const BODY_BYTES_AT_FIRST = 4 * 1024;
const REQUEST_MS_MAX = 10_000;
const HEADER_BYTES_MAX = 8 * 1024;

/** More than a gateway sends about one kiosk; after a 503 the gateway sends again. */
export const MESSAGES_PER_MINUTE_MAX = 600;
/** Sources that have a bucket of their own; all others share one. */
const SOURCES_MAX = 256;
const OTHERS = "others";

/** Where the fraud event is taken; every other path takes notifications. */
export const FRAUD_PATH = "/fraud";

export interface ListenerParts {
  readonly host: string;
  readonly port: number;
  readonly handler: Pick<NotificationHandler, "takeOperation" | "takeFraud">;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a sender may take for one request; in milliseconds, {@link REQUEST_MS_MAX}. */
  readonly requestMs?: number;
}

export interface NotificationListener {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Takes the gateway's own messages. Any sender may reach this port, so nothing is believed but the
 * part that the digest or the signature covers, and nothing else is counted: a flood of anything
 * else takes no connection from the gateway. Only the status counts for the gateway: 200 taken, 403
 * not genuine or not ours, 413 too large, 500 not stored and 503 too many or perhaps ours, both
 * repeated by it (docs/gateway.md 3.6).
 */
export async function startNotificationListener(
  parts: ListenerParts,
): Promise<NotificationListener> {
  const { host, port, log, requestMs = REQUEST_MS_MAX } = parts;
  const connections = new Connections({
    total: CONNECTIONS_MAX,
    ofSource: CONNECTIONS_OF_SOURCE_MAX,
  });
  const rate = new SourceRate(parts.clock);
  const server = createServer(
    {
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      // By default the runtime checks only every 30 s which requests have taken too long.
      connectionsCheckingInterval: requestMs / 5,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    (request, response) => {
      const mayStore = (): boolean => {
        connections.trust(request.socket);
        return rate.allows(sourceOf(request.socket.remoteAddress));
      };
      respond(request, parts, mayStore).then(
        (status) => answer(request, response, status),
        (error: unknown) => {
          log.error({ err: error }, "a notification could not be taken");
          answer(request, response, 500);
        },
      );
    },
  );
  server.maxHeadersCount = HEADERS_MAX;
  // A connection over the limit is destroyed before anything is read from it.
  server.prependListener("connection", (socket: Socket) => {
    if (!connections.admit(socket)) socket.destroy();
  });
  server.prependListener("request", (_request: IncomingMessage, response: ServerResponse) =>
    connections.begin(response),
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(cannotListen(host, port, error)));
    server.listen(port, host, BACKLOG, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  log.info({ host, port: bound }, "notifications of the gateway are taken");
  return {
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Throws as {@link startNotificationListener} would, and takes nothing: so a version on probation
 * fails before it becomes permanent (docs/updates.md 4.3).
 */
export async function requireListening(host: string, port: number): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(cannotListen(host, port, error)));
    server.on("connection", (socket: Socket) => socket.destroy());
    server.listen(port, host, () => server.close(() => resolve()));
  });
}

function cannotListen(host: string, port: number, error: Error): ProgramExit {
  return new ProgramExit(
    exitCodes.configuration,
    `NOTIFICATION_HOST and NOTIFICATION_PORT: cannot listen at ${host} port ${port}: ` +
      `${error.message}; use a free port and an address of this machine`,
  );
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
  // Else the rest of a body that was not read would be taken for the next request.
  const last = request.complete ? {} : { connection: "close" };
  response.writeHead(status, {
    "content-type": "text/plain",
    ...last,
    ...(status === 503 ? { "retry-after": "60" } : {}),
    ...(status === 405 ? { allow: "POST" } : {}),
  });
  response.end(status === 200 ? "OK" : "");
}

/**
 * Reads the body into one buffer: pieces of one byte, kept one by one, would take hundreds of times
 * their size.
 */
async function readBody(request: IncomingMessage): Promise<Buffer | "too large" | "cut"> {
  if (Number(request.headers["content-length"] ?? 0) > NOTIFICATION_BYTES_MAX) return "too large";
  let body = Buffer.alloc(BODY_BYTES_AT_FIRST);
  let length = 0;
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      const chunk = piece as Buffer;
      const needed = length + chunk.length;
      if (needed > NOTIFICATION_BYTES_MAX) return "too large";
      if (needed > body.length) {
        const larger = Buffer.alloc(Math.max(needed, 2 * body.length));
        body.copy(larger, 0, 0, length);
        body = larger;
      }
      chunk.copy(body, length);
      length = needed;
    }
  } catch {
    return "cut"; // the sender is gone; nobody reads the answer
  }
  return body.subarray(0, length);
}

interface Bucket {
  left: number;
  lastMs: number;
}

/**
 * How many genuine messages one source may have stored: a bucket for each that fills evenly and
 * holds the messages of one minute. Only what was verified is counted, so that junk takes
 * nothing away; the limit is for a message that was overheard and is sent again and again.
 */
class SourceRate {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  allows(source: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#bucketOf(source, nowMs);
    const refill = ((nowMs - bucket.lastMs) / 60_000) * MESSAGES_PER_MINUTE_MAX;
    bucket.left = Math.min(MESSAGES_PER_MINUTE_MAX, bucket.left + refill);
    bucket.lastMs = nowMs;
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
  }

  #bucketOf(source: string, nowMs: number): Bucket {
    if (!this.#buckets.has(source) && this.#buckets.size >= SOURCES_MAX) this.#forgetFull(nowMs);
    const isRoom = this.#buckets.has(source) || this.#buckets.size < SOURCES_MAX;
    const key = isRoom ? source : OTHERS;
    const bucket = this.#buckets.get(key) ?? { left: MESSAGES_PER_MINUTE_MAX, lastMs: nowMs };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  /** A bucket is full again after a minute of silence, and then no different from a new one. */
  #forgetFull(nowMs: number): void {
    for (const [source, { lastMs }] of this.#buckets) {
      if (nowMs - lastMs >= 60_000) this.#buckets.delete(source);
    }
  }
}

const AMPERSAND = 0x26;

/**
 * The bytes of one field of an `application/x-www-form-urlencoded` body, decoded byte for byte: the
 * digest covers bytes, so no character set may come in between. undefined: the field is not there
 * exactly once, or badly encoded. Any sender may make the body, so each byte is read once. Pure.
 */
export function formField(body: Buffer, name: string): Buffer | undefined {
  const key = Buffer.from(`${name}=`);
  const starts: number[] = [];
  for (let at = body.indexOf(key); at >= 0; at = body.indexOf(key, at + 1)) {
    if (at === 0 || body[at - 1] === AMPERSAND) starts.push(at + key.length);
    if (starts.length > 1) return undefined;
  }
  const [from] = starts;
  if (from === undefined) return undefined;
  const end = body.indexOf(AMPERSAND, from);
  return decode(body.subarray(from, end < 0 ? body.length : end));
}

const PERCENT = 0x25;
const PLUS = 0x2b;
const BLANK = 0x20;

function decode(text: Buffer): Buffer | undefined {
  const bytes = Buffer.alloc(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    let byte = text[at] as number;
    if (byte === PERCENT) {
      const [high, low] = [hexDigit(text[at + 1]), hexDigit(text[at + 2])];
      if (high === undefined || low === undefined) return undefined;
      byte = 16 * high + low;
      at += 2;
    } else if (byte === PLUS) byte = BLANK;
    bytes[length++] = byte;
  }
  return bytes.subarray(0, length);
}

function hexDigit(code = 0): number | undefined {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20; // lower case
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : undefined;
}
