/**
 * Who may call the local API, decided from the request's own headers before authentication (DESIGN
 * 5). Pure.
 */

export interface RequestHeaders {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
}

/**
 * Whether the Host header names this machine at our port. A page that has its own name resolve to
 * 127.0.0.1 (DNS rebinding) still sends its own name here.
 */
export function isLoopbackHost(host: string | undefined, port: number): boolean {
  const parts = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?$/i.exec(host ?? "");
  return parts !== null && Number(parts[2] ?? 80) === port;
}

/**
 * Whether a browser may make this request. Programs send neither header. A page must be same-origin
 * or of a listed origin; other ports of localhost are foreign too.
 */
export function isAllowedOrigin(headers: RequestHeaders, allowed: readonly string[]): boolean {
  const { origin, secFetchSite, host } = headers;
  if (origin !== undefined) {
    return origin === `http://${host}` || allowed.includes(origin);
  }
  return secFetchSite === undefined || secFetchSite === "same-origin" || secFetchSite === "none";
}
