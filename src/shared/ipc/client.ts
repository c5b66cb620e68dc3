import { connect } from "node:net";
import { parseJson } from "../json.ts";
import type { StoreExchange } from "../store/store-exchange.ts";
import type { StoreWord } from "../store/store-mark.ts";
import type { Clock } from "../time.ts";
import {
  IPC_VERSION,
  type Messages,
  type Program,
  type RequestOf,
  type ResponseOf,
} from "./contract.ts";
import { HttpConnections, type HttpEnd, HttpExchange } from "./http-connections.ts";
import { isPipeOfLiving } from "./pipe.ts";
import { readInto } from "./read-into.ts";
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

/** More messages at once wait for one of these. */
const CONNECTIONS_MAX = 8;
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
  const connections = new HttpConnections({
    clock,
    open: (path, take) => connect({ path, onread: readInto(take) }),
    isRight: (socketPath) => isPipeOfLiving(runDirectory, program, socketPath),
    answerBytesMax: IPC_BODY_BYTES_MAX,
    header: IPC_STORES_HEADER,
    connectionsMax: CONNECTIONS_MAX,
  });
  let known: Place | undefined;

  /**
   * The place is read once. One that does not answer, or refuses the token, is looked up again: the
   * other program may have been started since, elsewhere. Neither has carried the message out.
   */
  async function send(message: Message): Promise<Posted> {
    const before = known;
    const where = before ?? locate(runDirectory, program);
    known = where;
    try {
      const posted = await post(connections, clock, message, where);
      if (posted.status !== WRONG_TOKEN || !before) return posted;
    } catch (error) {
      known = undefined;
      const isUnsent = error instanceof IpcError && error.failure === "unreachable";
      if (!isUnsent || !before) throw error;
    }
    known = locate(runDirectory, program);
    return await post(connections, clock, message, known);
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
    close: () => connections.close(),
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

interface Message {
  readonly path: string;
  readonly body: string;
  readonly timeoutMs: number;
  readonly word: StoreWord | undefined;
}

interface Posted {
  readonly status: number;
  readonly text: string;
  readonly word: StoreWord | undefined;
}

async function post(
  connections: HttpConnections,
  clock: Clock,
  { path, body, timeoutMs, word }: Message,
  { socketPath, token }: Place,
): Promise<Posted> {
  const headers = {
    "content-type": "application/json",
    [IPC_TOKEN_HEADER]: token,
    ...(word ? { [IPC_STORES_HEADER]: JSON.stringify(word) } : {}),
  };
  const request = { origin: socketPath, host: "localhost", path, headers, body };
  const end = await new Promise<HttpEnd>((resolve) =>
    connections.send(request, new HttpExchange({ clock, name: "ipc answer", timeoutMs }, resolve)),
  );
  if (end.kind === "answered" && end.body !== null) {
    return { status: end.httpStatus, text: end.body, word: storeWordOf(end.header) };
  }
  const [written, why] =
    end.kind === "failed" ? [end.written, end.detail] : [true, "answer too large"];
  const failure = written ? "no-answer" : "unreachable";
  throw new IpcError(failure, `no answer on the local socket: ${why}`);
}
