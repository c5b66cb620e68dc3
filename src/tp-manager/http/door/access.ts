import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import basicAuth from "@fastify/basic-auth";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../../shared/catalog/errors.ts";
import { isActing, type Role } from "../call.ts";
import type { FailureDelay } from "./failure-delay.ts";

export interface Pair {
  readonly login: string;
  readonly password: string;
}

/** The headers of every answer: no other site may store, frame, sniff or read the answer. */
export const securityHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export interface AccessOptions {
  readonly port: number;
  readonly kiosk: Pair;
  readonly operator: Pair | undefined;
  /** The pair that may only read figures (METRICS_LOGIN). */
  readonly metrics?: Pair | undefined;
  readonly allowedOrigins: readonly string[];
  readonly failures: FailureDelay;
}

/** Installs the checks of a request's origin, then of its login (docs/design.md 5.2, 5.3). */
export async function installAccess(app: FastifyInstance, options: AccessOptions): Promise<void> {
  const credentials = new Credentials(options.kiosk, options.operator, options.metrics);
  await app.register(basicAuth, {
    authenticate: { realm: "terminal" },
    async validate(login, password, request, reply) {
      const role = mayEnter(request, credentials.roleOf(login, password));
      if (!role) return await refuseLogin(options.failures, login, reply);
      letIn(request, role);
    },
  });
  const letIn = (request: FastifyRequest, role: Role): void => {
    app.connections.trust(request.raw.socket);
    request.role = role;
  };
  app.addHook("onRequest", (request, reply, done) => {
    void reply.headers(securityHeaders);
    checkSource(request, reply, options);
    const { headers } = request.raw;
    const isEmpty = headers["content-length"] === "0" && !headers["transfer-encoding"];
    // Many programs send a content type without a body, which fastify would refuse.
    if (isEmpty) delete headers["content-type"];
    if (isPreflight(request)) {
      void reply.code(204).send();
      return;
    }
    const role = mayEnter(request, credentials.roleOfHeader(request.headers.authorization));
    if (role === undefined) return app.basicAuth(request, reply, done);
    letIn(request, role);
    done();
  });
}

/** Returns the role; undefined: as if the login were wrong, since it is only for figures. */
function mayEnter({ routeOptions }: FastifyRequest, role: Role | undefined): Role | undefined {
  return role !== "metrics" || routeOptions.config.call?.figures ? role : undefined;
}

/** Throws UNAUTHORIZED after a growing delay, or TOO_MANY_FAILURES at once if too many wait. */
export async function refuseLogin(
  delay: FailureDelay,
  login: string,
  reply: FastifyReply,
): Promise<never> {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  if (await delay.wait(login, gone.signal)) throw new AppError("UNAUTHORIZED");
  void reply.headers({ "retry-after": "5", connection: "close" });
  throw new AppError("TOO_MANY_FAILURES");
}

/** Throws unless a program of this machine, or a page of an allowed origin, sent the request. */
function checkSource(
  request: FastifyRequest,
  reply: FastifyReply,
  { port, allowedOrigins }: AccessOptions,
): void {
  checkHost(request, port);
  const { origin } = request.headers;
  if (!isAllowedOrigin(request, allowedOrigins)) throw new AppError("ORIGIN_REFUSED");
  if (origin === undefined || !allowedOrigins.includes(origin)) return;
  void reply.headers({
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "idempotent-replay, next-cursor, location, preference-applied",
    vary: "origin",
  });
  if (!isPreflight(request)) return;
  void reply.headers({
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "authorization, content-type, last-event-id, prefer",
    "access-control-max-age": "600",
  });
  if (request.headers["access-control-request-private-network"] === "true") {
    void reply.header("access-control-allow-private-network", "true");
  }
}

/** Throws unless Host names this machine and port, and no header of {@link singles} comes twice. */
export function checkHost({ raw, headers }: FastifyRequest, port: number): void {
  if (isAmbiguous(raw.rawHeaders) || !isOurHost(headers.host, port)) {
    throw new AppError("HOST_REFUSED");
  }
}

