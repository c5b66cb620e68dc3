import type { FastifyReply } from "fastify";
import { type AppError, errorTable } from "../../shared/catalog/errors.ts";
import { isoTime } from "../../shared/time.ts";
import { answerOf, errorOfAppError } from "../orders/answer.ts";
import type { PaymentResult } from "../orders/orders.ts";

/** The members of a successful answer that is no payment (docs/design.md 5.4). */
export const success = { status: "Success", accepted: true } as const;

/** A longer answer is encoded to bytes here once, because fastify would encode it twice. */
const SHORT_CHARACTERS = 16_384;

/** Sends a JSON array of one object, or of any number of them for a list (docs/design.md 5.4). */
export function send(reply: FastifyReply, http: number, ...list: readonly object[]): FastifyReply {
  const text = jsonText(list);
  const body = text.length > SHORT_CHARACTERS ? Buffer.from(text) : text;
  return reply.code(http).type("application/json; charset=utf-8").send(body);
}

/**
 * Sends an error as the answer, with the members `more`. `status` is about the request, `charged`
 * about its order: the refund of a charged order can be unknown.
 */
export function sendError(reply: FastifyReply, error: AppError, more: object = {}): FastifyReply {
  const { http } = errorTable[error.code];
  const isUnknown = http === 504 || error.mayBeDone || (http >= 500 && error.charged === "unknown");
  const status = isUnknown ? "Unknown" : "Failed";
  return send(reply, http, { status, error: errorOfAppError(error), ...more });
}

export function sendResult(reply: FastifyReply, result: PaymentResult): FastifyReply {
  const { http, body: stored } = answerOf(result.attempt, result.delivery, result.askedUntilMs);
  const body = { ...stored, warnings: [...stored.warnings, ...(result.warnings ?? [])] };
  if (!result.replayed) return send(reply, http, body);
  void reply.header("idempotent-replay", "true");
  const answeredAt = isoTime(result.attempt.endedAtMs ?? result.attempt.startedAtMs);
  return send(reply, http, { ...body, replayed: true, answeredAt });
}

/** Returns a JSON text with a line break at its end, so that a shell's prompt comes below. */
export function jsonText(body: object): string {
  return `${JSON.stringify(body)}\n`;
}
