import type { FastifyRequest } from "fastify";

/**
 * Who may call the local API, decided from the request's own headers before authentication
 * (docs/design.md 5.2). Pure.
 */

/** Returns the headers that say where a request comes from. */
export function sourceHeaders({ headers }: Pick<FastifyRequest, "headers">): RequestHeaders {
  const { host, origin } = headers;
  return {
    host,
    origin,
    secFetchSite: headers["sec-fetch-site"]?.toString(),
    secPurpose: headers["sec-purpose"]?.toString(),
  };
}

interface RequestHeaders {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
  /** Set if the browser fetches a page before anybody asks for it. */
  readonly secPurpose: string | undefined;
}

/**
 * Whether the Host header names this machine and the server's port. A page whose name resolves to
 * 127.0.0.1 (DNS rebinding) still sends its own name here.
 */
function isLoopbackHost(host: string | undefined, port: number): boolean {
  const parts = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?$/i.exec(host ?? "");
  return parts !== null && Number(parts[2] ?? 80) === port;
}

/** Returns {@link isLoopbackHost} for a port, which keeps the last right name. */
export function hostCheck(port: number): (host: string | undefined) => boolean {
  let known: string | undefined;
  return (host) => {
    if (host !== undefined && host === known) return true;
    const isOurs = isLoopbackHost(host, port);
    if (isOurs) known = host;
    return isOurs;
  };
}

/**
 * Whether a browser may make this request. Programs send none of the headers. A page must be
 * same-origin or of a listed origin; other ports of localhost are foreign too.
 *
 * `Sec-Fetch-Site: none` stands for the address bar, and is only good for reading: any page of this
 * machine can cause such a request, with the browser's remembered credentials, by a speculation
 * rule, and any page at all by being opened from the address bar and redirecting here (both seen in
 * Chromium).
 */
export function isAllowedOrigin(
  headers: RequestHeaders,
  allowed: readonly string[],
  acting: boolean,
): boolean {
  const { origin, secFetchSite, secPurpose, host } = headers;
  if (secPurpose !== undefined) return false;
  if (origin !== undefined) {
    return origin === `http://${host}` || allowed.includes(origin);
  }
  if (secFetchSite === "none") return !acting;
  return secFetchSite === undefined || secFetchSite === "same-origin";
}

/**
 * Whether a page of this very port makes the request. Other ports of localhost, listed origins and
 * programs are foreign. A form of another page, or a page that logs in, shows its `Origin`; a page
 * that reads shows one or says `same-origin`.
 */
export function isOwnPage(headers: RequestHeaders, needsOrigin: boolean): boolean {
  const { origin, secFetchSite, secPurpose, host } = headers;
  if (secPurpose !== undefined) return false;
  if (secFetchSite !== undefined && secFetchSite !== "same-origin") return false;
  if (origin !== undefined) return origin === `http://${host}`;
  return !needsOrigin && secFetchSite === "same-origin";
}
