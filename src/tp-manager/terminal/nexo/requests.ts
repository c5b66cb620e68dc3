import { majorNumber, writePairs } from "../../../nexo/index.ts";
import { currencyOf } from "../../../shared/money.ts";
import { isoTime } from "../../../shared/time.ts";
import type { PaymentOrder, RecallOrder, ReversalOrder } from "../terminal.ts";

/** The register prints the receipts; a partial approval is not asked for (docs/nexo.md 4.1). */
const TENDER = writePairs({ tenderOption: "ReceiptHandler" });

/** Returns the body of a payment request, or why none can be made. */
export function paymentBody(order: PaymentOrder, nowMs: number): object | string {
  const { amountMinor, currencyAlpha, reference } = order;
  const currency = currencyOf(currencyAlpha);
  if (!Number.isSafeInteger(amountMinor) || amountMinor <= 0) {
    return "the amount must be a whole number of minor units above 0";
  }
  if (!currency || currency.numeric !== order.currencyNumeric) return "the currency is not known";
  if (reference === undefined) return "a payment needs its reference";
  return {
    SaleData: { SaleToAcquirerData: TENDER, SaleTransactionID: saleId(reference, nowMs) },
    PaymentTransaction: {
      AmountsReq: {
        Currency: currency.alpha,
        RequestedAmount: majorNumber(amountMinor, currency),
      },
    },
  };
}

/** Returns the body of the reversal of a whole sale, or why none can be made. */
export function reversalBody(order: ReversalOrder, nowMs: number): object | string {
  const { reference, receiptNumber, namedAt } = order;
  if (reference === undefined) return "a reversal needs its reference";
  if (!receiptNumber) return "the terminal named no id of the sale";
  if (namedAt === undefined) return "the terminal named no time stamp of the sale";
  const original = { TransactionID: receiptNumber, TimeStamp: namedAt };
  return {
    OriginalPOITransaction: { POITransactionID: original },
    ReversalReason: "MerchantCancel",
    SaleData: { SaleToAcquirerData: TENDER, SaleTransactionID: saleId(reference, nowMs) },
  };
}

/** Returns the body of the question what became of an earlier request. */
export function recallBody({ reference, command }: RecallOrder, saleId: string): object {
  const category = command === "payment" ? "Payment" : "Reversal";
  return {
    MessageReference: { MessageCategory: category, SaleID: saleId, ServiceID: reference },
    ReceiptReprintFlag: true,
    DocumentQualifier: ["CashierReceipt", "CustomerReceipt"],
  };
}

/** Returns the body that ends the running payment (docs/nexo.md 5.1). */
export function abortBody(serviceId: string, saleId: string): object {
  return {
    MessageReference: { MessageCategory: "Payment", SaleID: saleId, ServiceID: serviceId },
    AbortReason: "MerchantAbort",
  };
}

export const diagnosisBody = { HostDiagnosisFlag: false };

function saleId(reference: string, nowMs: number): object {
  return { TransactionID: reference, TimeStamp: isoTime(nowMs) };
}
