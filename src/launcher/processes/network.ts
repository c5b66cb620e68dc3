import type { IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { createServer } from "node:net";
import { httpRequest } from "../../shared/process/node-http.ts";

interface HttpCall {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * One call on a connection of its own, which ends with it, so that the launcher ends when it is
 * done. fetch would load more than that, and sets the keep-alive delay of a socket that is still
 * connecting: Wine refuses such a connection.
 */
export function httpCall(url: string, { method = "GET", headers, body, signal }: HttpCall = {}) {
  const send = url.startsWith("https:") ? httpsRequest : httpRequest;
  return new Promise<HttpAnswer>((resolve, reject) => {
    const sent = { ...headers, connection: "close" };
    const request = send(url, { agent: false, method, headers: sent, ...(signal && { signal }) });
    request.once("error", reject);
    request.once("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    request.end(body);
  });
}

/** The error code of a program that listens there; undefined: it can. */
export function listenFault(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host, exclusive: true, ipv6Only: host === "::1" }, () =>
      server.close(() => resolve(undefined)),
    );
  });
}
