import type { Agent as HttpAgent } from "node:http";
import { Agent, httpRequest } from "../node-http.ts";
import type { StoreExchange } from "../stores/store-exchange.ts";
import type { StoreWord } from "../stores/store-mark.ts";
import type { Clock } from "../time.ts";
import {
  IPC_VERSION,
  type Messages,
  type Program,
  type RequestOf,
  type ResponseOf,
} from "./contract.ts";
import { addressOf, ipcToken } from "./run-directory.ts";
import { IPC_BODY_BYTES_MAX, IPC_STORES_HEADER, IPC_TOKEN_HEADER, storeWordOf } from "./server.ts";

/**
 * Why a local message was not answered. "unreachable": nobody listens. "no-answer": the message may
 * or may not have been carried out; messages are idempotent, so the sender may repeat them.
 * "refused": the other side answered that it cannot, for example because it is of another version.
 */
export type IpcFailure = "unreachable" | "no-answer" | "refused";

export class IpcError extends Error {
  override readonly name = "IpcError";
  readonly failure: IpcFailure;
  /** HTTP status of a refusal; undefined when the message was never sent. */
  readonly status: number | undefined;

  constructor(
    failure: IpcFailure,
    message: string,
    options: ErrorOptions & { readonly status?: number } = {},
  ) {
    super(message, options);
    this.failure = failure;
    this.status = options.status;
  }
}

/** Of a refusal's text, which is for people. */
const REASON_CHARACTERS_MAX = 500;

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
  stores?: StoreExchange,
): IpcClient<M> {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  let known: Place | undefined;

  /**
   * The place is read once. One that does not answer, or refuses the token, is looked up again: the
   * other program may have been started since, elsewhere. Neither has carried the message out.
   */
  async function send(message: Omit<Post, keyof Place | "agent" | "clock">): Promise<Posted> {
    const before = known;
    const where = before ?? locate(runDirectory, program);
    known = where;
    try {
      const posted = await post({ ...message, ...where, agent, clock });
      if (posted.status !== WRONG_TOKEN || !before) return posted;
    } catch (error) {
      known = undefined;
      const isUnsent = error instanceof IpcError && error.failure === "unreachable";
      if (!isUnsent || !before) throw error;
    }
    known = locate(runDirectory, program);
    return await post({ ...message, ...known, agent, clock });
  }

  return {
    async call(name, body, timeoutMs) {
      const text = JSON.stringify(body);
      if (Buffer.byteLength(text) > IPC_BODY_BYTES_MAX) {
        throw new IpcError("refused", `${name} is larger than ${IPC_BODY_BYTES_MAX} bytes`);
      }
      const path = `/v${IPC_VERSION}/${name}`;
      const answer = await send({ path, body: text, timeoutMs, word: stores?.tell() });
      // Before the answer is used: it may be that of a database that was lost.
      stores?.hear(answer.word);
      if (answer.status !== 200) {
        const why = answer.text.slice(0, REASON_CHARACTERS_MAX);
        const { status } = answer;
        throw new IpcError("refused", `${program} answered ${status}: ${why}`, { status });
      }
      const parsed = messages[name]?.response.safeParse(parseJson(answer.text));
      if (!parsed?.success) {
        const words = `${program} answered ${name} in a form not understood`;
        throw new IpcError("refused", words, { status: answer.status });
      }
      return parsed.data as ResponseOf<M, typeof name>;
    },
    close: () => agent.destroy(),
  };
}

/** Where a program listens, and what it lets in. */
interface Place {
  readonly socketPath: string;
  readonly token: string;
}

const WRONG_TOKEN = 401;

function locate(runDirectory: string, program: Program): Place {
  try {
    const socketPath = addressOf(runDirectory, program);
    if (socketPath) return { socketPath, token: ipcToken(runDirectory) };
  } catch (error) {
    const why = (error as Error).message;
    throw new IpcError("unreachable", `cannot look up ${program}: ${why}`, { cause: error });
  }
  throw new IpcError("unreachable", `${program} was never started`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no schema accepts it
  }
}

interface Post extends Place {
  readonly path: string;
  readonly body: string;
  readonly timeoutMs: number;
  readonly agent: HttpAgent;
  readonly clock: Clock;
  readonly word: StoreWord | undefined;
}

interface Posted {
  readonly status: number;
  readonly text: string;
  readonly word: StoreWord | undefined;
}

function post(options: Post): Promise<Posted> {
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
          ...(options.word ? { [IPC_STORES_HEADER]: JSON.stringify(options.word) } : {}),
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
            word: storeWordOf(response.headers[IPC_STORES_HEADER]),
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
