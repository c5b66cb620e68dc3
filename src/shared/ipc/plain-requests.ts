import type { Server } from "node:http";
import type { Socket } from "node:net";
import { systemClock, type Timer } from "../time.ts";

/** A message in one piece, in the form in which the other program's client writes it. */
interface PlainRequest {
  readonly method: "POST";
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface PlainAnswer {
  readonly status: number;
  readonly text: string;
  /** Names in lower case, values without a line break. */
  readonly headers: Readonly<Record<string, string>>;
  /** No other message is accepted on this connection. */
  readonly isLast: boolean;
  /** Called when the answer has left, or never will. */
  readonly over: () => void;
}

/** How long a connection is kept, as by Node's own server; the answer announces it. */
const KEPT_SECONDS = 5;
/** Added to {@link KEPT_SECONDS}, so that a message on its way still finds the connection. */
const LATE_MS = 1_000;

/**
 * Answers plain messages by `answer`, which never rejects. A connection with any other message is
 * left for good to Node's reader, which is several times slower and must already listen to the
 * server's connections.
 */
export function answerPlain(
  server: Server,
  answer: (request: PlainRequest, socket: Socket) => Promise<PlainAnswer>,
): void {
  const readers = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    let isBusy = false;
    let idle = untilIdle(socket);
    socket.on("close", onClose).on("end", onEnd).on("error", onError).on("data", onData);

    function onData(piece: Buffer): void {
      // The client sends nothing before the answer to its last message.
      if (isBusy) socket.destroy();
      else {
        const request = readPlainRequest(piece);
        if (request) void carry(request);
        else leave(piece);
      }
    }

    async function carry(request: PlainRequest): Promise<void> {
      isBusy = true;
      idle.clear();
      const { status, text, headers, isLast, over } = await answer(request, socket);
      isBusy = false;
      if (socket.destroyed) return over();
      idle = untilIdle(socket);
      let head = `HTTP/1.1 ${status} ${status === 200 ? "OK" : "Refused"}\r\n`;
      for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
      head += "content-type: application/json\r\n";
      head += isLast ? "connection: close\r\n" : `keep-alive: timeout=${KEPT_SECONDS}\r\n`;
      socket.write(`${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`, over);
      if (isLast || socket.readableEnded) socket.end();
    }

    function leave(piece: Buffer): void {
      idle.clear();
      socket.off("close", onClose).off("end", onEnd).off("error", onError).off("data", onData);
      socket.pause();
      socket.unshift(piece);
      for (const reader of readers) reader.call(server, socket);
      socket.resume();
    }

    function onClose(): void {
      idle.clear();
    }

    function onEnd(): void {
      if (!isBusy) socket.end();
    }

    function onError(): void {
      socket.destroy();
    }
  });
}

function untilIdle(socket: Socket): Timer {
  const ms = KEPT_SECONDS * 1_000 + LATE_MS;
  return systemClock.startTimer("idle local connection", ms, () => socket.destroy());
}

const HEAD_END = "\r\n\r\n";
const requestLine = /^POST (\/[\w/-]*) HTTP\/1\.1$/;
const headerLine = /^([A-Za-z-]+): ([\x20-\x7e]*)$/;
/** The headers that a plain message may have in addition to the connector's own. */
const meaningless = new Set(["host", "content-type", "content-length"]);

/** Returns the message in a piece; undefined: it is incomplete, not the only one, or not plain. */
function readPlainRequest(piece: Buffer): PlainRequest | undefined {
  const bodyAt = piece.indexOf(HEAD_END) + HEAD_END.length;
  if (bodyAt < HEAD_END.length) return undefined;
  const lines = piece.toString("latin1", 0, bodyAt - HEAD_END.length).split("\r\n");
  const url = requestLine.exec(lines[0] ?? "")?.[1];
  if (url === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (let i = 1; i < lines.length; i++) {
    const [, given = "", value = ""] = headerLine.exec(lines[i] ?? "") ?? [];
    const name = given.toLowerCase();
    const isKnown = meaningless.has(name) || name.startsWith("x-connector-");
    const isPlain = isKnown || (name === "connection" && value === "keep-alive");
    if (!isPlain || name in headers) return undefined;
    headers[name] = value;
  }
  const length = headers["content-length"] ?? "";
  const isWhole = /^\d{1,9}$/.test(length) && bodyAt + Number(length) === piece.length;
  if (!isWhole || headers["host"] === undefined) return undefined;
  return { method: "POST", url, headers, body: piece.toString("utf8", bodyAt) };
}
