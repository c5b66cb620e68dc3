import type { IncomingMessage } from "node:http";

/**
 * The module node:http, loaded without an `import` to start faster. An `import` reads all exports,
 * and reading the export `WebSocket` makes Node load the large package undici.
 */
const http = process.getBuiltinModule("node:http");
export const { Agent: HttpAgent, createServer, request: httpRequest, STATUS_CODES } = http;

/**
 * How long a client keeps an idle connection. Common servers close one after 5 s, and a message on
 * a connection that is being closed would stay without an answer.
 */
export const IDLE_CONNECTION_MS = 2_000;

/**
 * The largest head of a request to a port that serves pages. A browser sends the cookies of all
 * ports of a host name, in Chromium at most 180 of 4,096 bytes each. With a smaller limit, cookies
 * of other programs could block the pages.
 */
export const PAGE_HEADER_BYTES_MAX = 768 * 1024;

/**
 * Returns the text of an HTTP message; null: the message is larger than `bytesMax`. A large message
 * is read to its end, unless `tooLarge` is given, which then ends the message at once. Rejects if
 * the message is cut off. "data" events, unlike an iterator, read all that has come at once.
 */
export function readText(
  message: IncomingMessage,
  bytesMax: number,
  tooLarge?: () => void,
): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  message.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else if (tooLarge) {
      resolve(null);
      tooLarge();
    }
  });
  let whole = false;
  message.on("end", () => {
    whole = message.complete;
    if (whole) resolve(bytes <= bytesMax ? Buffer.concat(chunks).toString("utf8") : null);
  });
  message.on("error", reject);
  message.on("close", () => {
    if (!whole) reject(new Error("the HTTP message ended before it was complete"));
  });
  return promise;
}
