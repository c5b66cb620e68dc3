import type { SQLOutputValue } from "node:sqlite";
import type { GatewayOperation } from "../../shared/ipc/contract.ts";
import type { OperationState } from "../gateway/operation-request.ts";

/** An operation as its row in `gateway_operations` has it. */
export function operationOf(row: Record<string, SQLOutputValue>): GatewayOperation {
  return {
    operationId: String(row["operation_id"]),
    kind: row["kind"] as GatewayOperation["kind"],
    transactionPublicId: String(row["transaction_public_id"]),
    amountMinor: row["amount_minor"] as number | null,
    state: row["state"] as OperationState,
    code: row["code"] as number | null,
    description: String(row["description"]),
    class: row["class"] as string | null,
    askedAtMs: Number(row["asked_at_ms"]),
    endedAtMs: row["ended_at_ms"] as number | null,
  };
}
