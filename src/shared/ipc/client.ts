import { connect } from "node:net";
import { parseJson } from "../json.ts";
import type { StoreExchange, StoreMarks } from "../store/store-exchange.ts";
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
import { IPC_BODY_BYTES_MAX, IPC_STORES_HEADER, IPC_TOKEN_HEADER, storeMarksOf } from "./server.ts";

/**
 * Why a local message has no good answer. "unreachable": no program listens. "no-answer": the
 * message may have been carried out; messages are idempotent, so the sender may repeat them.
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

/** The largest number of open connections; further messages wait for one of them. */
const CONNECTIONS_MAX = 8;
/** The length in characters to which the text of a refusal is cut. */
const REASON_CHARACTERS_MAX = 500;

export type IpcClient<M extends Messages> = ReturnType<typeof createIpcClient<M>>;

/** Returns a client for the messages of one program; `stores`: the sender's marks. */
export function createIpcClient<M extends Messages>(
  runDirectory: string,
  program: Program,
  messages: M,
  clock: Clock,
  stores?: StoreExchange,
) {
  const connections = new HttpConnections({
    clock,
    open: (path, take) => connect({ path, onread: readInto(take) }),
    isRight: (socketPath) => isPipeOfLiving(runDirectory, program, socketPath),
    answerBytesMax: IPC_BODY_BYTES_MAX,
    header: IPC_STORES_HEADER,
    connectionsMax: CONNECTIONS_MAX,
  });
  let known: Address | undefined;

  /**
   * Sends a message to the known address. An address that does not answer, or refuses the token, is
   * looked up again, because the other program may have restarted; in neither case was the message
   * carried out.
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
    /**
     * Sends one message and waits at most `timeoutMs` for the whole answer. Rejects with
     * {@link IpcError}. Never repeats by itself.
     */
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
      // The marks come first, because the answer may be of a database that was lost.
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
    close: () => connections.close(),
  };
}

/** The socket of a program, and the token that it demands. */
interface Address {
  readonly socketPath: string;
  readonly token: string;
}

const WRONG_TOKEN = 401;

function locate(runDirectory: string, program: Program): Address {
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

async function post(
  connections: HttpConnections,
  clock: Clock,
  { path, body, timeoutMs, marks }: Message,
  { socketPath, token }: Address,
): Promise<Posted> {
  const headers = {
    "content-type": "application/json",
    [IPC_TOKEN_HEADER]: token,
    ...(marks ? { [IPC_STORES_HEADER]: JSON.stringify(marks) } : {}),
  };
  const request = { origin: socketPath, host: "localhost", path, headers, body };
  const end = await new Promise<HttpEnd>((resolve) =>
    connections.send(request, new HttpExchange({ clock, name: "ipc answer", timeoutMs }, resolve)),
  );
  if (end.kind === "answered" && end.body !== null) {
    return { status: end.httpStatus, text: end.body, marks: storeMarksOf(end.header) };
  }
  const [written, why] =
    end.kind === "failed" ? [end.written, end.detail] : [true, "answer too large"];
  const failure = written ? "no-answer" : "unreachable";
  throw new IpcError(failure, `no answer on the local socket: ${why}`);
}
