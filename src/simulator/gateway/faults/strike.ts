import type { FastifyReply } from "fastify";
import { faultEnvelope } from "../soap/envelope.ts";
import type { Answer } from "../soap/operation.ts";
import type { Fault } from "./fault.ts";

const XML = "text/xml; charset=utf-8";

/** Answers, or does not, as a fault says. `send` writes a proper result of the operation. */
export function strike(
  fault: Fault,
  reply: FastifyReply,
  send: (answer: Answer) => FastifyReply,
): FastifyReply {
  switch (fault.kind) {
    case "hang-before-commit":
    case "hang-after-commit":
      // The connection stays open until the client or the end of the sandbox closes it.
      return reply.hijack();
    case "reset-before-commit":
    case "reset-after-commit":
      reply.hijack();
      reset(reply);
      return reply;
    case "error-500":
      return reply.code(500).type(XML).send(faultEnvelope("Server", "sandbox fault: error-500"));
    case "error-500-empty":
      return reply.code(500).send();
    case "unavailable-503":
      return reply
        .code(503)
        .header("retry-after", String(fault.retryAfter))
        .type("text/plain")
        .send("sandbox fault: unavailable-503\n");
    case "not-found-404":
      return reply.code(404).type("text/plain").send("sandbox fault: not-found-404\n");
    case "malformed-xml":
      return reply.type(XML).send(faultEnvelope("Server", "never read to the end").slice(0, -30));
    case "wrong-code": {
      const description = `sandbox fault: code ${fault.code}`;
      return send({ status: 200, result: { code: fault.code, description } });
    }
    default:
      throw new Error(`${fault.kind} does not answer requests`);
  }
}

function reset({ raw }: FastifyReply): void {
  const { socket } = raw;
  // A TLS connection has no TCP handle of its own to reset.
  if (!socket || "encrypted" in socket) socket?.destroy();
  else socket.resetAndDestroy();
}
