import type { GatewayOperation } from "../../shared/ipc/contract.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { agrees, type GatewayTransaction } from "../gateway/lookup.ts";

/** The first and the longest pause between two lookups of one transaction. */
const FIRST_MS = 60_000;
const CAP_MS = 6 * 60 * 60_000;

/**
 * Returns an object that looks up transactions of unknown operations, one by one, with growing
 * pauses. `lookUp` looks up a transaction and resolves with whether its operation is still open.
 */
export function operationLookups(clock: Clock, lookUp: (publicId: string) => Promise<boolean>) {
  const timers = new Map<string, Timer>();
  let last: Promise<unknown> = Promise.resolve();
  let isStopped = false;
  const begin = (id: string, before = 0): void => {
    if (isStopped) return;
    timers.get(id)?.clear();
    const pauseMs = Math.min(FIRST_MS * 2 ** Math.min(before, 20), CAP_MS);
    const timer = clock.startTimer("operation lookup", pauseMs, () => {
      timers.delete(id);
      last = last.then(async () => {
        const isOpen = !isStopped && (await lookUp(id));
        // A timer that was set meanwhile is that of the transaction's next operation.
        if (isOpen && !timers.has(id)) begin(id, before + 1);
      });
    });
    timers.set(id, timer);
  };
  return {
    begin: (id: string) => begin(id),
    /** Begins no more lookups; the caller aborts the lookup that runs. */
    async stop(): Promise<void> {
      isStopped = true;
      for (const timer of timers.values()) timer.clear();
      timers.clear();
      await last;
    },
  };
}

/**
 * Returns the outcome of an open operation that a lookup proves; null: the lookup proves none. A
 * lookup can prove that an operation was carried out, but not that it was not, because the request
 * may still be in work inside the gateway. A lookup shows no cancellation (docs/gateway.md 4.6),
 * but a capture proves that none was made and none can follow, because only authorised transactions
 * can be cancelled (docs/design.md 12.16). A refund from before the operation proves nothing.
 */
export function provedByLookup(
  open: GatewayOperation,
  found: GatewayTransaction,
  { owner, refundedMinor: before }: { owner: Transaction | undefined; refundedMinor: number },
): "done" | "refused" | null {
  const { amountMinor, capturedMinor, refundedMinor } = found;
  if (amountMinor === null || isContradictory(found)) return null;
  if (owner && !agrees(found, owner)) return null;
  const captured = (capturedMinor ?? 0) > 0;
  switch (open.kind) {
    case "confirm":
      return captured ? "done" : null;
    case "cancel":
      return captured ? "refused" : null;
    case "refund": {
      const sum = before + (open.amountMinor ?? amountMinor);
      return (refundedMinor ?? 0) >= Math.min(sum, amountMinor) ? "done" : null;
    }
  }
}

/** Returns whether the gateway names a captured or refunded sum above the authorised amount. */
function isContradictory(found: GatewayTransaction): boolean {
  const { amountMinor, capturedMinor, refundedMinor } = found;
  return [capturedMinor, refundedMinor].some((sum) => (sum ?? 0) > (amountMinor ?? 0));
}
