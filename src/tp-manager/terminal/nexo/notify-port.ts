import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { type Notice, readMessage, readNotice } from "../../../nexo/index.ts";
import { BrokenInvariant } from "../../../shared/invariant.ts";
import { Connections, sourceOf } from "../../../shared/ipc/connections.ts";
import { readText } from "../../../shared/process/node-http.ts";
import type { Clock } from "../../../shared/time.ts";
import type { NexoContext } from "./nexo-options.ts";

const BODY_BYTES_MAX = 64 * 1024;
/** The connections of one source in a second; a whole payment has some twelve notifications. */
const PER_SECOND_MAX = 20;
/** The most reasons to ignore notifications that are logged, each of them once. */
const REASONS_MAX = 20;

/**
 * Listens for what the terminal says by itself (docs/nexo.md 8.2). Any machine of the network may
 * send to this port, so only what the shared key protects is passed on, where there is a key. A
 * port or files that cannot be used cost the prompts, and no payment.
 */
export function openNotifyPort(context: NexoContext, heard: (notice: Notice) => void) {
  const { options, log, clock } = context;
  const { notifyPort: port, notifyFiles = [], notifyMs: ms = 5_000 } = options;
  if (port === undefined) return undefined;
  const fail = ({ message }: Error): void =>
    log.error(`NEXO_NOTIFY_PORT ${port}: ${message}; there will be no prompts`);
  const known = new Set<string>();
  const ignore = (why: string | null): void => {
    if (why === null || known.has(why) || known.size >= REASONS_MAX) return;
    known.add(why);
    log.warn(`notifications of the terminal are ignored: ${why}`);
  };
  const connections = new Connections({ total: 64, ofSource: 8 });
  const isFew = rate(clock);
  try {
    const [cert, key] = notifyFiles.map((file) => readFileSync(file));
    const times = { requestTimeout: ms, headersTimeout: ms, connectionsCheckingInterval: ms / 5 };
    const tls = { cert, key, minVersion: "TLSv1.2", handshakeTimeout: ms } as const;
    const server = createServer({ ...tls, ...times }, async (request, response) => {
      const cut = (): void => void request.socket.destroy();
      const text = await readText(request, BODY_BYTES_MAX, cut).catch(() => null);
      // One answer to all, so that nobody learns from it what was wrong, and a connection for each,
      // so that the limits of connections are those of messages.
      response.writeHead(200, { "content-type": "text/plain", connection: "close" });
      response.end("[accepted]");
      ignore(text === null ? "one is too large, or cut off" : take(text, context, heard));
    });
    server.on("tlsClientError", ({ message }) => ignore(message));
    server.on("error", fail);
    // Before the TLS handshake, which is what costs time.
    server.prependListener("connection", (socket: Socket) => {
      if (!isFew(sourceOf(socket.remoteAddress)) || !connections.admit(socket)) socket.destroy();
    });
    server.listen(port, () => {
      const bound = (server.address() as AddressInfo).port;
      log.info({ port: bound }, "the driver listens for the terminal's notifications");
    });
    return () => {
      server.close();
      connections.end();
      server.closeAllConnections();
    };
  } catch (error) {
    fail(error as Error);
    return undefined;
  }
}

/** Passes a notification on, or returns why it is ignored. */
function take(text: string, { options }: NexoContext, heard: (notice: Notice) => void) {
  try {
    const message = readMessage(text, options.key);
    const { POIID } = message.header;
    if (POIID?.toUpperCase() !== options.poiId.toUpperCase()) return "one is of another terminal";
    const notice = readNotice(message);
    if (notice) heard(notice);
    return null;
  } catch (error) {
    if (error instanceof BrokenInvariant) throw error;
    return (error as Error).message;
  }
}

/** Returns whether a source may have one more connection in this second. */
function rate(clock: Clock): (source: string) => boolean {
  const counts = new Map<string, number>();
  let second = 0;
  return (source) => {
    const now = Math.floor(clock.monotonicMs() / 1_000);
    if (now !== second) counts.clear();
    second = now;
    const count = (counts.get(source) ?? 0) + 1;
    counts.set(source, count);
    return count <= PER_SECOND_MAX;
  };
}
