import { type CardName, maskedPan, testCards } from "./bank/cards.ts";
import { authorisationNumber, type LedgerKind, type LedgerReason } from "./bank/ledger.ts";
import type { StoredTransaction, TransactionKind } from "./memory/memory.ts";
import type { TerminalParts } from "./terminal-parts.ts";

/** A movement of money that the bank has agreed to. */
export interface Booking {
  readonly kind: TransactionKind;
  readonly ledgerKind: LedgerKind;
  readonly order: Pick<StoredTransaction, "amountMinor" | "currency" | "currencyTold">;
  readonly card: CardName;
  /** Missing: the next one. */
  readonly trace?: number;
  readonly originalTrace?: number;
  readonly originalId?: number;
  readonly reason?: LedgerReason;
  /** Given on the telephone; else the bank makes one. */
  readonly authorisation?: string;
  /** A tip may be booked on it later (docs/zvt.md 6.3). */
  readonly tipAllowed?: boolean;
}

/**
 * Enters a movement into the bank's ledger. `final`: whatever the register says to it; `isStored`:
 * the terminal stores it at once. Returns the terminal's own record of it.
 */
export function book(
  { ledger, memory, now }: TerminalParts,
  booking: Booking,
  { final, isStored }: { readonly final: boolean; readonly isStored: boolean },
): StoredTransaction {
  const { order, card } = booking;
  const receiptNumber = memory.nextReceiptNumber;
  return memory.together(() => {
    const trace = booking.trace ?? memory.takeTrace();
    const authorisation = booking.authorisation ?? authorisationNumber(trace);
    const { id } = ledger.enter({
      kind: booking.ledgerKind,
      amountMinor: order.amountMinor,
      currency: order.currency,
      receiptNumber,
      trace,
      maskedPan: maskedPan(testCards[card]),
      authorisationNumber: authorisation,
      responseCode: "00",
      final,
      originalId: booking.originalId ?? null,
      reason: booking.reason ?? null,
    });
    const transaction: StoredTransaction = {
      ...order,
      receiptNumber,
      trace,
      kind: booking.kind,
      card,
      authorisation,
      atMs: now.getTime(),
      ledgerId: id,
      originalTrace: booking.originalTrace ?? null,
      state: "stored",
      closed: false,
      ...(booking.tipAllowed ? { tipAllowed: true } : {}),
    };
    if (isStored) memory.store(transaction);
    return transaction;
  });
}
