import type { Socket } from "node:net";
import { parseJson } from "../json.ts";
import { HttpAgent, httpRequest, IDLE_CONNECTION_MS, readText } from "../process/node-http.ts";
import { type StoreExchange, type StoreMarks, storeMarksOf } from "../store/store-exchange.ts";
import type { Clock } from "../time.ts";
import {
  IPC_VERSION,
  type Messages,
  type Program,
  type RequestOf,
  type ResponseOf,
} from "./contract.ts";
import { isPipeOfLiving } from "./pipe.ts";
import { addressOf, ipcToken } from "./run-directory.ts";
import { IPC_BODY_BYTES_MAX, IPC_STORES_HEADER, IPC_TOKEN_HEADER } from "./server.ts";

/**
 * Why a local message has no good answer. "unreachable": no program listens. "no-answer": the
 * message may have been carried out; messages are idempotent, so the sender may repeat them.
 * "refused": the other side answered that it cannot, for example because it is of another version.
 */
export type IpcFailure = "unreachable" | "no-answer" | "refused";

export class IpcError extends Error {
  override readonly name = "IpcError";
  readonly failure: IpcFailure;
  /** The HTTP status of a refusal; undefined: the message was not answered. */
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

/** The largest number of open connections; further messages wait until one is free. */
const CONNECTIONS_MAX = 8;
const REASON_CHARACTERS_MAX = 500;

export type IpcClient<M extends Messages> = ReturnType<typeof createIpcClient<M>>;

/** Returns a client that sends messages to one program; `stores` exchanges the databases' marks. */
export function createIpcClient<M extends Messages>(
  runDirectory: string,
  program: Program,
  messages: M,
  clock: Clock,
  stores?: StoreExchange,
) {
  const line = lineTo(runDirectory, program, clock);
  let known: ReturnType<typeof locate> | undefined;

  /**
   * Sends a message to the known address. If nobody answers or the token is refused, the address is
   * looked up again, as the other program may have restarted; in neither case was it carried out.
   */
  async function send(message: Message): Promise<Posted> {
    const before = known;
    const where = before ?? locate(runDirectory, program);
    known = where;
    try {
      const posted = await post(line, message, where);
      if (posted.status !== WRONG_TOKEN || !before) return posted;
    } catch (error) {
      known = undefined;
      const isUnsent = error instanceof IpcError && error.failure === "unreachable";
      if (!isUnsent || !before) throw error;
    }
    known = locate(runDirectory, program);
    return await post(line, message, known);
  }

  return {
    /** Sends once, waits at most `timeoutMs` for a whole answer. Rejects with {@link IpcError}. */
    async call<K extends keyof M & string>(
      name: K,
      body: RequestOf<M, K>,
      timeoutMs: number,
    ): Promise<ResponseOf<M, K>> {
      const text = JSON.stringify(body);
      if (Buffer.byteLength(text) > IPC_BODY_BYTES_MAX) {
        throw new IpcError("refused", `${name} is larger than ${IPC_BODY_BYTES_MAX} bytes`);
      }
      const path = `/v${IPC_VERSION}/${name}`;
      const answer = await send({ path, body: text, timeoutMs, marks: stores?.outgoing() });
      const { status } = answer;
      // The marks are checked before the answer is used: the sender's database may have been lost.
      stores?.receive(answer.marks);
      if (status !== 200) {
        const why = answer.text.slice(0, REASON_CHARACTERS_MAX);
        throw new IpcError("refused", `${program} answered ${status}: ${why}`, { status });
      }
      const parsed = messages[name]?.response.safeParse(parseJson(answer.text));
      if (!parsed?.success) {
        throw new IpcError("refused", `${program} answered ${name} in an unknown form`, { status });
      }
      return parsed.data as ResponseOf<M, K>;
    },
    close: () => {
      line.isClosed = true;
      for (const giveUp of line.open) giveUp(new Error("the client was closed"));
      line.agent.destroy();
    },
  };
}

const WRONG_TOKEN = 401;

function locate(runDirectory: string, program: Program) {
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
  readonly marks: StoreMarks | undefined;
}

interface Posted {
  readonly status: number;
  readonly text: string;
  readonly marks: StoreMarks | undefined;
}

/** Returns the connections of a client to a program, and the checks before they are used. */
function lineTo(runDirectory: string, program: Program, clock: Clock) {
  const agent = new HttpAgent({
    keepAlive: true,
    maxSockets: CONNECTIONS_MAX,
    timeout: IDLE_CONNECTION_MS,
  });
  const freeSinceMs = new WeakMap<Socket, number>();
  agent.on("free", (socket: Socket) => freeSinceMs.set(socket, clock.monotonicMs()));
  const isOld = (socket: Socket) =>
    clock.monotonicMs() - (freeSinceMs.get(socket) ?? 0) > IDLE_CONNECTION_MS;
  return {
    agent,
    clock,
    isClosed: false,
    /** What ends each message under way; an AbortSignal would take a fifth of a message's time. */
    open: new Set<(error: Error) => void>(),
    /** Whether one of our processes listens at the socket; checked before a byte is sent. */
    isRight: (path: string): boolean => isPipeOfLiving(runDirectory, program, path),
    /** Whether a kept connection was idle for so long that the server may have closed it. */
    isTooOld(socket: Socket): boolean {
      if (!isOld(socket)) return false;
      // All idle connections that are too old are closed before the message is sent once more.
      for (const one of Object.values(agent.freeSockets).flat())
        if (one && isOld(one)) one.destroy();
      return true;
    },
  };
}

/** Sends a message once. Rejects with {@link IpcError}. */
function post(
  { agent, clock, isClosed, isRight, isTooOld, open }: ReturnType<typeof lineTo>,
  { path, body, timeoutMs, marks }: Message,
  { socketPath, token }: ReturnType<typeof locate>,
): Promise<Posted> {
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    [IPC_TOKEN_HEADER]: token,
    ...(marks ? { [IPC_STORES_HEADER]: JSON.stringify(marks) } : {}),
  };
  const { promise, resolve, reject } = Promise.withResolvers<Posted>();
  if (isClosed) throw new IpcError("unreachable", "the client was closed");
  const request = httpRequest({ method: "POST", agent, socketPath, path, headers });
  /** Whether bytes of the message may have reached the other program already. */
  let written = false;
  const timer = clock.startTimer("ipc answer", timeoutMs, () => {
    giveUp(new Error(`the other program gave no complete answer within ${timeoutMs} ms`));
  });
  const giveUp = (error: Error): void => {
    // A request that still waits for a connection would report the error only when it gets one.
    fail(error);
    request.destroy();
  };
  open.add(giveUp);
  const ended = (): void => {
    timer.clear();
    open.delete(giveUp);
  };
  const fail = ({ message: why }: Error): void => {
    ended();
    const failure = written ? "no-answer" : "unreachable";
    reject(new IpcError(failure, `no answer on the local socket: ${why}`));
  };
  request.on("error", fail);
  request.on("socket", (socket) => {
    // Node calls this listener before it writes the first byte of the message.
    const begin = (isGood: boolean, fault: string): void => {
      written = isGood;
      if (!written) socket.destroy(new Error(fault));
    };
    const connected = () => begin(isRight(socketPath), "another process listens here");
    if (socket.connecting) socket.once("connect", connected);
    // A suspended program may not have noticed that its idle connections became too old.
    else begin(!isTooOld(socket), "the idle connection is too old");
  });
  request.on("response", (response) => {
    readText(response, IPC_BODY_BYTES_MAX, () => response.destroy()).then((text) => {
      if (text === null) return fail(new Error("answer too large"));
      ended();
      const given = response.headers[IPC_STORES_HEADER];
      resolve({ status: response.statusCode ?? 0, text, marks: storeMarksOf(given) });
    }, fail);
  });
  request.end(body);
  return promise;
}
