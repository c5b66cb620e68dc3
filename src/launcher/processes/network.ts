import type { IncomingHttpHeaders } from "node:http";
import { type AgentOptions, request as httpsRequest } from "node:https";
import { createServer } from "node:net";
import { ProxyAgent } from "../../shared/config/proxy.ts";
import { httpRequest, readText } from "../../shared/process/node-http.ts";
import { type Holder, listenerOnLinux } from "../../shared/process/open-files.ts";
import type { Clock } from "../../shared/time.ts";
import { runSystemTool } from "./system-tool.ts";

interface HttpCall {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For https: the trusted certificates and the proxy; missing: those of Node, and no proxy. */
  readonly tls?: Pick<AgentOptions, "ca" | "proxyEnv">;
  /** The time limit for the whole answer; missing: there is no limit. */
  readonly limit?: { readonly clock: Clock; readonly withinMs: number };
}

/** The name of the error with which a call rejects when the time limit is over. */
export const NO_ANSWER = "NoAnswerError";

/**
 * Makes one HTTP call on a connection of its own, because a connection that stays open would keep
 * the launcher running. `fetch` is not used: it loads more code, and Wine refuses its connections.
 */
export function httpCall(url: string, call: HttpCall = {}) {
  const { method = "GET", headers, body, tls, limit } = call;
  const isSecure = url.startsWith("https:");
  const send = isSecure ? httpsRequest : httpRequest;
  const agent = tls && isSecure ? new ProxyAgent(tls) : undefined;
  return new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>(
    (resolve, reject) => {
      const sent = { ...headers, connection: "close" };
      const request = send(url, { agent: agent ?? false, method, headers: sent });
      const timer = limit?.clock.startTimer("HTTP call", limit.withinMs, () => {
        const error = new Error(`the server has not answered within ${limit.withinMs / 1_000} s`);
        reject(Object.assign(error, { name: NO_ANSWER }));
        agent?.destroy();
        request.destroy(error);
      });
      request.once("close", () => timer?.clear());
      request.once("error", reject);
      request.once("response", (response) => {
        const { statusCode: status = 0, headers } = response;
        readText(response, Number.POSITIVE_INFINITY).then(
          (text) => resolve({ status, headers, text: text ?? "" }),
          reject,
        );
      });
      request.end(body);
    },
  );
}

/** Returns the error code with which listening at an address fails; undefined: it succeeds. */
export function listenFault(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host, exclusive: true, ipv6Only: host === "::1" }, () =>
      server.close(() => resolve(undefined)),
    );
  });
}

/** Returns the process that listens on a port here; undefined: this user cannot find it out. */
export async function portHolder(port: number): Promise<Holder | undefined> {
  if (process.platform !== "win32") return listenerOnLinux(port);
  const unknown = (): string => "";
  const pid = pidInNetstat(await runSystemTool("netstat", "-ano").catch(unknown), port);
  if (pid === undefined) return undefined;
  const wanted = ["/fi", `PID eq ${pid}`, "/fo", "csv", "/nh"];
  const listed = await runSystemTool("tasklist", ...wanted).catch(unknown);
  return { pid, command: /^"([^"]+)"/m.exec(listed)?.[1] ?? "" };
}

/** Returns the pid that `netstat -ano` names for a port; its word for LISTENING is translated. */
export function pidInNetstat(output: string, port: number): number | undefined {
  const address = String.raw`(?:127\.0\.0\.1|0\.0\.0\.0|\[::1?\])`;
  const line = String.raw`^\s*TCP\s+${address}:${port}\s+\S+:0\s.*?(\d+)\s*$`;
  const [, pid] = new RegExp(line, "m").exec(output) ?? [];
  return pid === undefined ? undefined : Number(pid);
}
