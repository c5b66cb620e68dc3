import type { ClientRequest } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { HttpExchange } from "../../shared/ipc/http-connections.ts";
import { httpRequest, readText } from "../../shared/process/node-http.ts";

/** A result is below 2 KB, a page of a web server in between below 100 KB. */
export const ANSWER_BYTES_MAX = 256 * 1024;

/** The exchange ends with what Node's HTTP client makes of the answer, or of its absence. */
export function endBy(request: ClientRequest, exchange: HttpExchange): void {
  request.on("error", (error) => exchange.failWith(error));
  request.on("upgrade", () =>
    exchange.fail("socket", "the other side goes over to a new protocol"),
  );
  request.on("response", (response) => {
    readText(response, ANSWER_BYTES_MAX, () => response.destroy()).then(
      (text) =>
        exchange.answered(response.statusCode ?? 0, response.headers["retry-after"] ?? null, text),
      (error: Error) => exchange.failWith(error),
    );
  });
}

/**
 * An answer of any form to a request that was written: Node's client reads it from what has come
 * and what follows, and writes into nothing.
 */
export function readByNode(
  exchange: HttpExchange,
  pieces: readonly Buffer[],
  socket: Socket,
  method: "GET" | "POST",
): void {
  const carried = new Duplex({
    read() {
      // Pieces are handed on as they come.
    },
    write: (_piece, _encoding, done) => done(),
  });
  const request = httpRequest({ method, createConnection: () => carried });
  exchange.onGivenUp = () => {
    request.destroy();
    socket.destroy();
  };
  endBy(request, exchange);
  request.end();
  for (const piece of pieces) carried.push(piece);
  socket.removeAllListeners("data");
  socket.on("data", (piece) => void carried.push(piece));
  socket.on("end", () => void carried.push(null));
  socket.on("error", (error) => carried.destroy(error));
  socket.on("close", () => carried.destroy());
  // The end of the answer is the end of what carries it, and of the connection.
  carried.on("close", () => socket.destroy());
}
