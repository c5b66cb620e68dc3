import type { FastifyReply } from "fastify";
import { type AppError, errorTable } from "../../shared/catalog/errors.ts";
import { answerOf, errorOfAppError } from "../orders/answer.ts";
import type { PaymentResult } from "../orders/orders.ts";

/** The first member of an answer that is neither a payment nor a list. */
export const success = { status: "Success" } as const;

/** Sends one object; every body is a JSON array with one object (docs/design.md 5.4). */
export function sendOne(reply: FastifyReply, http: number, body: object): FastifyReply {
  return sendList(reply, http, [body]);
}

export function sendList(reply: FastifyReply, http: number, list: readonly object[]): FastifyReply {
  return sendText(reply, http, jsonText(list));
}

/** The longest text that is sent as text; a longer one is encoded here, once instead of twice. */
const SHORT_CHARACTERS = 16_384;

/** Sends a JSON text. */
export function sendText(reply: FastifyReply, http: number, text: string): FastifyReply {
  const body = text.length > SHORT_CHARACTERS ? Buffer.from(text) : text;
  return reply.code(http).type("application/json; charset=utf-8").send(body);
}

/**
 * Sends the error answer of any call; `more`: its further members. `status` is about the request
 * and `charged` about its order: the refund of a charged order can be unknown.
 */
export function sendError(reply: FastifyReply, error: AppError, more: object = {}): FastifyReply {
  const { http } = errorTable[error.code];
  const isUnknown = http === 504 || error.mayBeDone || (http >= 500 && error.charged === "unknown");
  const status = isUnknown ? "Unknown" : "Failed";
  return sendOne(reply, http, { status, error: errorOfAppError(error), ...more });
}

export function sendResult(reply: FastifyReply, result: PaymentResult): FastifyReply {
  const { http, body: stored } = answerOf(result.attempt, result.delivery);
  const body = { ...stored, warnings: [...stored.warnings, ...(result.warnings ?? [])] };
  if (!result.replayed) return sendOne(reply, http, body);
  void reply.header("idempotent-replay", "true");
  const answeredAt = new Date(result.attempt.endedAtMs ?? result.attempt.startedAtMs);
  return sendOne(reply, http, { ...body, replayed: true, answeredAt: answeredAt.toISOString() });
}

/** Returns a JSON text with a line break at its end, so that a shell's prompt comes below. */
export function jsonText(body: object): string {
  return `${JSON.stringify(body)}\n`;
}
