import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import type { Clock } from "../../shared/time.ts";
import type { Exchange, FailureCause } from "./faults.ts";
import type { SoapMessage } from "./soap-writer.ts";

/** A result is below 2 KB, a page of a web server in between below 100 KB. */
export const ANSWER_BYTES_MAX = 256 * 1024;

/**
 * Idle connections are closed before common servers close them (5 s): a request that meets a
 * connection just closed would be ambiguous.
 */
const IDLE_MS = 2_000;
const CONNECTIONS_MAX = 8;

export interface HttpTransport {
  /**
   * Posts one message, once: no redirect is followed, nothing is repeated. Always resolves; a
   * failure says whether the request may have reached the other side.
   */
  post(message: SoapMessage, timeoutMs: number, signal: AbortSignal): Promise<Exchange>;
  close(): void;
}

export function createHttpTransport(clock: Clock): HttpTransport {
  const options = { keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS };
  const plain = new Agent(options);
  const secure = new TlsAgent(options);
  return {
    post: (message, timeoutMs, signal) =>
      new Promise((resolve) => {
        const agent = message.url.startsWith("https:") ? secure : plain;
        exchangeOnce(message, agent, { clock, timeoutMs, signal }, resolve);
      }),
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}

interface Limits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

function exchangeOnce(
  { url, headers, body }: SoapMessage,
  agent: Agent,
  { clock, timeoutMs, signal }: Limits,
  resolve: (exchange: Exchange) => void,
): void {
  let written = false;
  let settled = false;
  const end = (exchange: Exchange): void => {
    if (settled) return;
    settled = true;
    timer.clear();
    signal.removeEventListener("abort", onStop);
    resolve(exchange);
  };
  const fail = (cause: FailureCause, detail: string): void => {
    end({ kind: "failed", cause, written, detail });
    request.destroy();
  };
  const onStop = (): void => fail("stopped", "the program was stopped");

  const send = agent instanceof TlsAgent ? httpsRequest : httpRequest;
  const request = send(url, {
    method: "POST",
    agent,
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
  });
  const timer = clock.startTimer("gateway answer", timeoutMs, () =>
    fail("timeout", `no complete answer within ${timeoutMs} ms`),
  );
  request.on("socket", (socket) => {
    // From here on the other side may read bytes of the request; before it certainly has none.
    if (request.reusedSocket) written = true;
    else socket.once(send === httpsRequest ? "secureConnect" : "connect", () => (written = true));
  });
  request.on("error", (error) => {
    const cause = !written && isCertificateFault(error) ? "certificate" : "socket";
    fail(cause, wordsOf(error));
  });
  request.on("response", (response) => {
    readBody(response).then(
      (text) =>
        end({
          kind: "answered",
          httpStatus: response.statusCode ?? 0,
          retryAfter: response.headers["retry-after"] ?? null,
          body: text,
        }),
      (error: Error) => fail("socket", wordsOf(error)),
    );
  });
  if (signal.aborted) onStop();
  else {
    signal.addEventListener("abort", onStop, { once: true });
    request.end(body);
  }
}

/** The whole text, or null when it is larger than any true answer; rejects when it is cut off. */
async function readBody(response: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) return null; // leaving the loop destroys the response
    chunks.push(chunk);
  }
  if (!response.complete) throw new Error("the answer was cut off");
  return Buffer.concat(chunks).toString("utf8");
}

function isCertificateFault(error: Error): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code);
}

function wordsOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  // A host with several addresses fails with one error for each of them.
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [];
  const words = [error, ...causes].map(({ message }) => message).filter((text) => text !== "");
  return [code, ...new Set(words)].filter((word) => word !== undefined).join(": ");
}
