import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exitCodes, ProgramExit } from "../../shared/exit-codes.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { SIGNATURE_HEADER } from "./fraud-event.ts";
import type { NotificationDesk } from "./notification-desk.ts";

/** A notification is below 4 KB, its form encoding three times that; free data may be long. */
export const NOTIFICATION_BYTES_MAX = 64 * 1024;
/** More in a minute than any kiosk's gateway sends; the gateway repeats after a 503. */
export const REQUESTS_PER_MINUTE_MAX = 600;
export const CONNECTIONS_MAX = 32;
const REQUEST_MS_MAX = 10_000;
const HEADER_BYTES_MAX = 8 * 1024;

/** Where the fraud event is taken; every other path takes notifications. */
export const FRAUD_PATH = "/fraud";

export interface ListenerParts {
  readonly host: string;
  readonly port: number;
  readonly desk: Pick<NotificationDesk, "takeOperation" | "takeFraud">;
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
 * Takes the gateway's own messages. Anybody may reach this port, so nothing is believed but what
 * the digest or the signature covers. Only the status counts for the gateway: 200 taken, 403 not
 * genuine or not ours, 413 too large, 500 not stored and 503 too many, both repeated by it
 * (docs/gateway.md 3.6).
 */
export async function startNotificationListener(
  parts: ListenerParts,
): Promise<NotificationListener> {
  const { host, port, log, requestMs = REQUEST_MS_MAX } = parts;
  const allowed = rateLimit(parts.clock);
  const server = createServer(
    {
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      // Otherwise the runtime looks only every 30 s for those that have taken too long.
      connectionsCheckingInterval: requestMs / 5,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    (request, response) => {
      respond(request, parts, allowed).then(
        (status) => answer(request, response, status),
        (error: unknown) => {
          log.error({ err: error }, "a notification could not be taken");
          answer(request, response, 500);
        },
      );
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(cannotListen(host, port, error)));
    server.listen(port, host, resolve);
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

function cannotListen(host: string, port: number, error: Error): ProgramExit {
  return new ProgramExit(
    exitCodes.configuration,
    `NOTIFICATION_HOST and NOTIFICATION_PORT: cannot listen at ${host} port ${port}: ` +
      `${error.message}; use a free port and an address of this machine`,
  );
}

async function respond(
  request: IncomingMessage,
  { desk }: ListenerParts,
  allowed: () => boolean,
): Promise<number> {
  if (request.method !== "POST") return 405;
  if (!allowed()) return 503;
  const body = await readBody(request);
  if (body === "cut") return 400;
  if (body === "too large") return 413;
  const type = (request.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase();
  const path = (request.url ?? "").split("?")[0];
  if (path === FRAUD_PATH) {
    if (type !== "application/json") return 415;
    const signature = request.headers[SIGNATURE_HEADER];
    return desk.takeFraud(body, typeof signature === "string" ? signature : undefined) ? 200 : 403;
  }
  if (type !== "application/x-www-form-urlencoded") return 415;
  const document = formField(body, "xml");
  return document && desk.takeOperation(document) ? 200 : 403;
}

function answer(request: IncomingMessage, response: ServerResponse, status: number): void {
  if (response.destroyed) return;
  // The rest of a body that was not read to its end would be taken for the next request.
  const last = request.complete ? {} : { connection: "close" };
  response.writeHead(status, {
    "content-type": "text/plain",
    ...last,
    ...(status === 503 ? { "retry-after": "60" } : {}),
    ...(status === 405 ? { allow: "POST" } : {}),
  });
  response.end(status === 200 ? "OK" : "");
}

async function readBody(request: IncomingMessage): Promise<Buffer | "too large" | "cut"> {
  if (Number(request.headers["content-length"] ?? 0) > NOTIFICATION_BYTES_MAX) return "too large";
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > NOTIFICATION_BYTES_MAX) return "too large";
      chunks.push(chunk as Buffer);
    }
  } catch {
    return "cut"; // the sender is gone; nobody reads the answer
  }
  return Buffer.concat(chunks);
}

/** A bucket that fills evenly and holds what one minute may bring. */
function rateLimit(clock: Clock): () => boolean {
  let left = REQUESTS_PER_MINUTE_MAX;
  let lastMs = clock.monotonicMs();
  return () => {
    const nowMs = clock.monotonicMs();
    const refill = ((nowMs - lastMs) / 60_000) * REQUESTS_PER_MINUTE_MAX;
    left = Math.min(REQUESTS_PER_MINUTE_MAX, left + refill);
    lastMs = nowMs;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}

/**
 * The bytes of one field of an `application/x-www-form-urlencoded` body, decoded byte for byte: the
 * digest covers bytes, so no character set may come in between. undefined: not there exactly once,
 * or badly encoded. Pure.
 */
export function formField(body: Buffer, name: string): Buffer | undefined {
  const fields = body
    .toString("latin1")
    .split("&")
    .filter((field) => field.slice(0, field.indexOf("=") + 1) === `${name}=`);
  const [only] = fields;
  return fields.length === 1 && only ? decode(only.slice(name.length + 1)) : undefined;
}

function decode(text: string): Buffer | undefined {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  const bytes = text
    .replaceAll("+", " ")
    .replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return Buffer.from(bytes, "latin1");
}
