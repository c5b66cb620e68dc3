import type { IncomingHttpHeaders } from "node:http";

/** Decides by a request's own headers who may call the local API (docs/design.md 5.2). Pure. */

/**
 * Whether the Host header names this machine and the server's port. A page whose name resolves to
 * 127.0.0.1 (DNS rebinding) still sends its own name here.
 */
export function isOurHost(host: string | undefined, port: number): boolean {
  const parts = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?$/i.exec(host ?? "");
  return parts !== null && Number(parts[2] ?? 80) === port;
}

/**
 * Whether a browser may make this request. Programs send none of these headers. A page must be
 * same-origin or of a listed origin; other ports of localhost are foreign too.
 *
 * `Sec-Fetch-Site: none` stands for the address bar, and is only good for reading: any page of this
 * machine can cause such a request, with the browser's remembered credentials, by a speculation
 * rule, and any page at all by being opened from the address bar and redirecting here (both seen in
 * Chromium).
 */
export function isAllowedOrigin(
  { host, origin, "sec-fetch-site": site, "sec-purpose": purpose }: IncomingHttpHeaders,
  allowed: readonly string[],
  acting: boolean,
): boolean {
  // A browser sends `Sec-Purpose` if it fetches a page before anybody asks for the page.
  if (purpose !== undefined) return false;
  if (origin !== undefined) {
    return origin === `http://${host}` || allowed.includes(origin);
  }
  if (site === "none") return !acting;
  return site === undefined || site === "same-origin";
}

/**
 * Whether a page of this very port sent the request: not a program, nor a page of another port or a
 * listed origin. A browser sends `Origin` with a form or login; with a request that reads, it sends
 * `Origin` or `Sec-Fetch-Site: same-origin`.
 */
export function isOwnPage(
  { host, origin, "sec-fetch-site": site, "sec-purpose": purpose }: IncomingHttpHeaders,
  needsOrigin: boolean,
): boolean {
  if (purpose !== undefined) return false;
  if (site !== undefined && site !== "same-origin") return false;
  if (origin !== undefined) return origin === `http://${host}`;
  return !needsOrigin && site === "same-origin";
}
