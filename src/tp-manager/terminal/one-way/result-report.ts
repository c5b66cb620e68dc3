import { currencyOf } from "../../../shared/money.ts";
import { emptyReceipt, RECEIPT_AMOUNT_DIGITS, type Receipt } from "../../../shared/receipt.ts";
import { fallbackTicket } from "../report-fields.ts";
import { emptyReport, type PaymentOrder, type TransactionReport } from "../terminal.ts";

type Given = "good" | "resultCode" | "resultText" | "reason" | "amountMinor" | "currencyNumeric";

/** The payment result of a terminal that sends no receipt numbers, time or identity. */
export interface Result
  extends Pick<TransactionReport, Given | "maskedPan">,
    Partial<Pick<TransactionReport, "authorisationNumber" | "cardName">> {
  readonly reference: string | null;
  readonly differs: readonly string[];
  readonly isOurRegister: boolean;
  readonly receipt?: Partial<Receipt>;
}

/** Makes a report from a result; `order` is null when the result belongs to an earlier payment. */
export function resultReport(result: Result, order: PaymentOrder | null): TransactionReport {
  const { differs, isOurRegister, ...fields } = result;
  const { good, maskedPan } = result;
  const charged = result.amountMinor ?? (good ? (order?.amountMinor ?? null) : null);
  const currencyNumeric = result.currencyNumeric ?? order?.currencyNumeric ?? null;
  const alpha = order && currencyNumeric === order.currencyNumeric ? order.currencyAlpha : "";
  const exponent = currencyOf(alpha)?.exponent;
  const amount = charged === null ? "" : String(charged).padStart(RECEIPT_AMOUNT_DIGITS, "0");
  const report = {
    ...emptyReport,
    // The amount stays as received, because the matcher finds the payment of a result by it.
    ...fields,
    reason: good || result.resultCode === null ? null : result.reason,
    currencyNumeric,
    ...(differs.length > 0 ? { differs } : {}),
    ...(isOurRegister ? { isOurRegister: true as const } : {}),
    receipt: {
      ...emptyReceipt,
      primaryAccountNumber: maskedPan ?? "",
      authorizationNumber: result.authorisationNumber ?? "",
      label: result.cardName ?? "",
      amount,
      inclusiveAmount: amount,
      currencyNumCode: currencyNumeric ?? "",
      currencyAlphaCode: alpha,
      currencyFractionPart: exponent === undefined ? "" : String(exponent),
      ...result.receipt,
    },
  };
  return { ...report, fallbackTicket: fallbackTicket({ ...report, amountMinor: charged }) };
}
