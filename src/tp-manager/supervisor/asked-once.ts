import { AppError } from "../../shared/catalog/errors.ts";
import { IpcError } from "../../shared/ipc/client.ts";
import type { GatewayOperation } from "../../shared/ipc/contract.ts";
import { isoTime } from "../../shared/time.ts";
import {
  type SupervisorAnswer,
  type SupervisorLink,
  type SupervisorRequest,
  unavailable,
} from "./supervisor-link.ts";

/** The words of a caller by which a repetition is told from another operation. */
export interface AskedOnce {
  readonly idempotencyKey: string | undefined;
  /** All that is asked for: with one key only this. */
  readonly asked: string;
  /** The caller means another refund, also of a part that was refunded just now. */
  readonly again: boolean;
}

/** Works that share a key, one after the other. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(key) ?? Promise.resolve()).catch(() => {}).then(work);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}

/**
 * The supervisor's memory of a key. While it cannot be asked, whether the operation was carried out
 * is not known, and nothing is sent.
 */
export async function rememberedOf(
  link: SupervisorLink,
  request: SupervisorRequest<"gateway-key">,
): Promise<SupervisorAnswer<"gateway-key">> {
  try {
    return await link.call("gateway-key", request);
  } catch (error) {
    throw error instanceof IpcError ? unavailable(error, { mayBeDone: true }) : error;
  }
}

/** A refund that equals one of the last day; null: that may have been lost. */
export function repeated(
  equal: Pick<
    GatewayOperation,
    "operationId" | "transactionPublicId" | "state" | "askedAtMs"
  > | null,
): AppError {
  if (!equal) {
    const lost = "supervisor.db was lost since the order was charged, and perhaps this refund too";
    return new AppError("REFUND_REPEATED", `${lost}.`);
  }
  const { operationId, transactionPublicId, state, askedAtMs } = equal;
  return new AppError("REFUND_REPEATED", undefined, {
    details: { operationId, transactionPublicId, state, askedAt: isoTime(askedAtMs) },
  });
}
