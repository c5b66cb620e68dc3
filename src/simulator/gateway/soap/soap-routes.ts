import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { transaction } from "../../../shared/store/sqlite.ts";
import { sleep } from "../../../shared/time.ts";
import { type Fault, strikesAfterCommit } from "../faults.ts";
import { baseUrlOf, bodyBytes, RequestRefused } from "../http/app.ts";
import type { SandboxParts } from "../parts.ts";
import { type Answer, carryOut, resultChildren } from "./operations.ts";
import { maskStored, parameterOf } from "./parameters.ts";
import { type Operation, type Service, serviceAt } from "./services.ts";
import { wsdlOf } from "./wsdl.ts";
import {
  faultEnvelope,
  readEnvelope,
  responseEnvelope,
  SoapFault,
  type XmlElement,
} from "./xml.ts";

type Address = { Params: { service: string; operation?: string } };

const XML = "text/xml; charset=utf-8";

/**
 * Adds the SOAP services. Clients with a WSDL post to the address of a service, other clients to
 * the address of an operation (docs/gateway.md 2.1).
 */
export function soapRoutes(app: FastifyInstance, parts: SandboxParts): void {
  for (const url of ["/soap/:service", "/soap/:service/:operation"]) {
    app.get<Address>(url, (request, reply) => {
      const service = addressed(request, parts);
      if (!/[?&]wsdl(=|&|$)/i.test(request.url)) {
        throw new RequestRefused(404, "POST a SOAP request here, or GET ?wsdl");
      }
      return reply.type(XML).send(wsdlOf(service, serviceAddress(request, service)));
    });
    app.post<Address>(url, async (request, reply) => {
      const service = addressed(request, parts);
      try {
        return await answer(request, reply, service, parts);
      } catch (error) {
        if (!(error instanceof SoapFault)) throw error;
        return reply.code(500).type(XML).send(faultEnvelope(error.code, error.message));
      }
    });
  }
}

/** Returns the service of an address. Throws {@link RequestRefused} for an unknown address. */
function addressed({ params, url }: FastifyRequest<Address>, { websiteIdMandatory }: SandboxParts) {
  const { operation } = params;
  const service = serviceAt(params.service, websiteIdMandatory);
  const known =
    operation === undefined || service?.operations.some(({ name }) => name === operation);
  if (!service || !known) throw new RequestRefused(404, `${url} does not exist`);
  return service;
}

function serviceAddress(request: FastifyRequest, { path }: Service): string {
  return `${baseUrlOf(request)}/soap/${path}`;
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  service: Service,
  parts: SandboxParts,
): Promise<FastifyReply> {
  refuseOtherContent(request.headers["content-type"]);
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw new RequestRefused(415, `send it without ${encoding}`);
  const element = readEnvelope(bodyBytes(request));
  const operation = operationNamed(service, element.name);
  const reference = parameterOf(element, "merchantReference");
  const { latencyMs, strike: fault } = parts.faults.take(operation.name, reference);
  if (latencyMs > 0) await sleep(parts.clock, "fault latency", latencyMs, parts.closing);
  const send = ({ status, result }: Answer, times = 1): FastifyReply => {
    // The answer uses the request's namespace, because a client's WSDL can name another host.
    const isTheirs = element.namespace.endsWith(`/soap/${service.path}`);
    const namespace = isTheirs ? element.namespace : serviceAddress(request, service);
    const children = resultChildren(operation, result);
    return reply
      .code(status)
      .type(XML)
      .send(responseEnvelope(operation.name, namespace, children, times));
  };
  if (fault && !strikesAfterCommit(fault)) {
    countArrival(parts, operation, element);
    return strike(fault, reply, send, undefined);
  }
  const notifyFirst = parts.faults.inForce("notification-before-answer", reference);
  const done = transaction(parts.database, () => {
    countArrival(parts, operation, element);
    return carryOut(operation, element, { ...parts, baseUrl: baseUrlOf(request) });
  });
  if (notifyFirst) await parts.sender.deliverDue();
  else if (fault) parts.sender.kick();
  return fault ? strike(fault, reply, send, done) : send(done);
}

/** Throws {@link RequestRefused} if the request names a content type other than XML in UTF-8. */
function refuseOtherContent(contentType: string | undefined): void {
  if (contentType === undefined) return;
  if (!/xml/i.test(contentType)) {
    throw new RequestRefused(415, `send text/xml; charset=utf-8, not ${contentType}`);
  }
  const charset = /charset\s*=\s*"?([\w-]+)/i.exec(contentType)?.[1];
  // Clients have to convert other encodings to UTF-8 (docs/design.md 12.14).
  if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)) {
    throw new RequestRefused(415, `send UTF-8, not ${charset}`);
  }
}

function operationNamed({ path, operations }: Service, name: string): Operation {
  const operation = operations.find((candidate) => candidate.name === name);
  if (operation) return operation;
  const known = operations.map((candidate) => candidate.name).join(", ");
  throw new SoapFault("Client", `${path} has no operation ${name}, only ${known}`);
}

const REFERENCE_CHARACTERS_MAX = 255;

/** Counts an order request that has a merchant reference, even if a fault ends the request. */
function countArrival(parts: SandboxParts, { name }: Operation, element: XmlElement): void {
  if (name !== "generate") return;
  const websiteId = Number(parameterOf(element, "websiteId"));
  const reference = parameterOf(element, "merchantReference");
  if (reference === "" || [...reference].length > REFERENCE_CHARACTERS_MAX) return;
  if (Number.isSafeInteger(websiteId)) parts.orders.countArrival(websiteId, maskStored(reference));
}

/**
 * Answers a request as a fault demands. `send` answers with a result of the operation; `done` is
 * the true result, if the operation was carried out.
 */
function strike(
  fault: Fault,
  reply: FastifyReply,
  send: (answer: Answer, times?: number) => FastifyReply,
  done: Answer | undefined,
): FastifyReply {
  switch (fault.kind) {
    case "hang-before-commit":
    case "hang-after-commit":
      // The connection stays open until the client closes it or the sandbox ends.
      return reply.hijack();
    case "reset-before-commit":
    case "reset-after-commit":
      reset(reply.hijack());
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
      throw new Error(`the sandbox has no answer that imitates the fault ${fault.kind}`);
  }
}

/** Returns the true result with other fields, or an invented one if nothing was carried out. */
function changed(done: Answer | undefined, fields: Readonly<Record<string, string>>): Answer {
  const { status, result } = done ?? { status: 200, result: { code: 0, description: "N/A" } };
  return { status, result: { ...result, ...fields } };
}

function reset({ raw }: FastifyReply): void {
  const { socket } = raw;
  // Node.js cannot reset a TLS connection, so such a connection is destroyed.
  if (!socket || "encrypted" in socket) socket?.destroy();
  else socket.resetAndDestroy();
}
