import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { invariant } from "../invariant.ts";
import { parseJson } from "../json.ts";
import type { Logger } from "../process/logger.ts";
import { createServer, readText } from "../process/node-http.ts";
import { type StoreExchange, type StoreMarks, storeMarksOf } from "../store/store-exchange.ts";
import { Connections } from "./connections.ts";
import { type Handlers, IPC_VERSION, type Messages, type Program } from "./contract.ts";
import { claimAddress, ipcToken } from "./run-directory.ts";

/** The largest body of a message in bytes; a transaction with a 64 KiB basket is far smaller. */
export const IPC_BODY_BYTES_MAX = 1024 * 1024;
export const IPC_TOKEN_HEADER = "x-connector-token";
/** The header with the marks of both databases, which show a loss (docs/rules/17-loss.md). */
export const IPC_STORES_HEADER = "x-connector-stores";
const MESSAGE_PATH = new RegExp(`^/v${IPC_VERSION}/([a-z-]+)$`);
/** The time within which a request must arrive completely; its sender is on this machine. */
const REQUEST_MS_MAX = 10_000;

/** Thrown by a handler for a message that it refuses now and would refuse again. */
export class MessageRefused extends Error {}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly stores?: StoreMarks | undefined;
}

interface IpcServerOptions<M extends Messages> {
  readonly runDirectory: string;
  readonly program: Program;
  readonly messages: M;
  readonly handlers: Handlers<M>;
  readonly log: Logger;
  /** Exchanges the databases' marks, which show a loss; missing: this program has no database. */
  readonly stores?: StoreExchange;
  /** Returns why senders have to send a message later; undefined: the message is answered now. */
  readonly putOff?: (name: keyof M) => string | undefined;
}

/**
 * Answers the other programs of this installation. Every request carries the token and is checked
 * against its schema; every answer is JSON, faults included: `{error, issues?}`.
 */
export async function startIpcServer<M extends Messages>(options: IpcServerOptions<M>) {
  const { runDirectory, program, messages, log, stores } = options;
  ipcToken(runDirectory);
  // The cast is correct, because each name is a key of `messages`.
  const handlers = options.handlers as Record<string, (request: unknown) => unknown>;
  const address = claimAddress(runDirectory, program);
  const isLetIn = tokenCheck(() => ipcToken(runDirectory));
  const connections = new Connections({ total: Number.POSITIVE_INFINITY });
  let isClosing = false;

  async function answer(request: IncomingMessage): Promise<Answer> {
    if (!isLetIn(request.socket, request.headers[IPC_TOKEN_HEADER])) {
      return { status: 401, body: { error: "wrong token" } };
    }
    const name = MESSAGE_PATH.exec(request.url ?? "")?.[1] ?? "";
    const message = Object.hasOwn(messages, name) ? messages[name] : undefined;
    const handle = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (request.method !== "POST" || !message || !handle) {
      return { status: 404, body: { error: `no message ${request.method} ${request.url}` } };
    }
    const why = options.putOff?.(name);
    if (why !== undefined) return { status: 503, body: { error: why } };
    // The body is read to its end, even if it is too large, so that its sender gets the answer.
    const body = await readText(request, IPC_BODY_BYTES_MAX);
    if (body === null) return { status: 413, body: { error: "body too large" } };
    const parsed = message.request.safeParse(parseJson(body));
    if (!parsed.success) {
      return {
        status: 400,
        body: { error: "message not understood", issues: parsed.error.issues },
      };
    }
    const standing = stores?.receive(storeMarksOf(request.headers[IPC_STORES_HEADER]));
    // The database's mark is read after the message was handled, so that it includes that work.
    const done = await handle(parsed.data);
    return { status: 200, body: done, stores: stores?.outgoing(standing) };
  }

  const limits = { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX };
  const server = createServer(limits, (request, response) => {
    const answered = answer(request)
      .then(sendable)
      .catch((error: unknown) => sendable(faultOf(error, request, log)));
    void answered.then((done) => send(response, done, isClosing));
  });
  connections.watch(server);
  server.listen(address);
  await once(server, "listening");
  if (process.platform !== "win32") chmodSync(address, 0o600);
  return {
    /** Resolves when the messages under way have been answered; idle connections are closed. */
    close: () => {
      isClosing = true;
      // A second call gets an error from the server, which is ignored: the server is closed.
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.end();
      return closed;
    },
  };
}

/** Returns an answer with its body as JSON text. Throws when the handler's result is no JSON. */
function sendable(answer: Answer) {
  const text = JSON.stringify(answer.body);
  invariant(text !== undefined, "the answer to a local message is an object");
  return { ...answer, text };
}

function send(
  response: ServerResponse,
  { status, text, stores }: ReturnType<typeof sendable>,
  isLast: boolean,
): void {
  if (response.destroyed) return;
  response.writeHead(status, {
    ...(stores && { [IPC_STORES_HEADER]: JSON.stringify(stores) }),
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text), // so that Node writes head and body in one piece
    ...(isLast && { connection: "close" }),
  });
  response.end(text);
}

function faultOf(error: unknown, { url, socket }: IncomingMessage, log: Logger): Answer {
  if (error instanceof MessageRefused) {
    log.warn({ url, err: error }, "a message of another program of the connector was refused");
    return { status: 422, body: { error: error.message } };
  }
  if (socket.destroyed) log.debug({ url, err: error }, "a local request was broken off");
  else log.error({ err: error, url }, "local message failed");
  return { status: 500, body: { error: "failed, see the log" } };
}

/** Returns a check of tokens. A token that was right once stays right for its connection. */
function tokenCheck(read: () => string) {
  const tokens = new WeakMap<Socket, string>();
  return (socket: Socket, given: string | string[] | undefined): boolean => {
    const known = tokens.get(socket);
    if (known !== undefined && isToken(given, known)) return true;
    // The token is read for each connection, because the other program may have replaced it.
    const token = read();
    tokens.set(socket, token);
    return isToken(given, token);
  };
}

function isToken(given: string | string[] | undefined, token: string): boolean {
  const bytes = Buffer.from(typeof given === "string" ? given : "");
  const expected = Buffer.from(token);
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}
