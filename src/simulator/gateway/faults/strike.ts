import type { FastifyReply } from "fastify";
import { faultEnvelope } from "../soap/envelope.ts";
import type { Answer } from "../soap/operation.ts";
import type { Fault } from "./fault.ts";

const XML = "text/xml; charset=utf-8";

/**
 * Answers, or does not, as a fault says. `send` writes a proper result of the operation; `done` is
 * the one it would have had, when it was carried out.
 */
export function strike(
  fault: Fault,
  reply: FastifyReply,
  send: (answer: Answer, times?: number) => FastifyReply,
  done: Answer | undefined,
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
    case "wrong-id":
      return send(changed(done, { transactionPublicId: "0123456789ABCDEF" }));
    case "wrong-amount":
      return send(changed(done, { amount: "0.01" }));
    case "wrong-currency":
      return send(changed(done, { currency: "XAF" }));
    case "answer-twice":
      return send(changed(done, {}), 2);
    default:
      throw new Error(`${fault.kind} does not answer requests`);
  }
}

/** The true result with other words in it; a result of its own when nothing was carried out. */
function changed(done: Answer | undefined, words: Readonly<Record<string, string>>): Answer {
  const { status, result } = done ?? { status: 200, result: { code: 0, description: "N/A" } };
  return { status, result: { ...result, ...words } };
}

function reset({ raw }: FastifyReply): void {
  const { socket } = raw;
  // A TLS connection has no TCP handle of its own to reset.
  if (!socket || "encrypted" in socket) socket?.destroy();
  else socket.resetAndDestroy();
}
