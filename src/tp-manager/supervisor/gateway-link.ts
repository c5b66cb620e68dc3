import type { IpcClient } from "../../shared/ipc/client.ts";
import type { supervisorMessages } from "../../shared/ipc/contract.ts";
import type { GatewayLink } from "./gateway-desk.ts";
import type { ReturnsLink } from "./return-poll.ts";

/** What the supervisor answers from its database, or what it may add to a request's own time. */
const ANSWER_LIMIT_MS = 5_000;
/** An id that is new is looked up at two addresses (supervisor/gateway/gateway-client.ts). */
const REQUESTS_OF_A_LOOKUP = 2;

/** For the answer to a lookup. */
export function lookupLimitMs(gatewayTimeoutMs: number): number {
  return REQUESTS_OF_A_LOOKUP * gatewayTimeoutMs + ANSWER_LIMIT_MS;
}

/** The supervisor over the local socket, as far as it asks the gateway. */
export function createGatewayLink(
  client: Pick<IpcClient<typeof supervisorMessages>, "call">,
  gatewayTimeoutMs: number,
): GatewayLink & ReturnsLink {
  const operationLimitMs = gatewayTimeoutMs + ANSWER_LIMIT_MS;
  const resolveLimitMs = lookupLimitMs(gatewayTimeoutMs);
  return {
    resolve: (target) => client.call("gateway-resolve", target, resolveLimitMs),
    operate: (request) => client.call("gateway-operation", request, operationLimitMs),
    end: (operationId) => client.call("gateway-operation-end", { operationId }, operationLimitMs),
    returns: (request) => client.call("gateway-returns", request, ANSWER_LIMIT_MS),
    async settle(request) {
      return (await client.call("gateway-settle", request, ANSWER_LIMIT_MS)).operation;
    },
  };
}
