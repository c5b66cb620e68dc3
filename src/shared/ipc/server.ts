import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { invariant } from "../invariant.ts";
import { parseJson } from "../json.ts";
import type { Logger } from "../process/logger.ts";
import { createServer, readText } from "../process/node-http.ts";
import { type StoreExchange, type StoreMarks, storeMarksSchema } from "../store/store-exchange.ts";
import { type Handlers, IPC_VERSION, type Messages, type Program } from "./contract.ts";
import { answerPlain } from "./plain-requests.ts";
import { claimAddress, ipcToken } from "./run-directory.ts";

/** The largest body of a message; a transaction with a basket of 64 KiB is far smaller. */
export const IPC_BODY_BYTES_MAX = 1024 * 1024;
export const IPC_TOKEN_HEADER = "x-connector-token";
/** The header with the marks of the two databases as JSON (docs/rules/17-loss.md). */
export const IPC_STORES_HEADER = "x-connector-stores";
const MESSAGE_PATH = new RegExp(`^/v${IPC_VERSION}/([a-z-]+)$`);
/** The time within which a request must arrive completely; its sender is on this machine. */
const REQUEST_MS_MAX = 10_000;

/** Thrown by a handler that refuses one message, and will refuse it again. */
export class MessageRefused extends Error {}

interface IpcServer {
  /** Ends when the messages being carried out have been answered; idle connections are cut. */
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly stores?: StoreMarks | undefined;
}

/** An answer in the form in which it is sent. */
interface Answered extends Pick<Answer, "status"> {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Request = Pick<IncomingMessage, "method" | "url" | "headers">;
/** Reads the body to its end, so that its sender gets the answer; null: it is too large. */
type BodyOf = () => Promise<string | null> | string;

interface IpcServerOptions<M extends Messages> {
  readonly runDirectory: string;
  readonly program: Program;
  readonly messages: M;
  readonly handlers: Handlers<M>;
  readonly log: Logger;
  /** The marks of a program that has a database. */
  readonly stores?: StoreExchange;
  /** Why senders have to repeat a message later; undefined: the message is answered now. */
  readonly putOff?: (name: keyof M) => string | undefined;
}

/**
 * Answers the other programs of this installation. Every request carries the token and is checked
 * against its schema; every answer is JSON, faults included: `{error, issues?}`.
 */
export async function startIpcServer<M extends Messages>(
  options: IpcServerOptions<M>,
): Promise<IpcServer> {
  const { runDirectory, program, messages, log, stores } = options;
  ipcToken(runDirectory);
  // The cast is right, because each name is a key of `messages`.
  const handlers = options.handlers as Record<string, (request: unknown) => unknown>;
  const address = claimAddress(runDirectory, program);
  const connections = new Connections(() => ipcToken(runDirectory));

  async function answer(request: Request, socket: Socket, bodyOf: BodyOf): Promise<Answer> {
    if (!connections.isLetIn(socket, request.headers[IPC_TOKEN_HEADER])) {
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
    const body = await bodyOf();
    if (body === null) return { status: 413, body: { error: "body too large" } };
    const parsed = message.request.safeParse(parseJson(body));
    if (!parsed.success) {
      return {
        status: 400,
        body: { error: "message not understood", issues: parsed.error.issues },
      };
    }
    connections.begin(socket);
    const standing = stores?.receive(storeMarksOf(request.headers[IPC_STORES_HEADER]));
    // The mark is read after the handler's work, so that it includes what the answer reports.
    const done = await handle(parsed.data);
    return { status: 200, body: done, stores: stores?.outgoing(standing) };
  }

  async function answered(request: Request, socket: Socket, bodyOf: BodyOf): Promise<Answered> {
    try {
      const { status, body, stores: marks } = await answer(request, socket, bodyOf);
      const text = JSON.stringify(body);
      invariant(text !== undefined, `the answer of ${request.url} is an object`);
      return { status, text, headers: marks ? { [IPC_STORES_HEADER]: JSON.stringify(marks) } : {} };
    } catch (error) {
      const { status, body } = faultOf(error, request.url, socket.destroyed, log);
      return { status, text: JSON.stringify(body), headers: {} };
    }
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    response.once("close", () => connections.end(socket));
    const done = await answered(request, socket, () => readText(request, IPC_BODY_BYTES_MAX));
    send(response, done, connections.closing);
  }

  const limits = { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX };
  const server = createServer(limits, (request, response) => void respond(request, response));
  answerPlain(server, async (request, socket) => ({
    ...(await answered(request, socket, () => request.body)),
    isLast: connections.closing,
    over: () => connections.end(socket),
  }));
  server.on("connection", (socket) => connections.add(socket));
  server.listen(address);
  await once(server, "listening");
  if (process.platform !== "win32") chmodSync(address, 0o600);
  return { close: () => close(server, connections) };
}

function close(server: Server, connections: Connections): Promise<void> {
  // Also of a server that is closed already.
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  connections.closeIdle();
  return closed;
}

/** The answer to a message whose handler failed. */
function faultOf(
  error: unknown,
  url: string | undefined,
  isBrokenOff: boolean,
  log: Logger,
): Answer {
  if (error instanceof MessageRefused) {
    log.warn({ url, err: error }, "a local message was refused");
    return { status: 422, body: { error: error.message } };
  }
  if (isBrokenOff) log.debug({ url, err: error }, "a local request was broken off");
  else log.error({ err: error, url }, "local message failed");
  return { status: 500, body: { error: "failed, see the log" } };
}

/** The connections of the server; when it closes, the idle ones are cut. */
class Connections {
  closing = false;
  readonly #all = new Set<Socket>();
  readonly #tokens = new WeakMap<Socket, string>();
  readonly #busy = new Set<Socket>();
  readonly #readToken: () => string;

  constructor(readToken: () => string) {
    this.#readToken = readToken;
  }

  add(socket: Socket): void {
    this.#all.add(socket);
    socket.once("close", () => this.#all.delete(socket));
  }

  /** Whether a request's token is right. */
  isLetIn(socket: Socket, given: string | string[] | undefined): boolean {
    const known = this.#tokens.get(socket);
    if (known !== undefined && isToken(given, known)) return true;
    // The token is read for each connection, because the other program may have replaced it.
    const token = this.#readToken();
    this.#tokens.set(socket, token);
    return isToken(given, token);
  }

  /** Records that a complete message is being carried out. */
  begin(socket: Socket): void {
    this.#busy.add(socket);
  }

  end(socket: Socket): void {
    this.#busy.delete(socket);
  }

  closeIdle(): void {
    this.closing = true;
    for (const socket of this.#all) if (!this.#busy.has(socket)) socket.destroy();
  }
}

function isToken(given: string | string[] | undefined, token: string): boolean {
  const bytes = Buffer.from(typeof given === "string" ? given : "");
  const expected = Buffer.from(token);
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}

/** Returns the marks in a header; undefined: the header is missing or malformed. */
export function storeMarksOf(header: string | string[] | null | undefined): StoreMarks | undefined {
  if (typeof header !== "string") return undefined;
  return storeMarksSchema.safeParse(parseJson(header)).data;
}

function send(response: ServerResponse, { status, text, headers }: Answered, last: boolean): void {
  if (response.writableEnded || response.destroyed) return;
  response.writeHead(status, {
    ...headers,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text), // one write to the socket
    ...(last ? { connection: "close" } : {}),
  });
  response.end(text);
}
