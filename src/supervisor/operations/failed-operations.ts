import type { GatewayOperation } from "../../shared/ipc/contract.ts";
import { notifiedNames } from "./gateway-state.ts";
import type { HistoryParts } from "./history-parts.ts";

/**
 * Operations of one transaction of the gateway that it answered as done and of which it has
 * notified a failure since: the money did not move after all. One whose success was notified too
 * did not fail. With several of a kind the failure may be that of any which is not confirmed.
 */
export function failedOperations(
  transactionPublicId: string,
  { operations, notifications }: HistoryParts,
): GatewayOperation[] {
  const owner = operations.ownerOf(transactionPublicId);
  if (!owner) return [];
  const told = notifications
    .acceptedOf([owner.transactionId])
    .filter((one) => one.kind === "operation" && one.transactionPublicId === transactionPublicId);
  const confirmations = told.filter(({ status }) => status === "ok");
  const failures = told.filter(({ status }) => status === "nok");
  const minorOf = ({ amountMinor }: { amountMinor: number | null }): number =>
    amountMinor ?? owner.amountMinor;
  return operations.operationsOf([transactionPublicId]).filter((operation) => {
    if (operation.state !== "done") return false;
    const { kind } = operation;
    const name = notifiedNames[kind];
    const confirmed = confirmations.findIndex(
      (one) => one.operation === name && (kind !== "refund" || minorOf(one) === minorOf(operation)),
    );
    if (confirmed >= 0) {
      confirmations.splice(confirmed, 1);
      return false;
    }
    return failures.some((one) => one.operation === name && !operations.isBefore(one, operation));
  });
}
