import { invariant } from "../../shared/invariant.ts";
import type { KnownOrder } from "../../shared/ipc/contract.ts";
import { type Currency, currencyOf, majorOf } from "../../shared/money.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../shared/receipt.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import {
  type AttemptState,
  bareReport,
  type ChargedBy,
  endReportOf,
  isCharged,
  isNotCharged,
  type NotChargedState,
  notCharged,
  type OpenReturn,
  type PaymentRequest,
  saleOf,
} from "./payment.ts";
import { phaseTable } from "./phase-table.ts";

/**
 * Rebuilds attempts from what the archive stores of them, or from what the supervisor knows when
 * the journal was lost (docs/rules/34-journal-gap.md). Members that were not stored are empty.
 */

/** The warning on an archived order, whose details are gone. */
export const ARCHIVED =
  "the order is in the archive: receipt, ticket, basket and customer are gone";

/** The warning on an imported order. It is stored with the order, so this text never changes. */
export const IMPORTED =
  "the order was taken over from the supervisor after the journal was lost: " +
  "ticket, basket and parts of the receipt are gone";

/** Returns a request with order id and amount only; `warning` says why the rest is missing. */
export function bareRequest(
  orderId: string,
  amountMinor: number,
  currency: Currency,
  warning: string,
): PaymentRequest {
  return {
    orderId,
    generatedId: false,
    amountMinor,
    currency,
    echo: { amount: majorOf(amountMinor, currency) },
    cart: [],
    customerEmail: null,
    customData: {},
    delivery: null,
    warnings: [warning],
  };
}

function soldState(
  isReversed: boolean,
  sale: { readonly report: TransactionReport; readonly by: ChargedBy },
  reversal: TransactionReport,
): AttemptState {
  return isReversed ? { phase: "reversed", sale, report: reversal } : { phase: "charged", ...sale };
}

export type KeptEnd =
  | {
      readonly phase: "charged" | "reversed";
      readonly by: ChargedBy;
      /** The charged amount in minor units; smaller than requested if goods did not come out. */
      readonly chargedMinor: number | null;
      readonly returnedMinor: number;
    }
  | NotChargedState;

/** Returns what the archive stores. Throws {@link BrokenInvariant} if the attempt still runs. */
export function keptEnd(state: AttemptState, returnedMinor: number): KeptEnd {
  // The archive stores the outcome only, and no evidence for what an operator found.
  if (isNotCharged(state)) return notCharged(state.outcome);
  const sale = saleOf(state);
  invariant(sale && endReportOf(state), `an attempt that is ${state.phase} is never archived`);
  return {
    phase: isCharged(state) ? "charged" : "reversed",
    by: sale.by,
    chargedMinor: sale.report.amountMinor,
    returnedMinor,
  };
}

/** Returns the state that can be restored from the archive: amounts, outcome, no receipt. */
export function stateOfKept(end: KeptEnd, currency: Currency): AttemptState {
  if (end.phase === "not-charged") return end;
  const report = bareReport(currency, end.chargedMinor);
  return soldState(end.phase === "reversed", { report, by: end.by }, report);
}

/** Returns the amount paid back at the gateway, in minor units. */
export function returnedOfKept(end: KeptEnd): number {
  return end.phase === "not-charged" ? 0 : end.returnedMinor;
}

/** Returns an attempt's outcome in the form of end-of-day comparisons (docs/rules/18-totals.md). */
export function ledgerOutcomeOf(state: AttemptState, askedMinor: number) {
  const sale = saleOf(state)?.report;
  const reversal = isCharged(state) ? undefined : endReportOf(state);
  return {
    charged: phaseTable[state.phase].charged,
    answered: isNotCharged(state) ? state.outcome.status : null,
    chargedMinor: sale ? (sale.amountMinor ?? askedMinor) : null,
    receiptNumber: sale?.receiptNumber ?? null,
    reversalReceipt: reversal?.originalTrace ? reversal.receiptNumber : null,
  };
}

export function importedRequest({ transaction }: KnownOrder): PaymentRequest {
  const { orderId, amountMinor, customData, customerEmail } = transaction;
  const bare = bareRequest(orderId, amountMinor, importedCurrency(transaction), IMPORTED);
  const given = Object.keys(customData).length > 0;
  const echo = { ...bare.echo, ...(given ? { customData } : {}) };
  return { ...bare, echo, customerEmail, customData };
}

/** Returns the state that the supervisor knows of an attempt, if newer than the journal's. */
export function newerState(
  record: AttemptState | undefined,
  { transaction, reversed }: { readonly transaction: Transaction; readonly reversed: boolean },
): AttemptState | undefined {
  const known = record && saleOf(record);
  if (known && (!reversed || record?.phase === "reversed")) return undefined;
  const currency = importedCurrency(transaction);
  const sale = { report: importedReport(transaction, currency), by: transaction.origin };
  return soldState(reversed, known ?? sale, bareReport(currency, transaction.amountMinor));
}

/** Returns the cancel or refund whose outcome the supervisor does not know; null: none. */
export function openReturnOf({ openReturn, transaction }: KnownOrder): OpenReturn | null {
  if (!openReturn || openReturn.kind === "confirm") return null;
  const { operationId, kind, transactionPublicId, askedAtMs } = openReturn;
  const amountMinor = openReturn.amountMinor ?? transaction.amountMinor;
  return { operationId, kind, amountMinor, transactionPublicId, atMs: askedAtMs };
}

/** Returns the currency of a transaction, even if the currency was abolished since. */
function importedCurrency({ currency, exponent }: Transaction): Currency {
  return currencyOf(currency) ?? { alpha: currency, numeric: "", exponent };
}

function importedReport(given: Transaction, currency: Currency): TransactionReport {
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
