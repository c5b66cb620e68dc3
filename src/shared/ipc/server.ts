import { timingSafeEqual } from "node:crypto";
import { chmodSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { invariant } from "../invariant.ts";
import type { Logger } from "../process/logger.ts";
import { createServer } from "../process/node-http.ts";
import type { StoreExchange } from "../store/store-exchange.ts";
import { type StoreWord, storeWordSchema } from "../store/store-mark.ts";
import { type Handlers, IPC_VERSION, type Messages, type Program } from "./contract.ts";
import { answerPlain } from "./plain-requests.ts";
import { claimAddress, ipcToken } from "./run-directory.ts";

/** A transaction with a basket of 64 KiB and its echo fit many times over. */
export const IPC_BODY_BYTES_MAX = 1024 * 1024;
export const IPC_TOKEN_HEADER = "x-connector-token";
/** JSON: the marks of the two databases (docs/rules/17-loss.md). */
export const IPC_STORES_HEADER = "x-connector-stores";
const MESSAGE_PATH = new RegExp(`^/v${IPC_VERSION}/([a-z-]+)$`);
/** For a whole request to come in; its sender is on this machine. */
const REQUEST_MS_MAX = 10_000;

/** A handler refuses what one message asks for, and will refuse it again. */
export class MessageRefused extends Error {}

interface IpcServer {
  /** Ends when the messages being carried out have been answered; idle connections are cut. */
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly stores?: StoreWord | undefined;
}

/** An answer as it is sent. */
interface Answered extends Pick<Answer, "status"> {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Request = Pick<IncomingMessage, "method" | "url" | "headers">;
/** undefined: too large. */
type BodyOf = () => Promise<string | undefined> | string;

interface IpcServerOptions<M extends Messages> {
  readonly runDirectory: string;
  readonly program: Program;
  readonly messages: M;
  readonly handlers: Handlers<M>;
  readonly log: Logger;
  /** Of a program that has a database of its own. */
  readonly stores?: StoreExchange;
  /** Why a message is put off by all who send it, as if nobody listened; undefined: it is not. */
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
  // The one place where a message name stops being a type: handlers are keyed by `messages`.
  const handlers = options.handlers as Record<string, (request: unknown) => unknown>;
  const address = claimAddress(runDirectory, program);
  const connections = trackConnections(() => ipcToken(runDirectory));

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
    if (body === undefined) return { status: 413, body: { error: "body too large" } };
    const parsed = message.request.safeParse(parseJson(body));
    if (!parsed.success) {
      return {
        status: 400,
        body: { error: "message not understood", issues: parsed.error.issues },
      };
    }
    connections.begin(socket);
    const standing = stores?.hear(storeWordOf(request.headers[IPC_STORES_HEADER]));
    // Its own mark is read after the work, so that the mark counts what the answer tells.
    const done = await handle(parsed.data);
    return { status: 200, body: done, stores: stores?.tell(standing) };
  }

  async function answered(request: Request, socket: Socket, bodyOf: BodyOf): Promise<Answered> {
    try {
      const { status, body, stores: word } = await answer(request, socket, bodyOf);
      const text = JSON.stringify(body);
      invariant(text !== undefined, `the answer of ${request.url} is an object`);
      return { status, text, headers: word ? { [IPC_STORES_HEADER]: JSON.stringify(word) } : {} };
    } catch (error) {
      const { status, body } = faultOf(error, request.url, socket.destroyed, log);
      return { status, text: JSON.stringify(body), headers: {} };
    }
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    response.once("close", () => connections.end(socket));
    send(response, await answered(request, socket, () => readBody(request)), connections.closing);
  }

  const limits = { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX };
  const server = createServer(limits, (request, response) => void respond(request, response));
  answerPlain(server, async (request, socket) => ({
    ...(await answered(request, socket, () => request.body)),
    isLast: connections.closing,
    over: () => connections.end(socket),
  }));
  server.on("connection", connections.add);
  await listen(server, address);
  return { close: () => close(server, connections) };
}

function close(server: Server, connections: Connections): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    connections.closeIdle();
  });
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

interface Connections {
  readonly closing: boolean;
  add(socket: Socket): void;
  /** Whether a request's token is right. */
  isLetIn(socket: Socket, token: string | string[] | undefined): boolean;
  /** A message that came whole is being carried out. */
  begin(socket: Socket): void;
  end(socket: Socket): void;
  closeIdle(): void;
}

/** Node's own closing waits for keep-alive connections and for requests that never come whole. */
function trackConnections(readToken: () => string): Connections {
  const all = new Set<Socket>();
  const tokens = new WeakMap<Socket, string>();
  const busy = new Set<Socket>();
  let closing = false;
  return {
    get closing() {
      return closing;
    },
    add(socket) {
      all.add(socket);
      socket.once("close", () => all.delete(socket));
    },
    isLetIn(socket, given) {
      const known = tokens.get(socket);
      if (known !== undefined && isToken(given, known)) return true;
      // Read for each connection: the other program may have had to replace a damaged one.
      const token = readToken();
      tokens.set(socket, token);
      return isToken(given, token);
    },
    begin: (socket) => void busy.add(socket),
    end: (socket) => void busy.delete(socket),
    closeIdle() {
      closing = true;
      for (const socket of all) if (!busy.has(socket)) socket.destroy();
    },
  };
}

function isToken(given: string | string[] | undefined, token: string): boolean {
  const bytes = Buffer.from(typeof given === "string" ? given : "");
  const expected = Buffer.from(token);
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}

/** Reads to the end even what is too large: a sender that is cut off would not hear the answer. */
function readBody(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= IPC_BODY_BYTES_MAX) chunks.push(chunk);
    });
    request.on("end", () => {
      const isWhole = bytes <= IPC_BODY_BYTES_MAX;
      resolve(isWhole ? Buffer.concat(chunks).toString("utf8") : undefined);
    });
    request.on("error", reject);
    request.on("close", () => {
      if (!request.readableEnded) reject(new Error("the message was cut off"));
    });
  });
}

/** Of a header; undefined when it is missing or of a form that is not understood. */
export function storeWordOf(header: string | string[] | undefined): StoreWord | undefined {
  if (typeof header !== "string") return undefined;
  return storeWordSchema.safeParse(parseJson(header)).data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the schema refuses it with a message
  }
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

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, () => {
      server.off("error", reject);
      if (process.platform !== "win32") chmodSync(address, 0o600);
      resolve();
    });
  });
}
