import { AppError } from "../../shared/catalog/errors.ts";
import { type IpcClient, IpcError } from "../../shared/ipc/client.ts";
import type {
  SupervisorAnswer,
  SupervisorRequest,
  supervisorMessages,
} from "../../shared/ipc/contract.ts";

type Name = Exclude<keyof typeof supervisorMessages, "stop">;
type Send = IpcClient<typeof supervisorMessages>["call"];

/** The time limit for an answer of the supervisor, as the sum of the times of these members. */
interface Limit {
  readonly ms: number;
  /** How many requests to the gateway the answer needs; each has its own time limit. */
  readonly gatewayRequests?: number;
  /** Whether the message's own waiting time, its member `waitMs`, is added to the limit. */
  readonly plusWaitMs?: true;
}

/** The time limit for a message that the supervisor answers from its own database. */
const fromDisk: Limit = { ms: 5_000 };

/** The time limits of messages that also need the gateway, or whose caller cannot wait long. */
const limits: Readonly<Partial<Record<Name, Limit>>> = {
  "store-transaction": { ms: 5_000, plusWaitMs: true },
  "transaction-delivery": { ms: 500, plusWaitMs: true },
  // The supervisor asks the gateway at two addresses (supervisor/gateway/gateway-client.ts).
  "order-at-gateway": { ms: 5_000, gatewayRequests: 2 },
  "gateway-resolve": { ms: 5_000, gatewayRequests: 2 },
  "gateway-lookup": { ms: 5_000, gatewayRequests: 2 },
  "gateway-operation": { ms: 5_000, gatewayRequests: 1 },
  // The limit includes one gateway request, because the operation may still be under way there.
  "gateway-key": { ms: 5_000, gatewayRequests: 1 },
  "gateway-operation-end": { ms: 5_000, gatewayRequests: 1 },
  // Short, because a kiosk waits; a reversal continues without the gateway's history.
  "gateway-history": { ms: 1_000 },
  // /health and /metrics must answer soon, even if the supervisor does not.
  status: { ms: 1_000 },
};

/** The messages by which an operator changes something; a lost answer does not show whether. */
const changing: ReadonlySet<Name> = new Set<Name>([
  "gateway-settle",
  "gateway-copies",
  "outbox-requeue",
  "outbox-drop",
]);

/** The HTTP statuses with which the supervisor refuses a message before anything is changed. */
const undoneStatuses: ReadonlySet<number | undefined> = new Set([400, 404, 413, 503]);

/** Sends messages from tp-manager to the supervisor. It repeats no message by itself. */
export class SupervisorLink {
  readonly #send: Send;
  readonly #gatewayTimeoutMs: number;

  constructor(send: Send, gatewayTimeoutMs: number) {
    this.#send = send;
    this.#gatewayTimeoutMs = gatewayTimeoutMs;
  }

  /** Rejects with {@link IpcError}, which shows whether the message can have arrived. */
  call<K extends Name>(name: K, request: SupervisorRequest<K>): Promise<SupervisorAnswer<K>> {
    const { ms, gatewayRequests = 0, plusWaitMs } = limits[name] ?? fromDisk;
    const waitMs = plusWaitMs ? ((request as { readonly waitMs?: number }).waitMs ?? 0) : 0;
    const limitMs = ms + gatewayRequests * this.#gatewayTimeoutMs + waitMs;
    return this.#send(name, request, limitMs);
  }

  /** Like {@link call}; throws only SUPERVISOR_UNAVAILABLE. `mayBeDone`: it may be done already. */
  async ask<K extends Name>(
    name: K,
    request: SupervisorRequest<K>,
    about: { readonly mayBeDone?: true } = {},
  ): Promise<SupervisorAnswer<K>> {
    try {
      return await this.call(name, request);
    } catch (error) {
      if (!(error instanceof IpcError)) throw error;
      const isUndone = error.failure === "unreachable" || undoneStatuses.has(error.status);
      const isSent = changing.has(name) && !isUndone;
      throw unavailable(error, isSent ? { mayBeDone: true } : about);
    }
  }
}

export function unavailable(error: IpcError, more: { mayBeDone?: true } = {}): AppError {
  return new AppError("SUPERVISOR_UNAVAILABLE", `The supervisor: ${error.message}`, {
    ...more,
    details: { failure: error.failure },
    cause: error,
  });
}
