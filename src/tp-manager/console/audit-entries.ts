import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { NAME_CHARACTERS_MAX } from "../../shared/masking/legible.ts";
import { maskPansInText, maskPansInUrl } from "../../shared/masking/mask.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { invalid, storage } from "../attempts/failures.ts";
import { checked, legible } from "../http/body/input.ts";
import { isActing } from "../http/call.ts";
import type { AuditEntryRows } from "../journal/operator-rows.ts";

const REASON_CHARACTERS_MAX = 500;
const BODY_CHARACTERS_MAX = 2_000;
const CALL_CHARACTERS_MAX = 500;

const about = z.object({
  "act-name": legible(NAME_CHARACTERS_MAX),
  "act-reason": legible(REASON_CHARACTERS_MAX),
});

declare module "fastify" {
  interface FastifyRequest {
    /** The number of the request's audit entry; null when the request changes nothing. */
    act: number | null;
  }
}

/**
 * Stores who makes a change and why, before it is made (docs/console.md 3). A call that changes
 * something has name and reason in the headers `act-name` and `act-reason`, percent-encoded;
 * without them, or when the entry cannot be stored, nothing is changed.
 */
export function keepAuditEntries(
  app: FastifyInstance,
  entries: AuditEntryRows,
  clock: Clock,
  log: Logger,
): void {
  app.decorateRequest("act", null);
  app.addHook("preHandler", (request, _reply, done) => {
    const { call } = request.routeOptions.config;
    if (call === undefined || !isActing(request.method, call)) return done();
    const act = actOf(request);
    request.act = storage(() => entries.begin(act, clock.now()), "no");
    request.person = { by: `${act.name} (${act.login})`, reason: act.reason };
    done();
  });
  // The outcome is stored before the answer is sent, because the browser may be gone afterwards.
  app.addHook("onSend", ({ act }, { statusCode }, payload, done) => {
    try {
      const code = statusCode === 200 ? null : codeIn(payload);
      if (act !== null) entries.end(act, statusCode, code);
    } catch (error) {
      const text = "could not write the outcome of an operator's change to the journal";
      log.error({ err: error, act }, text);
    }
    done();
  });
}

function codeIn(payload: unknown): string | null {
  if (typeof payload !== "string") return null;
  const answer = JSON.parse(payload) as [{ readonly error?: { readonly code: string } | null }];
  return answer[0]?.error?.code ?? null;
}

function actOf({ method, url, headers, body, session }: FastifyRequest) {
  const given = checked(about, {
    "act-name": decoded("act-name", headers["act-name"]),
    "act-reason": decoded("act-reason", headers["act-reason"]),
  });
  const text = body === undefined ? null : JSON.stringify(body);
  return {
    login: session?.login ?? "",
    name: given["act-name"],
    reason: given["act-reason"],
    call: maskPansInUrl(`${method} ${url.replace(/^\/api/, "")}`).slice(0, CALL_CHARACTERS_MAX),
    body: text && maskPansInText(text).slice(0, BODY_CHARACTERS_MAX),
  };
}

function decoded(name: string, header: string | readonly string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  try {
    return decodeURIComponent(String(header)).trim();
  } catch {
    throw invalid(name, "must be encoded like a part of an address");
  }
}
