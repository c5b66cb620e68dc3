import type { KnownOrder } from "../../shared/ipc/contract.ts";
import { type Currency, currencyOf, majorOf } from "../../shared/money.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../shared/receipt.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import {
  type AttemptState,
  bareReport,
  type OpenReturn,
  type PaymentRequest,
  saleOf,
} from "./payment.ts";

/** Warning in place of what the supervisor does not have; a page shows it by name. */
export const TAKEN_OVER =
  "the order was taken over from the supervisor after the journal was lost: " +
  "ticket, basket and parts of the receipt are gone";

/**
 * Attempts made from what the supervisor knows, for a journal that was lost or restored
 * (docs/rules/17-loss.md). Nothing is made up: what the supervisor does not have is empty.
 */
export function requestTakenOver({ transaction }: KnownOrder): PaymentRequest {
  const { orderId, amountMinor, customData, customerEmail } = transaction;
  const currency = currencyTakenOver(transaction);
  const given = Object.keys(customData).length > 0;
  return {
    orderId,
    generatedId: false,
    amountMinor,
    currency,
    echo: { amount: majorOf(amountMinor, currency), ...(given ? { customData } : {}) },
    cart: [],
    customerEmail,
    customData,
    delivery: null,
    warnings: [TAKEN_OVER],
  };
}

/** The facts that decide about the state. */
type KnownEnd = Pick<KnownOrder, "transaction" | "reversed">;

/** Charged, or reversed at the terminal. */
function stateTakenOver({ transaction, reversed }: KnownEnd): AttemptState {
  const currency = currencyTakenOver(transaction);
  const sale = { report: reportTakenOver(transaction, currency), by: transaction.origin };
  if (!reversed) return { phase: "charged", ...sale };
  return { phase: "reversed", sale, report: bareReport(currency, transaction.amountMinor) };
}

/** The supervisor's state where the record knows less; undefined: it knows as much. */
export function newerState(
  record: AttemptState | undefined,
  known: KnownEnd,
): AttemptState | undefined {
  const taken = stateTakenOver(known);
  const sale = record && saleOf(record);
  if (!sale) return taken;
  if (taken.phase !== "reversed" || record.phase === "reversed") return undefined;
  return { ...taken, sale };
}

export function openReturnOf({ openReturn, transaction }: KnownOrder): OpenReturn | null {
  if (!openReturn || openReturn.kind === "confirm") return null;
  const { operationId, kind, transactionPublicId, askedAtMs } = openReturn;
  const amountMinor = openReturn.amountMinor ?? transaction.amountMinor;
  return { operationId, kind, amountMinor, transactionPublicId, atMs: askedAtMs };
}

/** A currency that is abolished one day must still be readable. */
function currencyTakenOver({ currency, exponent }: Transaction): Currency {
  return currencyOf(currency) ?? { alpha: currency, numeric: "", exponent };
}

function reportTakenOver(given: Transaction, currency: Currency): TransactionReport {
  const bare = bareReport(currency, given.amountMinor);
  const { receiptNumber, traceNumber, terminalId } = given;
  const { maskedPan, authorisationNumber, cardName } = given;
  return {
    ...bare,
    receiptNumber,
    traceNumber,
    terminalId,
    maskedPan,
    authorisationNumber,
    cardName,
    receipt: {
      ...bare.receipt,
      amount: String(given.amountMinor).padStart(RECEIPT_AMOUNT_DIGITS, "0"),
      primaryAccountNumber: maskedPan ?? "",
      authorizationNumber: authorisationNumber ?? "",
      transactionNumber: traceNumber ?? "",
    },
  };
}
