import type { FastifyInstance, FastifyReply } from "fastify";
import { AppError, type ErrorCode, errorTable } from "../../shared/errors.ts";
import type { Logger } from "../../shared/logger.ts";
import { errorOfAppError } from "../orders/answer.ts";

/** Every body is a JSON array with one object (docs/design.md 5.4). */
export function sendOne(reply: FastifyReply, http: number, body: object): FastifyReply {
  return reply.code(http).send([body]);
}

/** The error answer of any call; `echo` is what can be repeated of the request. */
export function sendError(reply: FastifyReply, error: AppError, echo: object = {}): FastifyReply {
  const { http } = errorTable[error.code];
  const status = http >= 500 && error.charged === "unknown" ? "Unknown" : "Failed";
  return sendOne(reply, http, { status, error: errorOfAppError(error), ...echo });
}

/** Codes of the HTTP framework and their meaning here. */
const frameworkCodes: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "BODY_TOO_LARGE",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "CONTENT_TYPE_REFUSED",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "BODY_NOT_JSON",
  FST_ERR_CTP_EMPTY_JSON_BODY: "BODY_NOT_JSON",
  FST_BASIC_AUTH_MISSING_OR_BAD_AUTHORIZATION_HEADER: "UNAUTHORIZED",
};

export function installErrorAnswers(app: FastifyInstance, log: Logger): void {
  app.setErrorHandler((error: unknown, request, reply) => {
    const known = toAppError(error);
    const { http } = errorTable[known.code];
    if (http === 500 || known.code === "STORAGE_FAILED") {
      log.error({ err: error, method: request.method, url: request.url }, "a call failed");
    }
    return sendError(reply, known);
  });
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { code, statusCode, message } = error as {
    code?: string;
    statusCode?: number;
    message?: string;
  };
  const known = code === undefined ? undefined : frameworkCodes[code];
  if (known) return new AppError(known);
  if (statusCode === 401) return new AppError("UNAUTHORIZED");
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new AppError("REQUEST_INVALID", message);
  }
  return new AppError("INTERNAL", undefined, { cause: error });
}
