import { AppError } from "../../shared/catalog/errors.ts";
import { type Attempt, returnableMinorOf } from "../attempts/payment.ts";
import type { SupervisorAnswer } from "./supervisor-link.ts";

type Word = SupervisorAnswer<"gateway-operation">;
type GatewayTransaction = Extract<SupervisorAnswer<"gateway-resolve">, { found: true }>;

/** How much of a transaction a cancel or refund gives back; throws REQUEST_INVALID. */
export function returnMinorOf(
  attempt: Attempt,
  {
    kind,
    where,
    wanted,
  }: {
    readonly kind: "cancel" | "refund";
    readonly where: Pick<GatewayTransaction, "returnedMinor">;
    readonly wanted: number | undefined;
  },
): number {
  const charged = returnableMinorOf(attempt);
  const left = charged - Math.max(attempt.returnedMinor, where.returnedMinor ?? 0);
  const amountMinor = kind === "cancel" ? charged : (wanted ?? left);
  if (amountMinor <= left && left > 0) return amountMinor;
  const message = "amount is more than was charged and not yet returned";
  throw new AppError("REQUEST_INVALID", message, {
    charged: "yes",
    details: { faults: [{ field: "amount", message }] },
  });
}

/**
 * A return adds so much to those of before that the journal knows; the supervisor may have lost
 * some. Where the gateway has or may have the order more than once, a return adds nothing. An older
 * supervisor that tells no sum knows it once.
 */
export function addedBy(
  { operation, orderReturnedMinor, isThereOnce }: Word,
  amountMinor: number,
): number {
  const adds = isThereOnce ?? orderReturnedMinor === undefined;
  const isReturn = operation?.state === "done" && operation.kind !== "confirm";
  return isReturn && adds ? amountMinor : 0;
}
