import type { SupervisorAnswer, SupervisorRequest } from "../../shared/ipc/contract.ts";
import type { Clock } from "../../shared/time.ts";
import type { StoreLosses } from "../outbox/store-losses.ts";
import type { OperationStore } from "./operation-store.ts";

type Repeated = SupervisorAnswer<"gateway-operation">["repeats"];
type Target = SupervisorRequest<"gateway-key">["target"];

const DAY_MS = 24 * 60 * 60_000;

/**
 * Knows which operations are of the last day, by the steady clock. This clock began with the
 * process: an operation of a former process counts as one of the last day for a day.
 */
export class LastDay {
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  readonly #begunAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAtMs = clock.monotonicMs();
  }

  /** Remembers an operation that this process begins. */
  add(operationId: string): void {
    this.#begunAtMs.set(operationId, this.#clock.monotonicMs());
  }

  /** Returns whether an operation may be of the last day. Missing: one of a former process. */
  mayHave(operationId = ""): boolean {
    const sinceMs = this.#begunAtMs.get(operationId) ?? this.#startedAtMs;
    return this.#clock.monotonicMs() - sinceMs < DAY_MS;
  }
}

/**
 * Returns the refund of the last day that a request repeats (docs/rules/26-return-keys.md). null:
 * this database may lack a part of that day. undefined: none, or the caller repeats it on purpose.
 */
export function repeatedBy(
  request: SupervisorRequest<"gateway-operation">,
  lastDay: LastDay,
  store: OperationStore,
  losses: StoreLosses,
): Repeated {
  if (request.kind !== "refund" || !request.unlessRepeated) return undefined;
  const { transactionPublicId, amountMinor } = request;
  const equal = store.refundsOf(transactionPublicId, amountMinor);
  const repeated = equal.find(({ operationId }) => lastDay.mayHave(operationId));
  if (repeated) return repeated;
  const { transactionId } = store.ownerOf(transactionPublicId) ?? {};
  return lastDay.mayHave() && losses.mayLack(transactionId) ? null : undefined;
}

/** Returns whether a loss of this database may have taken the record of an operation. */
export function mayBeLost(target: Target, store: OperationStore, losses: StoreLosses): boolean {
  const ours =
    "orderId" in target
      ? store.transactionsOf(target.orderId)
      : [store.ownerOf(target.transactionPublicId.toUpperCase())];
  if (ours.length === 0) return losses.mayLack(undefined);
  return ours.some((one) => losses.mayLack(one?.transactionId));
}
