import type { IncomingMessage } from "node:http";

/**
 * node:http without an `import`, which would read all exports; one of them, `WebSocket`, makes Node
 * load undici, which costs more than an empty start of Node.
 */
export const { createServer, request: httpRequest } = process.getBuiltinModule("node:http");

/**
 * The largest head of a request to a port that serves pages. A browser sends it the cookies of all
 * ports of the same host name, at most 180 with 4,096 bytes each in Chromium and two bytes between
 * them, so that the cookies of another program do not keep the pages away.
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
