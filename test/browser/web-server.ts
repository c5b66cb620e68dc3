import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { systemClock } from "../../src/shared/time.ts";
import { selfSignedTls } from "../../src/simulator/gateway/http/self-signed.ts";

export interface WebServer {
  readonly port: number;
  close(): void;
}

/** A web server on 127.0.0.1; with `names` it speaks TLS under a certificate made for them. */
export async function webServer(
  listener: RequestListener,
  names: readonly string[] = [],
): Promise<WebServer> {
  const server =
    names.length > 0
      ? createTlsServer(selfSignedTls(names, systemClock.now()), listener)
      : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Pages by path; `/redirect?to=` goes there, keeping method and body. */
export function pages(content: Readonly<Record<string, string>>): RequestListener {
  return (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://page.test");
    request.resume();
    if (pathname === "/redirect") {
      response.writeHead(307, { location: searchParams.get("to") ?? "/" }).end();
      return;
    }
    const text = content[pathname];
    const type = pathname.endsWith(".js") ? "text/javascript" : "text/html";
    response
      .writeHead(text === undefined ? 404 : 200, { "content-type": `${type}; charset=utf-8` })
      .end(text);
  };
}

export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly mark: string;
  /** With the right pair. */
  readonly authorized: boolean;
  readonly site: string;
}

/**
 * What a server looks like that only checks the password: it shows which requests a browser makes
 * with the credentials it remembers.
 */
export function passwordOnly(pair: string, arrived: Arrived[]): RequestListener {
  const expected = `Basic ${btoa(pair)}`;
  return (request: IncomingMessage, response) => {
    const { headers, method = "", url = "/" } = request;
    const { pathname, search } = new URL(url, "http://decoy.test");
    const authorized = headers.authorization === expected;
    const site = String(headers["sec-fetch-site"] ?? "");
    arrived.push({ method, path: pathname, mark: search.slice(1), authorized, site });
    request.resume();
    if (authorized) response.writeHead(200, { "content-type": "text/html" }).end("done");
    else response.writeHead(401, { "www-authenticate": 'Basic realm="terminal"' }).end();
  };
}
