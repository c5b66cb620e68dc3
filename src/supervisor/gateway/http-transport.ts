import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Clock } from "../../shared/time.ts";
import { trustedWith } from "../certificates.ts";
import type { Exchange } from "./faults.ts";
import { type HttpMessage, IDLE_MS, KeptConnections } from "./kept-connections.ts";
import { endBy } from "./node-reader.ts";
import { OneExchange } from "./one-exchange.ts";

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

/**
 * Over connections of our own, which cost a queue of orders a third of what Node's client costs;
 * where the environment names a proxy, through Node's client, which knows how to use one.
 */
export function createHttpTransport(clock: Clock, settings: TransportSettings = {}): HttpTransport {
  const direct = new KeptConnections(clock, () => trustedWith(settings.certificates ?? []));
  let tunnelled: TlsAgent | undefined;
  const begin = (message: HttpMessage, exchange: OneExchange): void => {
    const proxyEnv = proxyFor(message.url, settings);
    if (proxyEnv) {
      tunnelled ??= new TlsAgent({
        ...tunnelOptions,
        ca: trustedWith(settings.certificates ?? []),
        proxyEnv,
      });
      sendByNode(message, tunnelled, exchange);
    } else direct.send(message, exchange);
  };
  return {
    send: (message, timeoutMs, signal) =>
      new Promise((resolve) => {
        const exchange = new OneExchange({ clock, timeoutMs, signal }, resolve);
        if (exchange.ended) return;
        try {
          begin(message, exchange);
        } catch (error) {
          exchange.failWith(error as Error);
        }
      }),
    close() {
      direct.close();
      tunnelled?.destroy();
    },
  };
}

const tunnelOptions = { keepAlive: true, maxSockets: 16, timeout: IDLE_MS };

/**
 * The runtime's own proxy support. A gateway on this machine is never reached through a proxy, and
 * only https is: a proxy then carries bytes it cannot read.
 */
function proxyFor(
  url: string,
  { proxyEnvironment: from = {} }: TransportSettings,
): Record<string, string> | undefined {
  const proxies = ["HTTPS_PROXY", "https_proxy"].filter((name) => from[name]);
  if (proxies.length === 0 || !url.startsWith("https:")) return undefined;
  if (/^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)) return undefined;
  const names = [...proxies, "NO_PROXY", "no_proxy"];
  return Object.fromEntries(names.flatMap((name) => (from[name] ? [[name, from[name]]] : [])));
}

function sendByNode(
  { url, headers, body }: HttpMessage,
  agent: TlsAgent,
  exchange: OneExchange,
): void {
  const request = httpsRequest(url, {
    method: body === null ? "GET" : "POST",
    agent,
    headers: body === null ? headers : { ...headers, "content-length": Buffer.byteLength(body) },
  });
  exchange.onGivenUp = () => request.destroy();
  request.on("socket", (socket) => {
    // From here on the other side may read bytes of the request; before it certainly has none.
    // A socket that came through a proxy's tunnel is ready before it is handed out.
    if (request.reusedSocket || isReady(socket)) exchange.written = true;
    else socket.once("secureConnect", () => (exchange.written = true));
  });
  endBy(request, exchange);
  request.end(body ?? undefined);
}

function isReady(socket: Socket): boolean {
  const handshaking = socket instanceof TLSSocket && socket.getFinished() === undefined;
  return !socket.connecting && !handshaking;
}
