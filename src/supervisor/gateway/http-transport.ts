import type { Agent as HttpAgent, IncomingMessage } from "node:http";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { urlToHttpOptions } from "node:url";
import { Agent, httpRequest } from "../../shared/node-http.ts";
import type { Clock } from "../../shared/time.ts";
import { trustedWith } from "../certificates.ts";
import type { Exchange, FailureCause } from "./faults.ts";

/** A result is below 2 KB, a page of a web server in between below 100 KB. */
export const ANSWER_BYTES_MAX = 256 * 1024;

/**
 * Idle connections are closed before common servers close them (5 s): a request that meets a
 * connection just closed would be ambiguous.
 */
const IDLE_MS = 2_000;
const CONNECTIONS_MAX = 16;

/** One request: a POST with its body, or a GET without one. */
interface HttpMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface TransportSettings {
  /** Certificates in PEM that are trusted beside the system's (GATEWAY_CA_FILE). */
  readonly certificates?: readonly string[];
  /** Where HTTPS_PROXY and NO_PROXY are looked up; nothing when there is no proxy to be used. */
  readonly proxyEnvironment?: Readonly<Record<string, string | undefined>>;
}

export interface HttpTransport {
  /**
   * Sends one message, once: no redirect is followed, nothing is repeated. Always resolves; a
   * failure says whether the request may have reached the other side.
   */
  send(message: HttpMessage, timeoutMs: number, signal: AbortSignal): Promise<Exchange>;
  close(): void;
}

export function createHttpTransport(clock: Clock, settings: TransportSettings = {}): HttpTransport {
  const options = { keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS };
  const plain = new Agent(options); // plain http never leaves this machine: no proxy
  let secure: TlsAgent | undefined;
  const agentFor = (url: string): HttpAgent => {
    if (!url.startsWith("https:")) return plain;
    secure ??= new TlsAgent({
      ...options,
      ca: trustedWith(settings.certificates ?? []),
      ...proxy(url, settings),
    });
    return secure;
  };
  const addressOf = addressReader();
  return {
    send: (message, timeoutMs, signal) =>
      new Promise((resolve) => {
        const [address, agent] = [addressOf(message.url), agentFor(message.url)];
        exchangeOnce(message, address, agent, { clock, timeoutMs, signal }, resolve);
      }),
    close() {
      plain.destroy();
      secure?.destroy();
    },
  };
}

type Address = Readonly<ReturnType<typeof urlToHttpOptions>>;

/** A queue of orders goes to one address, which is read once. */
function addressReader(): (url: string) => Address {
  let known: { readonly url: string; readonly address: Address } | undefined;
  return (url) => {
    if (known?.url !== url) known = { url, address: urlToHttpOptions(new URL(url)) };
    return known.address;
  };
}

/**
 * The runtime's own proxy support. A gateway on this machine is never reached through a proxy, and
 * only https is: a proxy then carries bytes it cannot read.
 */
function proxy(
  url: string,
  { proxyEnvironment: from = {} }: TransportSettings,
): { proxyEnv?: Record<string, string> } {
  if (/^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)) return {};
  const names = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"];
  const found = names.flatMap((name) => (from[name] ? [[name, from[name]] as const] : []));
  return found.length === 0 ? {} : { proxyEnv: Object.fromEntries(found) };
}

interface Limits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

function exchangeOnce(
  { headers, body }: HttpMessage,
  address: Address,
  agent: HttpAgent,
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
  const request = send({
    ...address,
    method: body === null ? "GET" : "POST",
    agent,
    headers: body === null ? headers : { ...headers, "content-length": Buffer.byteLength(body) },
  });
  const timer = clock.startTimer("gateway answer", timeoutMs, () =>
    fail("timeout", `no complete answer within ${timeoutMs} ms`),
  );
  request.on("socket", (socket) => {
    // From here on the other side may read bytes of the request; before it certainly has none.
    // A socket that came through a proxy's tunnel is ready before it is handed out.
    if (request.reusedSocket || isReady(socket)) written = true;
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
    request.end(body ?? undefined);
  }
}

function isReady(socket: Socket): boolean {
  const handshaking = socket instanceof TLSSocket && socket.getFinished() === undefined;
  return !socket.connecting && !handshaking;
}

/**
 * The whole text, or null when it is larger than any true answer; rejects when it is cut off. By
 * events: an answer that lies in the socket has been read before anything else is done.
 */
function readBody(response: IncomingMessage): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= ANSWER_BYTES_MAX) return;
      resolve(null);
      response.destroy();
    });
    let whole = false;
    response.on("end", () => {
      whole = response.complete;
      if (whole) resolve(textOf(chunks));
    });
    response.on("error", reject);
    response.on("close", () => {
      if (!whole) reject(new Error("the answer was cut off"));
    });
  });
}

/** An answer mostly comes in one piece. */
function textOf(chunks: readonly Buffer[]): string {
  const [first, ...others] = chunks;
  if (first === undefined) return "";
  return (others.length === 0 ? first : Buffer.concat(chunks)).toString("utf8");
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
