import type { GatewayOperation } from "../../shared/ipc/contract.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { GatewayTransaction } from "../gateway/lookup.ts";

/** The first and the longest pause between lookups. */
const FIRST_MS = 60_000;
const CAP_MS = 6 * 60 * 60_000;

/** Looks up the transactions of unknown operations, one after the other, with growing pauses. */
export class OperationLookups {
  readonly #clock: Clock;
  readonly #lookUp: (transactionPublicId: string) => Promise<boolean>;
  readonly #timers = new Map<string, Timer>();
  #last: Promise<unknown> = Promise.resolve();
  #stopped = false;

  /** `lookUp`: looks up a transaction and resolves with whether its operation is still open. */
  constructor(clock: Clock, lookUp: (transactionPublicId: string) => Promise<boolean>) {
    this.#clock = clock;
    this.#lookUp = lookUp;
  }

  /** Begins the lookups of a transaction whose operation is unknown from now on. */
  begin(transactionPublicId: string): void {
    this.#after(transactionPublicId, 0);
  }

  /** Begins no more lookups. The caller aborts the one that runs. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.clear();
    this.#timers.clear();
    await this.#last;
  }

  #after(id: string, before: number): void {
    if (this.#stopped) return;
    this.#timers.get(id)?.clear();
    const pauseMs = Math.min(FIRST_MS * 2 ** Math.min(before, 20), CAP_MS);
    const timer = this.#clock.startTimer("operation lookup", pauseMs, () => {
      this.#timers.delete(id);
      this.#last = this.#last.then(async () => {
        if (!this.#stopped && (await this.#lookUp(id))) this.#after(id, before + 1);
      });
    });
    this.#timers.set(id, timer);
  }
}

/**
 * Returns the end of an open operation that a lookup proves; null: it proves none. A lookup can
 * prove that an operation was carried out, and never that it was not, because its request may still
 * be under way inside the gateway. A lookup shows no cancellation (docs/gateway.md 4.6), but a
 * capture proves that there was none and none can follow: only authorised transactions can be
 * cancelled (docs/design.md 12.16). A refund from before the operation proves nothing.
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

/** Returns whether more is captured, or refunded, than was authorised. */
function isContradictory({
  amountMinor,
  capturedMinor,
  refundedMinor,
}: GatewayTransaction): boolean {
  return [capturedMinor, refundedMinor].some((sum) => (sum ?? 0) > (amountMinor ?? 0));
}

/** Returns whether all that a lookup names agrees with our order (docs/rules/21-agree.md). */
function agrees(found: GatewayTransaction, owner: Transaction): boolean {
  const { orderId, transactionId, currency, amountMinor } = found;
  return (
    (orderId === null || orderId === owner.orderId) &&
    (transactionId === null || transactionId === owner.transactionId) &&
    (currency === null || currency === owner.currency) &&
    (amountMinor === null || amountMinor === owner.amountMinor)
  );
}
