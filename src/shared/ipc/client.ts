import { Agent, request as httpRequest } from "node:http";
import type { Clock } from "../time.ts";
import {
  IPC_VERSION,
  type Messages,
  type Program,
  type RequestOf,
  type ResponseOf,
} from "./contract.ts";
import { addressOf, ipcToken } from "./run-directory.ts";
import { IPC_BODY_BYTES_MAX, IPC_TOKEN_HEADER } from "./server.ts";

/**
 * Why a local message was not answered. "unreachable": nobody listens. "no-answer": it may or may
 * not have been carried out; messages are idempotent, so it may be sent again. "refused": the other
 * side answered that it cannot, for example because it is of another version.
 */
export type IpcFailure = "unreachable" | "no-answer" | "refused";

export class IpcError extends Error {
  override readonly name = "IpcError";
  readonly failure: IpcFailure;

  constructor(failure: IpcFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

export interface IpcClient<M extends Messages> {
  /**
   * Sends one message and waits at most `timeoutMs` for the whole answer. Rejects with
   * {@link IpcError}. Never repeats by itself.
   */
  call<K extends keyof M & string>(
    name: K,
    request: RequestOf<M, K>,
    timeoutMs: number,
  ): Promise<ResponseOf<M, K>>;
  close(): void;
}

export function createIpcClient<M extends Messages>(
  runDirectory: string,
  program: Program,
  messages: M,
  clock: Clock,
): IpcClient<M> {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  return {
    async call(name, body, timeoutMs) {
      // Read each time: the other program may have been started since, elsewhere.
      const socketPath = addressOf(runDirectory, program);
      if (!socketPath) throw new IpcError("unreachable", `${program} was never started`);
      const { status, text } = await post({
        socketPath,
        path: `/v${IPC_VERSION}/${name}`,
        token: ipcToken(runDirectory),
        body: JSON.stringify(body),
        timeoutMs,
        agent,
        clock,
      });
      if (status !== 200) throw new IpcError("refused", `${program} answered ${status}: ${text}`);
      const parsed = messages[name]?.response.safeParse(JSON.parse(text));
      if (!parsed?.success) {
        throw new IpcError("refused", `${program} answered ${name} in a form not understood`);
      }
      return parsed.data as ResponseOf<M, typeof name>;
    },
    close: () => agent.destroy(),
  };
}

interface Post {
  readonly socketPath: string;
  readonly path: string;
  readonly token: string;
  readonly body: string;
  readonly timeoutMs: number;
  readonly agent: Agent;
  readonly clock: Clock;
}

function post(options: Post): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    let connected = false;
    const timer = options.clock.startTimer("ipc answer", options.timeoutMs, () =>
      request.destroy(new Error(`nothing within ${options.timeoutMs} ms`)),
    );
    const fail = (error: Error): void => {
      timer.clear();
      const failure = connected ? "no-answer" : "unreachable";
      reject(
        new IpcError(failure, `no answer on the local socket: ${error.message}`, { cause: error }),
      );
    };
    const request = httpRequest(
      {
        socketPath: options.socketPath,
        path: options.path,
        method: "POST",
        agent: options.agent,
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(options.body),
          [IPC_TOKEN_HEADER]: options.token,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > IPC_BODY_BYTES_MAX) request.destroy(new Error("answer too large"));
          else chunks.push(chunk);
        });
        response.on("end", () => {
          timer.clear();
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(chunks).toString("utf8"),
          });
        });
        response.on("error", fail);
      },
    );
    request.on("socket", (socket) => {
      if (socket.connecting) socket.once("connect", () => (connected = true));
      else connected = true;
    });
    request.on("error", fail);
    request.end(options.body);
  });
}
