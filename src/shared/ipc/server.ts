import { timingSafeEqual } from "node:crypto";
import { chmodSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Logger } from "../logger.ts";
import { type Handlers, IPC_VERSION, type Messages, type Program } from "./contract.ts";
import { claimAddress, ipcToken } from "./run-directory.ts";

/** A transaction with a basket of 64 KiB and its echo fit many times over. */
export const IPC_BODY_BYTES_MAX = 1024 * 1024;
export const IPC_TOKEN_HEADER = "x-connector-token";

export interface IpcServer {
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Answers the other programs of this installation. Every request carries the token and is checked
 * against its schema; every answer is JSON, faults included: `{error, issues?}`.
 */
export async function startIpcServer<M extends Messages>(options: {
  readonly runDirectory: string;
  readonly program: Program;
  readonly messages: M;
  readonly handlers: Handlers<M>;
  readonly log: Logger;
}): Promise<IpcServer> {
  const { runDirectory, program, messages, log } = options;
  const token = Buffer.from(ipcToken(runDirectory));
  // The one place where a message name stops being a type: handlers are keyed by `messages`.
  const handlers = options.handlers as Record<string, (request: unknown) => unknown>;
  const address = claimAddress(runDirectory, program);

  async function answer(request: IncomingMessage): Promise<Answer> {
    if (!isToken(request.headers[IPC_TOKEN_HEADER], token)) {
      return { status: 401, body: { error: "wrong token" } };
    }
    const name = new RegExp(`^/v${IPC_VERSION}/([a-z-]+)$`).exec(request.url ?? "")?.[1] ?? "";
    const message = Object.hasOwn(messages, name) ? messages[name] : undefined;
    const handle = handlers[name];
    if (request.method !== "POST" || !message || !handle) {
      return { status: 404, body: { error: `no message ${request.method} ${request.url}` } };
    }
    const body = await readBody(request);
    if (body === undefined) return { status: 413, body: { error: "body too large" } };
    const parsed = message.request.safeParse(parseJson(body));
    if (!parsed.success) {
      return {
        status: 400,
        body: { error: "message not understood", issues: parsed.error.issues },
      };
    }
    return { status: 200, body: await handle(parsed.data) };
  }

  let closing = false;
  const server = createServer((request, response) => {
    const reply = (result: Answer): void => {
      // A connection that stayed open behind its last answer would hold the stop up for seconds.
      if (closing) response.setHeader("connection", "close");
      send(response, result);
    };
    answer(request).then(reply, (error: unknown) => {
      log.error({ err: error, url: request.url }, "local message failed");
      reply({ status: 500, body: { error: "failed, see the log" } });
    });
  });
  await listen(server, address);
  if (process.platform !== "win32") chmodSync(address, 0o600);
  return {
    close: () =>
      new Promise((resolve) => {
        closing = true;
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

function isToken(given: string | string[] | undefined, token: Buffer): boolean {
  const bytes = Buffer.from(typeof given === "string" ? given : "");
  return bytes.length === token.length && timingSafeEqual(bytes, token);
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > IPC_BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the schema refuses it with a message
  }
}

function send(response: ServerResponse, { status, body }: Answer): void {
  if (response.writableEnded || response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
