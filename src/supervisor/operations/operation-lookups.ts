import type { GatewayOperation } from "../../shared/ipc/contract.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { LookedUp } from "../gateway/lookup.ts";

/** From a minute after the answer was lost to four times a day, as long as it takes. */
const FIRST_MS = 60_000;
const CAP_MS = 6 * 60 * 60_000;

function operationLookupPauseMs(before: number): number {
  return Math.min(FIRST_MS * 2 ** Math.min(before, 20), CAP_MS);
}

/** Looks the transactions of open operations up by itself, one after the other. */
export class OperationLookups {
  readonly #clock: Clock;
  /** Resolves with whether the operation of this transaction is still open. */
  readonly #look: (transactionPublicId: string) => Promise<boolean>;
  readonly #timers = new Map<string, Timer>();
  #last: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(clock: Clock, look: (transactionPublicId: string) => Promise<boolean>) {
    this.#clock = clock;
    this.#look = look;
  }

  /** The operation of this transaction is unknown from now on. */
  begin(transactionPublicId: string): void {
    this.#after(transactionPublicId, 0);
  }

  /** A running lookup ends by its own signal. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.clear();
    this.#timers.clear();
    await this.#last;
  }

  #after(id: string, before: number): void {
    if (this.#stopped) return;
    this.#timers.get(id)?.clear();
    const timer = this.#clock.startTimer("operation lookup", operationLookupPauseMs(before), () => {
      this.#timers.delete(id);
      this.#last = this.#last.then(async () => {
        if (!this.#stopped && (await this.#look(id))) this.#after(id, before + 1);
      });
    });
    this.#timers.set(id, timer);
  }
}

/**
 * The end of an open operation that a lookup proves; null: nothing. A lookup can prove that an
 * operation was carried out, never that it was not: its request may still be under way inside the
 * gateway. The published object has no word for a cancellation (docs/gateway.md 4.6), but a capture
 * proves that no cancellation has been and none can follow: only authorised transactions can be
 * cancelled (docs/design.md 12.16). A refund from before the operation proves nothing of it.
 */
export function provedByLookup(
  open: GatewayOperation,
  looked: LookedUp,
  { owner, refundedMinor: before }: { owner: Transaction | undefined; refundedMinor: number },
): "done" | "refused" | null {
  const { amountMinor, capturedMinor, refundedMinor } = looked;
  if (amountMinor === null || !sumsFit(looked) || (owner && !fitsOwner(looked, owner))) return null;
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

/** No more is captured than was authorised, and no more refunded: else it contradicts itself. */
function sumsFit({ amountMinor, capturedMinor, refundedMinor }: LookedUp): boolean {
  return [capturedMinor, refundedMinor].every((sum) => (sum ?? 0) <= (amountMinor ?? 0));
}

/** Whether all that a lookup names agrees with our order (docs/rules/21-agree.md). */
function fitsOwner(looked: LookedUp, owner: Transaction): boolean {
  const { orderId, transactionId, currency, amountMinor } = looked;
  return (
    (orderId === null || orderId === owner.orderId) &&
    (transactionId === null || transactionId === owner.transactionId) &&
    (currency === null || currency === owner.currency) &&
    (amountMinor === null || amountMinor === owner.amountMinor)
  );
}
