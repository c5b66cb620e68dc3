import type { FastifyRequest } from "fastify";
import type { z } from "zod";

const HOST = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/;

/** Scheme and host as the client wrote them: addresses in answers must be reachable for it. */
export function baseUrlOf({ protocol, headers, raw }: FastifyRequest): string {
  const host = headers.host ?? "";
  const { localAddress = "127.0.0.1", localPort = 0 } = raw.socket;
  const own = `${localAddress.includes(":") ? `[${localAddress}]` : localAddress}:${localPort}`;
  return `${protocol}://${HOST.test(host) ? host : own}`;
}

/** The bytes of the body; every content type is read as bytes. */
export function bodyBytes({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** A request that is answered with a status and words that say what to do. */
export class RequestRefused extends Error {
  override readonly name = "RequestRefused";
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** The JSON body in the shape of a schema. Throws {@link RequestRefused} with every fault found. */
export function jsonBody<T>(request: FastifyRequest, schema: z.ZodType<T>): T {
  const checked = schema.safeParse(parseJson(bodyBytes(request)));
  if (checked.success) return checked.data;
  throw new RequestRefused(400, describeIssues(checked.error));
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new RequestRefused(400, "the body is not JSON");
  }
}

export function describeIssues({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length > 0 ? `${path.join(".")}: ${message}` : message))
    .join("; ");
}
