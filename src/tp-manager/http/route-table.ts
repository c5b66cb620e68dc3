import type { FastifyInstance } from "fastify";
import { AppError } from "../../shared/catalog/errors.ts";
import { type AnyCall, carryOut, methodsOf, pathsOf } from "./call.ts";
import type { CallContext } from "./call-context.ts";
import { calls } from "./calls/calls.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The call that a route belongs to. */
    call?: AnyCall;
  }
}

/**
 * The form and methods of every path, by which a wrong method is distinguished from a wrong path.
 */
const forms = calls.flatMap((record) =>
  pathsOf(record).map((path) => ({
    form: new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
    methods: methodsOf(record),
  })),
);

/**
 * Installs a route for each path of each call, below `prefix`; other requests get an error with a
 * hint.
 */
export function installCalls(app: FastifyInstance, context: CallContext, prefix = ""): void {
  for (const record of calls) {
    for (const path of pathsOf(record)) {
      app.route({
        method: methodsOf(record),
        url: prefix + path.replace(/\{(\w+)\}/g, ":$1"),
        config: { call: record },
        handler: (request, reply) => carryOut(record, request, reply, context),
      });
    }
  }
  app.setNotFoundHandler((request, reply) => {
    const url = request.url.startsWith(prefix) ? request.url.slice(prefix.length) : request.url;
    const methods = allowedMethods(url);
    if (methods.length > 0) void reply.header("allow", methods.join(", "));
    // Which order a wrong path means is uncertain, and so is whether that order is charged.
    const charged = /^\/+payment\/+./i.test(url) ? ({ charged: "unknown" } as const) : {};
    const error =
      methods.length > 0
        ? new AppError("METHOD_NOT_ALLOWED", undefined, charged)
        : new AppError("NOT_FOUND", hintFor(url), charged);
    error.orderId = orderIn(url);
    throw error;
  });
}

/** Returns the methods of a path; none: there is no such call. */
function allowedMethods(url: string): string[] {
  const path = url.split("?")[0] ?? "";
  return forms.flatMap(({ form, methods }) => (form.test(path) ? methods : [])).toSorted();
}

/** Returns the order id in a path that was not encoded and so belongs to no call. */
function orderIn(url: string): string | undefined {
  const named = /^\/payment\/([^?]+)/.exec(url)?.[1];
  try {
    return named && decodeURIComponent(named);
  } catch {
    return undefined;
  }
}

/** Returns a hint at the right path for one that differs in case or slashes, else undefined. */
function hintFor(url: string): string | undefined {
  const path = url.split("?")[0] ?? "";
  const known = path
    .toLowerCase()
    .replace(/\/+/g, "/")
    .replace(/(.)\/$/, "$1");
  if (known === path || allowedMethods(known).length === 0) return undefined;
  return `There is no such call; paths are in lower case without a slash at the end: ${known}`;
}