/** Headers that decide who may call. Two copies could be read differently and are refused. */
const singles = ["host", "origin", "authorization", "sec-fetch-site"];

function isAmbiguous(rawHeaders: readonly string[]): boolean {
  let found = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const at = singles.indexOf(rawHeaders[i]?.toLowerCase() ?? "");
    if (at < 0) continue;
    if (found & (1 << at)) return true;
    found |= 1 << at;
  }
  return false;
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return (
    method === "OPTIONS" &&
    headers.origin !== undefined &&
    headers["access-control-request-method"] !== undefined
  );
}

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
 * same-origin or of a listed origin; other ports of localhost are foreign too. `Sec-Fetch-Site:
 * none` stands for the address bar and allows only reading: in Chromium a page can cause such a
 * request, with stored credentials, by a speculation rule or a redirect.
 */
function isAllowedOrigin(request: FastifyRequest, allowed: readonly string[]): boolean {
  const { host, origin, "sec-fetch-site": site, "sec-purpose": purpose } = request.headers;
  // A browser sends `Sec-Purpose` when it loads a page before the user has asked for the page.
  if (purpose !== undefined) return false;
  if (origin !== undefined) {
    return origin === `http://${host}` || allowed.includes(origin);
  }
  if (site === "none") return !isActing(request.method, request.routeOptions.config.call);
  return site === undefined || site === "same-origin";
}

/**
 * Whether a page of this very port sent the request, not a program or another page. `needsOrigin`:
 * the request is a login, with which a browser always sends `Origin`.
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

/** A header of at most this length is compared whole: a digest of it takes longer. */
const SHORT_HEADER_BYTES = 256;
/** Two bytes that UTF-8 never has: one follows a short header, the other is in no header. */
const [PADDING, NO_HEADER] = [0xff, 0xfe];

/** Checks Basic credentials in constant time. */
export class Credentials {
  readonly #known: ReadonlyArray<ReturnType<typeof knownOf>>;
  readonly #given = Buffer.alloc(SHORT_HEADER_BYTES);

  constructor(kiosk: Pair, operator: Pair | undefined, metrics?: Pair) {
    const pairs = Object.entries({ kiosk, operator, metrics }) as [Role, Pair | undefined][];
    this.#known = pairs.flatMap(([role, pair]) => (pair ? [knownOf(role, pair)] : []));
  }

  /** Returns the role whose usual `Authorization` header this is; undefined: decode it to know. */
  roleOfHeader(header = ""): Role | undefined {
    return isShort(header)
      ? this.#roleOf("shortHeader", padded(header, this.#given))
      : this.#roleOf("header", hash("sha256", header, "buffer"));
  }

  /** Returns the role of a login and password; undefined: they are wrong. */
  roleOf(login: string, password: string): Role | undefined {
    return this.#roleOf("pair", hash("sha256", JSON.stringify([login, password]), "buffer"));
  }

  #roleOf(kind: "pair" | "header" | "shortHeader", given: Buffer): Role | undefined {
    let role: Role | undefined;
    // Every role is compared, so that the time taken does not show which role's login is similar.
    for (const one of this.#known) if (timingSafeEqual(one[kind], given)) role = one.role;
    return role;
  }
}

function isShort(header: string): boolean {
  return header.length <= SHORT_HEADER_BYTES;
}

function padded(header: string, into: Buffer): Buffer {
  into.fill(PADDING);
  into.write(header);
  return into;
}

/** The digest for a login whose header must always be decoded; no header has this digest. */
const noDigest = Buffer.alloc(32);

function knownOf(role: Role, { login, password }: Pair) {
  const header = `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`;
  // A login with a colon, or a control character, makes a header that must be decoded.
  const isPlain = !login.includes(":") && !/\p{Cc}/u.test(login + password);
  const short = Buffer.alloc(SHORT_HEADER_BYTES, NO_HEADER);
  return {
    role,
    pair: hash("sha256", JSON.stringify([login, password]), "buffer"),
    header: isPlain ? hash("sha256", header, "buffer") : noDigest,
    shortHeader: isPlain && isShort(header) ? padded(header, short) : short,
  };
}
