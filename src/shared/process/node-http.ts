import type { IncomingMessage } from "node:http";

/**
 * node:http without what nobody here uses: an `import` of it reads all its exports, `WebSocket`
 * among them, and with that Node loads undici: more than an empty start of Node costs.
 */
export const { createServer, request: httpRequest } = process.getBuiltinModule("node:http");

/**
 * How large the head of a request may be at a port that serves pages. A browser sends there what
 * all other ports of the same name have set as cookies: of one name Chromium keeps 180 with 4,096
 * bytes each, and puts two bytes between them. So no other program can keep the pages away.
 */
export const PAGE_HEADER_BYTES_MAX = 768 * 1024;

/**
 * The whole text of a message; null when it is larger than `bytesMax`: at its end, or at once where
 * `tooLarge` then ends it. Rejects when it is cut off. By events: what lies in the socket has been
 * read before anything else is done.
 */
export function readText(
  message: IncomingMessage,
  bytesMax: number,
  tooLarge?: () => void,
): Promise<string | null> {
  return new Promise((resolve, reject) => {
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
      if (!whole) reject(new Error("the message was cut off"));
    });
  });
}
