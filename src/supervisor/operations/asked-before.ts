import type { SupervisorAnswer, SupervisorRequest } from "../../shared/ipc/contract.ts";
import { type Clock, DAY_MS } from "../../shared/time.ts";
import type { StoreLosses } from "../outbox/store-losses.ts";
import type { OperationStore } from "./operation-store.ts";

type Repeated = SupervisorAnswer<"gateway-operation">["repeats"];
type Target = SupervisorRequest<"gateway-key">["target"];

/**
 * Returns a memory of the operations of the last 24 hours. The monotonic clock begins with the
 * process, so operations of a former process count as recent for a day after the start.
 */
export function recentOperations(clock: Clock) {
  const startedAtMs = clock.monotonicMs();
  const begunAtMs = new Map<string, number>();
  return {
    add: (operationId: string) => void begunAtMs.set(operationId, clock.monotonicMs()),
    /** Whether an operation may be of the last 24 hours; no id: one from before this start. */
    mayHave: (operationId = ""): boolean =>
      clock.monotonicMs() - (begunAtMs.get(operationId) ?? startedAtMs) < DAY_MS,
  };
}
type RecentOperations = ReturnType<typeof recentOperations>;

/**
 * Returns the refund of the last day that a request repeats (docs/rules/26-return-keys.md). null:
 * this database may lack refunds of that day. undefined: it repeats none, or one on purpose.
 */
export function repeatedBy(
  request: SupervisorRequest<"gateway-operation">,
  recent: RecentOperations,
  store: OperationStore,
  losses: StoreLosses,
): Repeated {
  if (request.kind !== "refund" || !request.unlessRepeated) return undefined;
  const { transactionPublicId, amountMinor } = request;
  const equal = store.refundsOf(transactionPublicId, amountMinor);
  const repeated = equal.find(({ operationId }) => recent.mayHave(operationId));
  if (repeated) return repeated;
  const { transactionId } = store.ownerOf(transactionPublicId) ?? {};
  return recent.mayHave() && losses.mayLack(transactionId) ? null : undefined;
}

/** Returns whether the record of an operation may be missing because this database was lost. */
export function mayBeLost(target: Target, store: OperationStore, losses: StoreLosses): boolean {
  const ours =
    "orderId" in target
      ? store.transactionsOf(target.orderId)
      : [store.ownerOf(target.transactionPublicId.toUpperCase())];
  if (ours.length === 0) return losses.mayLack(undefined);
  return ours.some((one) => losses.mayLack(one?.transactionId));
}
